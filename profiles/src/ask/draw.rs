//! Drawing requests from the seed.

use std::sync::Arc;

use super::{Ask, MAX_BODY};
use crate::data::{STATIC_FILES, UploadBlock};
use crate::profile::{Class, Kind, Lane, Profile};
use crate::rng::Rng;

/// Draws a profile's requests: the class by its share, then its values.
#[derive(Clone, Debug)]
pub struct Drawer {
    classes: Vec<(usize, Class)>,
    /// Shared texts per class, so that drawing allocates nothing.
    texts: Vec<(Arc<str>, Option<Arc<str>>)>,
    total: u64,
    /// Ids handed out by a class that counts up, and how far apart the ids
    /// of one thread are.
    counted: i64,
    stride: i64,
    seed: u64,
}

impl Drawer {
    /// The mix of one lane of `profile`, or the name of the first class that
    /// this version cannot draw.
    pub fn new(profile: &Profile, lane: Lane) -> Result<Drawer, String> {
        let classes: Vec<(usize, Class)> = profile
            .classes
            .iter()
            .cloned()
            .enumerate()
            .filter(|(_, c)| c.lane == lane)
            .collect();
        if let Some((_, c)) = classes.iter().find(|(_, c)| !c.kind.is_plain()) {
            return Err(c.name.clone());
        }
        let texts = classes
            .iter()
            .map(|(_, c)| {
                let path = match &c.kind {
                    Kind::Sum { path, .. } | Kind::Json { path, .. } => path,
                    _ => "",
                };
                (path.into(), c.accept_encoding.as_deref().map(Into::into))
            })
            .collect();
        let total = classes.iter().map(|(_, c)| u64::from(c.share)).sum();
        let (counted, stride, seed) = (0, 1, 0);
        Ok(Drawer { classes, texts, total, counted, stride, seed })
    }

    /// The same mix, drawn by thread `thread` of `threads`: ids that count up
    /// are split between them, and quantities are keyed by `seed`.
    pub fn for_thread(
        mut self,
        seed: u64,
        thread: u32,
        threads: u32,
    ) -> Drawer {
        self.counted = thread.into();
        self.stride = threads.max(1).into();
        self.seed = seed;
        self
    }

    /// The next request and the index of its class in the profile. `None`
    /// only when the lane has no classes.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> Option<(usize, Ask)> {
        let mut left = rng.below(self.total);
        for ((index, class), (path, accept)) in
            self.classes.iter().zip(&self.texts)
        {
            let share = u64::from(class.share);
            if left < share {
                let ask = draw_kind(&class.kind, path, accept, rng)?;
                return Some((*index, ask));
            }
            left -= share;
        }
        None
    }
}

fn draw_kind(
    kind: &Kind,
    path: &Arc<str>,
    accept: &Option<Arc<str>>,
    rng: &mut Rng,
) -> Option<Ask> {
    Some(match kind {
        Kind::Sum { operands: r, body, .. } => Ask::Sum {
            path: path.clone(),
            a: rng.between(r.low, r.high),
            b: rng.between(r.low, r.high),
            body: body.map(|f| (rng.between(r.low, r.high), f)),
        },
        Kind::Pipeline => Ask::Pipeline,
        Kind::Json { counts, multiplier, must_encode, .. } => {
            let counts = rng.pick(counts)?;
            Ask::Json {
                path: path.clone(),
                count: rng.between(counts.low, counts.high) as u32,
                multiplier: multiplier.map(|m| rng.between(m.low, m.high)),
                accept_encoding: accept.clone(),
                must_encode: *must_encode,
            }
        }
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
            Ask::Static { file, accept_encoding: accept.clone() }
        }
        _ => return None,
    })
}
