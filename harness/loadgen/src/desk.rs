//! What one thread needs to ask and to check, shared by its connections and
//! by no other thread.

use std::sync::Arc;

use profiles::ask::Drawer;
use profiles::data::UploadBlock;
use profiles::profile::Lane;
use profiles::rng::Rng;

use crate::books::Books;
use crate::check::Checker;
use crate::clock::Ns;
use crate::plan::Plan;
use crate::wire::Memo;
use crate::write::Tails;

/// One thread's own copy of everything.
#[derive(Debug)]
pub struct Desk {
    /// Draws the requests.
    pub drawer: Drawer,
    /// This thread's lane of the seed.
    pub rng: Rng,
    /// Writes them.
    pub tails: Tails,
    /// A buffer for writing.
    pub scratch: String,
    /// The block of which upload bodies are slices.
    pub block: Option<Arc<UploadBlock>>,
    /// The last head that was read.
    pub memo: Memo,
    /// Checks the answers.
    pub check: Checker,
    /// Counts them.
    pub books: Books,
    /// Requests in flight per connection.
    pub in_flight: usize,
    /// Answers after which the client closes.
    pub per_connection: u32,
    /// An answer that takes longer is a time-out.
    pub timeout: Ns,
}

impl Desk {
    /// The desk of thread `lane`. The drawer is made anew rather than
    /// cloned: it counts references, and a shared count is cross-thread
    /// traffic on every request.
    pub fn new(plan: &Plan, lane: u32) -> Result<Desk, String> {
        let (spec, profile) = (&plan.spec, &plan.profile);
        let classes = profile.classes.len();
        Ok(Desk {
            drawer: Drawer::new(profile, Lane::Main)?,
            rng: Rng::new(spec.seed, u64::from(lane)),
            tails: Tails::new(profile),
            scratch: String::new(),
            block: plan.block.clone(),
            memo: Memo::default(),
            check: Checker::new(
                plan.oracle.clone(),
                classes,
                plan.shelf.clone(),
            ),
            books: Books::new(classes),
            in_flight: profile.load.in_flight as usize,
            per_connection: profile
                .load
                .requests_per_connection
                .unwrap_or(u32::MAX),
            timeout: spec.timeout_ns,
        })
    }
}
