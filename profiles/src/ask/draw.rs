//! Drawing requests from the seed.

use std::sync::Arc;

use super::{Ask, MAX_BODY};
use crate::data::{STATIC_FILES, UploadBlock};
use crate::oracle::keyed_quantity;
use crate::profile::{Class, Kind, Lane, Profile, Range};
use crate::rng::Rng;

/// Draws a profile's requests: the class by its share, then its values.
///
/// Drawing allocates nothing: the texts of an [`Ask`] are shared. A clone
/// shares their counts, so every thread should make its own.
#[derive(Clone, Debug)]
pub struct Drawer {
    classes: Vec<Part>,
    total: u64,
    ids: Ids,
    seed: u64,
}

/// One class of the mix.
#[derive(Clone, Debug)]
struct Part {
    /// Its index in the profile.
    index: usize,
    class: Class,
    /// Its path, or its categories.
    texts: Vec<Arc<str>>,
    accept: Option<Arc<str>>,
}

/// Ids that count up: so many were handed out, and so far apart are the ids of
/// one thread.
#[derive(Clone, Copy, Debug)]
struct Ids {
    counted: i64,
    stride: i64,
}

impl Drawer {
    /// The mix of one lane of `profile`, or the name of the first class that
    /// this version cannot draw. It can draw every class there is.
    pub fn new(profile: &Profile, lane: Lane) -> Result<Drawer, String> {
        let classes: Vec<Part> = profile
            .classes
            .iter()
            .enumerate()
            .filter(|(_, c)| c.lane == lane)
            .map(|(index, class)| Part::new(index, class.clone()))
            .collect();
        let total = classes.iter().map(|p| u64::from(p.class.share)).sum();
        let ids = Ids { counted: 0, stride: 1 };
        Ok(Drawer { classes, total, ids, seed: 0 })
    }

    /// The same mix, drawn by thread `thread` of `threads`: ids that count up
    /// are split between them, and quantities are keyed by `seed`.
    pub fn for_thread(
        mut self,
        seed: u64,
        thread: u32,
        threads: u32,
    ) -> Drawer {
        let stride = threads.max(1).into();
        self.ids = Ids { counted: thread.into(), stride };
        self.seed = seed;
        self
    }

    /// The next request and the index of its class in the profile. `None`
    /// only when the lane has no classes.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> Option<(usize, Ask)> {
        let mut left = rng.below(self.total);
        for part in &self.classes {
            let share = u64::from(part.class.share);
            if left < share {
                let ask = part.draw(self.seed, &mut self.ids, rng)?;
                return Some((part.index, ask));
            }
            left -= share;
        }
        None
    }
}

impl Part {
    fn new(index: usize, class: Class) -> Part {
        let texts = match &class.kind {
            Kind::Sum { path, .. } | Kind::Json { path, .. } => {
                vec![path.as_str().into()]
            }
            Kind::CrudList { categories, .. } => {
                categories.iter().map(|c| c.as_str().into()).collect()
            }
            _ => Vec::new(),
        };
        let accept = class.accept_encoding.as_deref().map(Into::into);
        Part { index, class, texts, accept }
    }

    fn draw(&self, seed: u64, ids: &mut Ids, rng: &mut Rng) -> Option<Ask> {
        let accept_encoding = || self.accept.clone();
        Some(match &self.class.kind {
            Kind::Sum { operands, body, .. } => Ask::Sum {
                path: self.texts.first()?.clone(),
                a: within(operands, rng),
                b: within(operands, rng),
                body: body.map(|f| (within(operands, rng), f)),
            },
            Kind::Pipeline => Ask::Pipeline,
            Kind::Json { counts, multiplier, must_encode, .. } => Ask::Json {
                path: self.texts.first()?.clone(),
                count: within(rng.pick(counts)?, rng) as u32,
                multiplier: multiplier.map(|m| within(&m, rng)),
                accept_encoding: accept_encoding(),
                must_encode: *must_encode,
            },
            Kind::Upload { sizes, body } => {
                let sizes = rng.pick(sizes)?;
                let len = rng.between(sizes.low as i64, sizes.high as i64);
                let len = len.clamp(0, i64::from(MAX_BODY)) as u32;
                let last = UploadBlock::last_offset(len as usize)?;
                Ask::Upload {
                    offset: rng.below(last as u64 + 1) as u32,
                    len,
                    framing: *body,
                }
            }
            Kind::Static { files } => {
                let file = if files.is_empty() {
                    rng.below(STATIC_FILES.len() as u64) as usize
                } else {
                    let name = rng.pick(files)?;
                    STATIC_FILES.iter().position(|f| f.name == name)?
                };
                Ask::Static { file, accept_encoding: accept_encoding() }
            }
            Kind::AsyncDb { min, max, limits } => Ask::AsyncDb {
                min: within(min, rng),
                max: within(max, rng),
                limit: within(rng.pick(limits)?, rng) as u32,
                accept_encoding: accept_encoding(),
            },
            Kind::CrudRead { ids } => Ask::CrudRead { id: within(ids, rng) },
            Kind::CrudList { pages, limit, .. } => Ask::CrudList {
                category: rng.pick(&self.texts)?.clone(),
                page: within(pages, rng) as u32,
                limit: *limit,
            },
            Kind::CrudCreate { from } => {
                let id = from.saturating_add(ids.counted);
                ids.counted = ids.counted.saturating_add(ids.stride);
                let (price, quantity) = written(seed, id, rng);
                Ask::CrudCreate { id, price, quantity }
            }
            Kind::CrudUpdate { ids } => {
                let id = within(ids, rng);
                let (price, quantity) = written(seed, id, rng);
                Ask::CrudUpdate { id, price, quantity }
            }
            Kind::ItemRead { ids } => Ask::ItemRead {
                id: within(ids, rng),
                accept_encoding: accept_encoding(),
            },
            Kind::ItemWrite { ids } => {
                let id = within(ids, rng);
                let (price, quantity) = written(seed, id, rng);
                Ask::ItemWrite { id, price, quantity }
            }
            Kind::Me { ids } => Ask::Me {
                id: within(ids, rng),
                accept_encoding: accept_encoding(),
            },
            Kind::GrpcSum { operands } => Ask::GrpcSum {
                a: within(operands, rng) as i32,
                b: within(operands, rng) as i32,
            },
            Kind::GrpcStream { operands, messages } => Ask::GrpcStream {
                a: within(operands, rng) as i32,
                b: within(operands, rng) as i32,
                count: within(messages, rng) as u32,
            },
            Kind::WsEcho { sizes } => Ask::WsEcho {
                salt: rng.bits(),
                len: rng.between(sizes.low as i64, sizes.high as i64) as u32,
            },
        })
    }
}

fn within(range: &Range, rng: &mut Rng) -> i64 {
    rng.between(range.low, range.high)
}

/// A price to write to a row, and the quantity that proves it.
fn written(seed: u64, id: i64, rng: &mut Rng) -> (i64, i64) {
    let price = rng.between(1, 500);
    (price, keyed_quantity(seed, id, price))
}
