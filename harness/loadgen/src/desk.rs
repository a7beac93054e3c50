//! What one thread needs to ask and to check, shared by its connections and
//! by no other thread.

use std::collections::VecDeque;
use std::sync::Arc;

use profiles::ask::Drawer;
use profiles::data::UploadBlock;
use profiles::oracle::Wrong;
use profiles::rng::Rng;
use profiles::sample::Fault;

use crate::books::Books;
use crate::check::Checker;
use crate::clock::Ns;
use crate::pace::{Leave, Pace};
use crate::plan::Plan;
use crate::session::Flight;
use crate::wire::Answer;

/// A request the server gave back so often is a fault.
const MOST_REFUSALS: u8 = 3;

/// The connections of one lane: how they are loaded, and with what.
#[derive(Debug)]
pub struct LaneDesk {
    /// Requests in flight per connection.
    pub in_flight: usize,
    /// Answers after which the client closes.
    pub per_connection: u32,
    /// When requests may be sent.
    pub pace: Pace,
    drawer: Drawer,
    /// Requests the server gave back unprocessed; they go first.
    again: VecDeque<Flight>,
}

/// One thread's own copy of everything.
#[derive(Debug)]
pub struct Desk {
    /// The main lane, then the writers' if there is one.
    pub lanes: Vec<LaneDesk>,
    /// This thread's lane of the seed.
    pub rng: Rng,
    /// The block of which upload bodies are slices.
    pub block: Option<Arc<UploadBlock>>,
    /// Checks the answers.
    pub check: Checker,
    /// Counts them.
    pub books: Books,
    /// An answer that takes longer is a time-out.
    pub timeout: Ns,
}

impl Desk {
    /// The desk of thread `thread`. The drawer is made anew rather than
    /// cloned: it counts references, and a shared count is cross-thread
    /// traffic on every request.
    pub fn new(plan: &Plan, thread: u32) -> Result<Desk, String> {
        let (spec, profile) = (&plan.spec, &plan.profile);
        let classes = profile.classes.len();
        let mut lanes = Vec::new();
        for load in plan.lanes() {
            lanes.push(LaneDesk {
                in_flight: load.in_flight as usize,
                per_connection: load.per_connection.unwrap_or(u32::MAX),
                pace: Pace::new(load.rate_per_s, thread, spec.threads),
                drawer: Drawer::new(profile, load.lane)?.for_thread(
                    spec.seed,
                    thread,
                    spec.threads,
                ),
                again: VecDeque::new(),
            });
        }
        Ok(Desk {
            lanes,
            rng: Rng::new(spec.seed, u64::from(thread)),
            block: plan.block.clone(),
            check: Checker::new(
                plan.oracle.clone(),
                classes,
                plan.shelf.clone(),
            ),
            books: Books::new(classes),
            timeout: spec.timeout_ns,
        })
    }

    /// The next request of `lane`, if one may be sent at `now`.
    #[inline]
    pub fn draw(&mut self, lane: usize, now: Ns) -> Option<Flight> {
        let desk = &mut self.lanes[lane];
        if let Some(flight) = desk.again.pop_front() {
            return Some(flight);
        }
        let due = match desk.pace.take(now)? {
            Leave::Now => None,
            Leave::Due(at) => Some(at),
        };
        let (class, ask) = desk.drawer.draw(&mut self.rng)?;
        Some(Flight::new(class, ask, due))
    }

    /// The first byte of `flight` is handed to the kernel at `now`.
    #[inline]
    pub fn sent(&mut self, flight: &mut Flight, now: Ns) {
        if flight.sent.is_some() {
            return;
        }
        flight.sent = Some(now);
        self.books.sent(flight.class);
        if let Some(due) = flight.due {
            self.books.paced(now.saturating_sub(due));
        }
    }

    /// The complete answer to `flight` came at `now` and is `verdict`. Says
    /// whether it counted as right.
    #[inline]
    pub fn answered(
        &mut self,
        flight: &Flight,
        verdict: Result<(), Wrong>,
        answer: &Answer,
        now: Ns,
    ) -> bool {
        let took = flight.age(now);
        if took > self.timeout {
            self.books.timed_out();
            return false;
        }
        match verdict {
            Ok(()) => self.books.right(flight.class, answer, took),
            Err(wrong) => {
                self.books.wrong(answer, took, &wrong, || flight.words());
                false
            }
        }
    }

    /// `flight` ends without a complete answer.
    #[cold]
    pub fn fault(&mut self, fault: Fault, flight: &Flight, now: Ns, why: &str) {
        if flight.is_sent() {
            let ms = flight.age(now) as f64 / 1e6;
            self.books.fault(fault, || {
                format!("{}: {why} after {ms:.1} ms", flight.words())
            });
        }
    }

    /// The server gave `flight` back unprocessed: it goes out again on
    /// `lane`, before any new one, unless that happened too often.
    #[cold]
    pub fn give_back(&mut self, lane: usize, mut flight: Flight, now: Ns) {
        flight.refused += 1;
        if flight.refused > MOST_REFUSALS {
            return self.fault(Fault::Refused, &flight, now, "refused");
        }
        if flight.is_sent() {
            self.books.retried();
        }
        self.lanes[lane].again.push_back(flight);
    }

    /// Whether requests wait to be sent again on `lane`.
    pub fn has_returned(&self, lane: usize) -> bool {
        !self.lanes[lane].again.is_empty()
    }

    /// Gives up the requests that wait to be sent again.
    pub fn drop_returned(&mut self, now: Ns) {
        for lane in &mut self.lanes {
            for flight in lane.again.drain(..) {
                if flight.is_sent() {
                    unanswered(&mut self.books, self.timeout, &flight, now);
                }
            }
        }
    }

    /// `flight` has no answer at the end of the warm-up or the window.
    #[cold]
    pub fn unanswered(&mut self, flight: &Flight, now: Ns) {
        unanswered(&mut self.books, self.timeout, flight, now);
    }
}

/// One whose time was over is timed out: no answer could be in time.
fn unanswered(books: &mut Books, timeout: Ns, flight: &Flight, now: Ns) {
    let age = flight.age(now);
    if books.is_open() && age > timeout {
        return books.timed_out();
    }
    books.unanswered(age);
}
