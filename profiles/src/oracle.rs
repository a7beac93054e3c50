//! The oracle: what the right answer to a question is, and whether a reply is
//! that answer.
//!
//! The judge and the gun share it. It knows nothing of connections or
//! framing: it is handed a complete reply.

mod decode;
mod found;
mod grpc;
mod json;
mod keyed;
mod list;
mod me;
mod stored;

use std::{collections::BTreeMap, sync::Arc};

use crate::ask::Ask;
use crate::data::{Dataset, STATIC_FILES, StaticFile};

pub use decode::Coding;
pub use grpc::{Sums, sum_reply};
pub use keyed::keyed_quantity;

/// A complete reply, framing removed, content coding not.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The status code.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The `Content-Encoding` header.
    pub content_encoding: Option<&'a str>,
    /// The body as it came over the wire.
    pub body: &'a [u8],
}

/// Why a complete reply is not the right answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// Another status code.
    #[error("status: expected {expected}, found {found}")]
    Status {
        /// The right one.
        expected: u16,
        /// The one that came.
        found: u16,
    },
    /// Another content type, or none.
    #[error("content type: expected {expected}, found {found}")]
    ContentType {
        /// The right one.
        expected: &'static str,
        /// The one that came.
        found: String,
    },
    /// A content coding that was not asked for, is missing, or is broken.
    #[error("content encoding: {0}")]
    Encoding(String),
    /// The right status and headers, but another body.
    #[error("body: {0}")]
    Body(String),
    /// A gRPC call that ended with another status than OK.
    #[error("grpc-status: expected 0, found {0}")]
    GrpcStatus(String),
    /// A gRPC answer of trailers alone, where messages were due.
    #[error("trailers only: expected messages, found grpc-status {0}")]
    GrpcTrailersOnly(String),
    /// A gRPC answer whose stream ended without trailers.
    #[error("no trailers: expected grpc-status 0, found none")]
    GrpcNoTrailers,
    /// Too few gRPC messages, or too many.
    #[error("messages: expected {expected}, found {found}")]
    GrpcMessages {
        /// How many are right.
        expected: u64,
        /// How many came.
        found: u64,
    },
    /// A gRPC message that is not the right one.
    #[error("message: {0}")]
    GrpcMessage(String),
}

impl Wrong {
    /// A short stable word for counting.
    pub fn word(&self) -> &'static str {
        match self {
            Wrong::Status { .. } => "status",
            Wrong::ContentType { .. } => "content-type",
            Wrong::Encoding(_) => "encoding",
            Wrong::Body(_) => "body",
            Wrong::GrpcStatus(_) => "grpc-status",
            Wrong::GrpcTrailersOnly(_) => "grpc-trailers-only",
            Wrong::GrpcNoTrailers => "grpc-no-trailers",
            Wrong::GrpcMessages { .. } => "grpc-messages",
            Wrong::GrpcMessage(_) => "grpc-message",
        }
    }
}

/// Knows every right answer.
#[derive(Clone, Debug)]
pub struct Oracle {
    dataset: Dataset,
    files: BTreeMap<usize, Arc<[u8]>>,
    /// The seed of the shot: what its writes are keyed by.
    run: u64,
}

impl Oracle {
    /// An oracle over a dataset and the raw bytes of the static files, which
    /// are looked up by name.
    pub fn new(
        dataset: Dataset,
        mut file: impl FnMut(&str) -> Option<Vec<u8>>,
    ) -> Oracle {
        let files = STATIC_FILES
            .iter()
            .enumerate()
            .filter_map(|(i, f)| Some((i, file(f.name)?.into())))
            .collect();
        Oracle { dataset, files, run: 0 }
    }

    /// The same oracle for answers to requests drawn with `seed`, which the
    /// quantities they write are keyed by.
    pub fn with_run(self, seed: u64) -> Oracle {
        Oracle { run: seed, ..self }
    }

    /// An oracle over the generated data, made in memory in milliseconds.
    pub fn generated() -> Oracle {
        Oracle::new(Dataset::generate(), |name| {
            StaticFile::named(name).map(StaticFile::contents)
        })
    }

    /// An oracle over the generated data in `dir`, as `arena data` left it.
    pub fn from_dir(dir: &std::path::Path) -> std::io::Result<Oracle> {
        let named = |path: &std::path::Path, why: std::io::Error| {
            let text = format!("{}: {why}; run `arena data`", path.display());
            std::io::Error::new(why.kind(), text)
        };
        let path = dir.join("dataset.json");
        let bytes = std::fs::read(&path).map_err(|e| named(&path, e))?;
        let dataset = Dataset::parse(&bytes)
            .map_err(|e| named(&path, std::io::Error::other(e.to_string())))?;
        let mut files = BTreeMap::new();
        for (i, file) in STATIC_FILES.iter().enumerate() {
            let path = dir.join("static").join(file.name);
            let bytes = std::fs::read(&path).map_err(|e| named(&path, e))?;
            files.insert(i, bytes.into());
        }
        Ok(Oracle { dataset, files, run: 0 })
    }

    /// The dataset it answers from.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The status code of the right answer.
    #[inline]
    pub fn status(ask: &Ask) -> u16 {
        match ask {
            Ask::CrudCreate { .. } => 201,
            Ask::ItemWrite { .. } => 204,
            Ask::WsEcho { .. } => 101,
            _ => 200,
        }
    }

    /// Judges one reply. Whole bodies are compared, decoded if need be.
    ///
    /// A right answer that is one row of the database, or none, costs no
    /// allocation unless it is compressed or writes its texts with escapes.
    /// The first answer with rows makes [`Rows`](crate::data::Rows), if
    /// nobody did before. gRPC calls and WebSocket messages are not judged
    /// here: they are no documents, see `grpc`.
    pub fn judge(&self, ask: &Ask, reply: &Reply<'_>) -> Result<(), Wrong> {
        let (expected, found) = (Oracle::status(ask), reply.status);
        if found != expected {
            return Err(Wrong::Status { expected, found });
        }
        if matches!(ask, Ask::ItemWrite { .. }) {
            // Without a body it has no type or coding either.
            return same(b"", reply.body);
        }
        content_type(ask, reply.content_type)?;
        let limit = self.longest(ask);
        let body = decode::decode(
            ask.accept_encoding(),
            must_encode(ask),
            reply,
            limit,
        )?;
        self.body(ask, &body)
    }

    /// The exact body of an answer whose bytes are fixed, and `None` where
    /// the layout is free (JSON) or coded (static files).
    pub fn exact(&self, ask: &Ask) -> Option<String> {
        match ask {
            Ask::Sum { a, b, body, .. } => {
                let third = body.map_or(0, |(v, _)| v);
                Some(a.wrapping_add(*b).wrapping_add(third).to_string())
            }
            Ask::Pipeline => Some("ok".into()),
            Ask::Upload { len, .. } => Some(len.to_string()),
            _ => None,
        }
    }

    /// A number that is equal for two asks exactly when they have the same
    /// answer, for asks whose right body may be remembered once judged.
    pub fn key(&self, ask: &Ask) -> Option<u64> {
        match ask {
            Ask::Json { count, multiplier, .. } => {
                // 40 bits hold every multiplier of the contract.
                let m = multiplier.unwrap_or(1);
                let m = u64::try_from(m).ok().filter(|m| *m < 1 << 40)?;
                Some(1 << 63 | u64::from(*count) << 40 | m)
            }
            Ask::Static { file, .. } => Some(*file as u64),
            // 20 bits hold every price, the limit is clamped anyway.
            Ask::AsyncDb { min, max, limit, .. } => {
                let price =
                    |p: &i64| u64::try_from(*p).ok().filter(|p| *p < 1 << 20);
                let limit = u64::from(*limit.clamp(&1, &50));
                Some(1 << 62 | price(min)? << 28 | price(max)? << 8 | limit)
            }
            _ => None,
        }
    }

    /// The raw bytes of a static file.
    pub fn file(&self, index: usize) -> Option<&[u8]> {
        self.files.get(&index).map(|f| &f[..])
    }

    /// The decoded body may be at most so long; past it decoding stops.
    fn longest(&self, ask: &Ask) -> usize {
        match ask {
            Ask::Static { file, .. } => self.file(*file).map_or(0, <[u8]>::len),
            // Generous white space is legal in JSON.
            Ask::Json { .. } | Ask::AsyncDb { .. } | Ask::CrudList { .. } => {
                1 << 20
            }
            ask if is_json(ask) => 1 << 16,
            _ => 64,
        }
    }

    fn body(&self, ask: &Ask, body: &[u8]) -> Result<(), Wrong> {
        match ask {
            Ask::Json { count, multiplier, .. } => json::compare(
                &self.dataset,
                *count,
                multiplier.unwrap_or(1),
                body,
            )
            .map_err(Wrong::Body),
            Ask::Static { file, .. } => match self.file(*file) {
                Some(right) => same(right, body),
                None => Err(Wrong::Body("the oracle has no such file".into())),
            },
            Ask::AsyncDb { min, max, limit, .. } => {
                stored::async_db(*min, *max, *limit, body).map_err(Wrong::Body)
            }
            Ask::CrudRead { id } => {
                stored::crud_read(self.run, *id, body).map_err(Wrong::Body)
            }
            Ask::CrudList { category, page, limit } => {
                stored::crud_list(self.run, category, *page, *limit, body)
                    .map_err(Wrong::Body)
            }
            Ask::CrudCreate { id, price, quantity } => {
                stored::crud_create((*id, *price, *quantity), body)
                    .map_err(Wrong::Body)
            }
            Ask::CrudUpdate { id, price, quantity } => {
                stored::crud_update((*id, *price, *quantity), body)
                    .map_err(Wrong::Body)
            }
            Ask::ItemRead { id, .. } => {
                stored::item_read(self.run, *id, body).map_err(Wrong::Body)
            }
            Ask::Me { id, .. } => stored::me(*id, body).map_err(Wrong::Body),
            _ => match self.exact(ask) {
                Some(right) => same(right.as_bytes(), body),
                None => Err(Wrong::Body("it is not judged as a whole".into())),
            },
        }
    }
}

/// Whether the answer is a JSON document.
fn is_json(ask: &Ask) -> bool {
    matches!(
        ask,
        Ask::Json { .. }
            | Ask::AsyncDb { .. }
            | Ask::CrudRead { .. }
            | Ask::CrudList { .. }
            | Ask::CrudCreate { .. }
            | Ask::CrudUpdate { .. }
            | Ask::ItemRead { .. }
            | Ask::Me { .. }
    )
}

/// Under `json-comp`, an answer must be compressed when the client asks.
fn must_encode(ask: &Ask) -> bool {
    matches!(ask, Ask::Json { must_encode: true, .. })
}

fn content_type(ask: &Ask, found: Option<&str>) -> Result<(), Wrong> {
    let allowed: &[&'static str] = match ask {
        ask if is_json(ask) => &["application/json"],
        Ask::Static { file, .. } => {
            STATIC_FILES.get(*file).map_or(&[], |f| f.content_types)
        }
        _ => &["text/plain"],
    };
    let bare = found.unwrap_or("").split(';').next().unwrap_or("").trim();
    if allowed.iter().any(|a| a.eq_ignore_ascii_case(bare)) {
        return Ok(());
    }
    Err(Wrong::ContentType {
        expected: allowed.first().copied().unwrap_or("none"),
        found: found.map_or("none".into(), |f| clip(f.as_bytes())),
    })
}

fn same(right: &[u8], found: &[u8]) -> Result<(), Wrong> {
    if right == found {
        return Ok(());
    }
    let at = right.iter().zip(found).take_while(|(a, b)| a == b).count();
    Err(Wrong::Body(if right.len() <= 64 {
        format!("expected `{}`, found `{}`", clip(right), clip(found))
    } else {
        format!(
            "expected {} bytes, found {}; they differ from byte {at}",
            right.len(),
            found.len()
        )
    }))
}

/// A stranger's bytes, short and printable.
pub fn clip(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]);
    let mut out: String = text
        .chars()
        .map(|c| if is_hidden(c) { '\u{fffd}' } else { c })
        .collect();
    if bytes.len() > 80 {
        out.push('…');
    }
    out
}

/// Whether a character steers text rather than being some: a control or
/// format character (Unicode Cc and Cf), or a separator of lines.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}'
            | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
