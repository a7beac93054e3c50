//! What one request asks, and how it is drawn from the seed.
//!
//! The judge and the gun both send [`Ask`]s and write them with the same
//! method, target and headers, so an entry cannot tell the one from the other.
//! The bytes on the wire are each one's own business.

mod body;
mod draw;
mod echo;

pub use body::Body;
#[cfg(test)]
pub(crate) use body::varint;
pub use draw::Drawer;
pub use echo::Echo;

use std::{fmt::Write as _, sync::Arc};

use crate::data::{STATIC_FILES, UPLOAD_MAX_BYTES};
use crate::profile::Framing;

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
    /// [`UploadBlock`](crate::data::UploadBlock).
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
    /// `GET /async-db`: rows of a price range, in any order.
    AsyncDb {
        /// The lowest price.
        min: i64,
        /// The highest price.
        max: i64,
        /// At most so many rows.
        limit: u32,
        /// The `Accept-Encoding` header, if any.
        accept_encoding: Option<Arc<str>>,
    },
    /// `GET /crud/items/<id>`, the id padded with zeros to five digits.
    CrudRead {
        /// The row.
        id: i64,
    },
    /// `GET /crud/items?category=&page=&limit=`, the page padded to two.
    CrudList {
        /// The category.
        category: Arc<str>,
        /// The page, from 1.
        page: u32,
        /// The page size.
        limit: u32,
    },
    /// `POST /crud/items` of a new row.
    CrudCreate {
        /// Its id.
        id: i64,
        /// Its price.
        price: i64,
        /// Its quantity, a keyed function of the two.
        quantity: i64,
    },
    /// `PUT /crud/items/<id>`, the id padded like that of a read.
    CrudUpdate {
        /// The row.
        id: i64,
        /// The new price.
        price: i64,
        /// The new quantity, a keyed function of the two.
        quantity: i64,
    },
    /// `GET /api/items/<id>`.
    ItemRead {
        /// The row.
        id: i64,
        /// The `Accept-Encoding` header, if any.
        accept_encoding: Option<Arc<str>>,
    },
    /// `POST /api/items/<id>`.
    ItemWrite {
        /// The row.
        id: i64,
        /// The new price.
        price: i64,
        /// The new quantity, a keyed function of the two.
        quantity: i64,
    },
    /// `GET /api/me` with the token of one user.
    Me {
        /// The user.
        id: i64,
        /// The `Accept-Encoding` header, if any.
        accept_encoding: Option<Arc<str>>,
    },
    /// gRPC `GetSum`.
    GrpcSum {
        /// The first operand.
        a: i32,
        /// The second operand.
        b: i32,
    },
    /// gRPC `StreamSum`: `count` replies, the i-th `a + b + i`.
    GrpcStream {
        /// The first operand.
        a: i32,
        /// The second operand.
        b: i32,
        /// How many replies.
        count: u32,
    },
    /// A WebSocket text message that must come back.
    WsEcho {
        /// What its text is made of.
        salt: u64,
        /// Its length in bytes.
        len: u32,
    },
}

impl Ask {
    /// `GET`, `POST` or `PUT`. A WebSocket message has none; its connection
    /// was a `GET`.
    pub fn method(&self) -> &'static str {
        match self {
            Ask::Sum { body: Some(_), .. }
            | Ask::Upload { .. }
            | Ask::CrudCreate { .. }
            | Ask::ItemWrite { .. }
            | Ask::GrpcSum { .. }
            | Ask::GrpcStream { .. } => "POST",
            Ask::CrudUpdate { .. } => "PUT",
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
            Ask::AsyncDb { min, max, limit, .. } => {
                write!(out, "/async-db?min={min}&max={max}&limit={limit}")
            }
            Ask::CrudRead { id } | Ask::CrudUpdate { id, .. } => {
                write!(out, "/crud/items/{id:05}")
            }
            Ask::CrudList { category, page, limit } => write!(
                out,
                "/crud/items?category={category}&page={page:02}&limit={limit}"
            ),
            Ask::CrudCreate { .. } => write!(out, "/crud/items"),
            Ask::ItemRead { id, .. } | Ask::ItemWrite { id, .. } => {
                write!(out, "/api/items/{id}")
            }
            Ask::Me { .. } => write!(out, "/api/me"),
            Ask::GrpcSum { .. } => {
                write!(out, "/benchmark.BenchmarkService/GetSum")
            }
            Ask::GrpcStream { .. } => {
                write!(out, "/benchmark.BenchmarkService/StreamSum")
            }
            Ask::WsEcho { .. } => write!(out, "/ws"),
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
            | Ask::Static { accept_encoding, .. }
            | Ask::AsyncDb { accept_encoding, .. }
            | Ask::ItemRead { accept_encoding, .. }
            | Ask::Me { accept_encoding, .. } => accept_encoding.as_deref(),
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
            Ask::CrudCreate { .. }
            | Ask::CrudUpdate { .. }
            | Ask::ItemWrite { .. } => Body::Json,
            Ask::GrpcSum { .. } | Ask::GrpcStream { .. } => Body::Message,
            _ => Body::None,
        }
    }
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
