//! What one request asks, and how it is drawn from the seed.
//!
//! The judge and the gun both send [`Ask`]s and write them with the same
//! method, target and headers, so an entry cannot tell the one from the other.
//! The bytes on the wire are each one's own business.

use std::{fmt::Write as _, sync::Arc};

use crate::data::{STATIC_FILES, UPLOAD_MAX_BYTES, UploadBlock};
use crate::profile::{Class, Framing, Kind, Lane, Profile};
use crate::rng::Rng;

/// The largest upload body of the contract, in bytes.
pub const MAX_BODY: u32 = UPLOAD_MAX_BYTES as u32;

/// One question, complete: enough to write the request and to know its answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ask {
    /// `SUM` on `path`, perhaps with an integer body to add.
    Sum {
        /// The path, e.g. `/baseline11`.
        path: Arc<str>,
        /// The first operand.
        a: i64,
        /// The second operand.
        b: i64,
        /// A third, sent as a POST body framed so.
        body: Option<(i64, Framing)>,
    },
    /// `GET /pipeline`.
    Pipeline,
    /// `JSON`: the first `count` items with `total = price × quantity × m`.
    Json {
        /// The path before the count, e.g. `/json/`.
        path: Arc<str>,
        /// How many items.
        count: u32,
        /// The multiplier; `None` sends no `m`, which means 1.
        multiplier: Option<i64>,
        /// The `Accept-Encoding` header, if any.
        accept_encoding: Option<Arc<str>>,
        /// Whether an acceptable coding must be used, as under `json-comp`.
        must_encode: bool,
    },
    /// `POST /upload` with bytes `offset..offset + len` of the
    /// [`UploadBlock`].
    Upload {
        /// Where the body begins in the block.
        offset: u32,
        /// Its length in bytes.
        len: u32,
        /// How it is framed.
        framing: Framing,
    },
    /// `GET /static/<file>`.
    Static {
        /// Index into [`STATIC_FILES`].
        file: usize,
        /// The `Accept-Encoding` header, if any.
        accept_encoding: Option<Arc<str>>,
    },
}

/// The body of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body {
    /// None; neither length nor coding header is sent.
    None,
    /// One decimal integer.
    Integer(i64, Framing),
    /// A slice of the upload block.
    Slice {
        /// Where it begins.
        offset: u32,
        /// Its length in bytes.
        len: u32,
        /// How it is framed.
        framing: Framing,
    },
}

impl Ask {
    /// `GET` or `POST`.
    pub fn method(&self) -> &'static str {
        match self {
            Ask::Sum { body: Some(_), .. } | Ask::Upload { .. } => "POST",
            _ => "GET",
        }
    }

    /// Appends the request target: path and query.
    pub fn write_target(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Ask::Sum { path, a, b, .. } => write!(out, "{path}?a={a}&b={b}"),
            Ask::Pipeline => write!(out, "/pipeline"),
            Ask::Json { path, count, multiplier: Some(m), .. } => {
                write!(out, "{path}{count}?m={m}")
            }
            Ask::Json { path, count, .. } => write!(out, "{path}{count}"),
            Ask::Upload { .. } => write!(out, "/upload"),
            Ask::Static { file, .. } => {
                let name = STATIC_FILES.get(*file).map_or("", |f| f.name);
                write!(out, "/static/{name}")
            }
        };
    }

    /// The request target as a text of its own.
    pub fn target(&self) -> String {
        let mut out = String::new();
        self.write_target(&mut out);
        out
    }

    /// The `Accept-Encoding` header to send, if any. Beside it a request
    /// carries `Host` and what its body needs, and nothing else.
    pub fn accept_encoding(&self) -> Option<&str> {
        match self {
            Ask::Json { accept_encoding, .. }
            | Ask::Static { accept_encoding, .. } => accept_encoding.as_deref(),
            _ => None,
        }
    }

    /// The body to send.
    pub fn body(&self) -> Body {
        match *self {
            Ask::Sum { body: Some((value, framing)), .. } => {
                Body::Integer(value, framing)
            }
            Ask::Upload { offset, len, framing } => {
                Body::Slice { offset, len, framing }
            }
            _ => Body::None,
        }
    }
}

/// Draws a profile's requests: the class by its share, then its values.
#[derive(Clone, Debug)]
pub struct Drawer {
    classes: Vec<(usize, Class)>,
    /// Shared texts per class, so that drawing allocates nothing.
    texts: Vec<(Arc<str>, Option<Arc<str>>)>,
    total: u64,
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
        Ok(Drawer { classes, texts, total })
    }

    /// The next request and the index of its class in the profile. `None`
    /// only when the lane has no classes.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Option<(usize, Ask)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_writes_its_target_and_its_body() {
        let sum = Ask::Sum {
            path: "/baseline11".into(),
            a: -3,
            b: 4,
            body: Some((20, Framing::Chunked)),
        };
        assert_eq!(sum.target(), "/baseline11?a=-3&b=4");
        assert_eq!(sum.method(), "POST");
        assert_eq!(sum.body(), Body::Integer(20, Framing::Chunked));
        let file = Ask::Static { file: 0, accept_encoding: None };
        assert_eq!(file.target(), "/static/reset.css");
        assert_eq!(file.body(), Body::None);
    }
}
