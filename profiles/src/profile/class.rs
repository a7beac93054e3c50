//! Request classes: the parts of a profile's mix.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, UnitError};

/// How a request body is delimited.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// Which connections a class is sent on.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// The profile's main connections.
    #[default]
    Main,
    /// The write connections of a production stack.
    Writers,
}

/// An inclusive range of whole numbers, `3-7` or `5`; negative ends are
/// written `-9..9`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Range {
    /// The smallest value.
    pub low: i64,
    /// The largest value.
    pub high: i64,
}

/// Why a text is not a [`Range`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RangeError {
    /// Not numbers.
    #[error("`{0}` is not a range; write `5`, `3-7` or `-9..9`")]
    Malformed(String),
    /// The end is before the start.
    #[error("`{0}` runs backwards; did you mean `{2}-{1}`?")]
    Backwards(String, i64, i64),
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Range, RangeError> {
        let bad = || RangeError::Malformed(text.chars().take(40).collect());
        let (low, high) = text
            .split_once("..")
            .or_else(|| text.split_once('-').filter(|(a, _)| !a.is_empty()))
            .unwrap_or((text, text));
        let low: i64 = low.trim().parse().map_err(|_| bad())?;
        let high: i64 = high.trim().parse().map_err(|_| bad())?;
        if low > high {
            return Err(RangeError::Backwards(text.to_string(), low, high));
        }
        Ok(Range { low, high })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dash = if self.low < 0 { ".." } else { "-" };
        if self.low == self.high {
            return f.pad(&self.low.to_string());
        }
        f.pad(&format!("{}{dash}{}", self.low, self.high))
    }
}

crate::units::text_form!(Range);
use serde::{Deserializer, Serializer};

/// An inclusive range of sizes, `500KiB` or `495KiB-500KiB`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct SizeRange {
    /// The smallest size in bytes.
    pub low: u64,
    /// The largest size in bytes.
    pub high: u64,
}

impl FromStr for SizeRange {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<SizeRange, UnitError> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let (low, high): (Bytes, Bytes) =
            (low.trim().parse()?, high.trim().parse()?);
        Ok(SizeRange { low: low.0.min(high.0), high: low.0.max(high.0) })
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}-{}", Bytes(self.low), Bytes(self.high)))
    }
}

crate::units::text_form!(SizeRange);

/// One part of the mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name within the profile, e.g. `post-chunked`.
    pub name: String,
    /// Requests of this class per `share_total` of its lane.
    pub share: u32,
    /// The connections it is sent on.
    pub lane: Lane,
    /// The `Accept-Encoding` header, if one is sent.
    pub accept_encoding: Option<String>,
    /// Whether a bearer token is sent.
    pub bearer: bool,
    /// What is asked.
    pub kind: Kind,
}

/// What a class asks, with the ranges its values are drawn from.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `SUM`: query `a` and `b`, and perhaps a body to add.
    Sum {
        /// The path, e.g. `/baseline11`.
        path: String,
        /// Where `a` and `b` are drawn from.
        operands: Range,
        /// POST with a body of one integer, framed so; `None` is GET.
        body: Option<Framing>,
    },
    /// `GET /pipeline`.
    Pipeline,
    /// `JSON`: one of `counts`, then a value within it.
    Json {
        /// The path before the count, e.g. `/json/`.
        path: String,
        /// Equally likely ranges of the item count.
        counts: Vec<Range>,
        /// Where `m` is drawn from; `None` sends no `m`.
        multiplier: Option<Range>,
        /// Whether an acceptable content coding must be used.
        must_encode: bool,
    },
    /// `POST /upload` with random bytes.
    Upload {
        /// Equally likely ranges of the body size.
        sizes: Vec<SizeRange>,
        /// How the body is framed.
        body: Framing,
    },
    /// `GET /static/<file>`, one of the files, each equally likely.
    Static {
        /// Names from the table of static files; empty means all 20.
        files: Vec<String>,
    },
    /// `GET /async-db`.
    AsyncDb {
        /// Where `min` is drawn from.
        min: Range,
        /// Where `max` is drawn from.
        max: Range,
        /// Equally likely ranges of `limit`.
        limits: Vec<Range>,
    },
    /// `GET /crud/items/<id>`.
    CrudRead {
        /// Where the id is drawn from.
        ids: Range,
    },
    /// `GET /crud/items?category=&page=&limit=`.
    CrudList {
        /// Categories, each equally likely.
        categories: Vec<String>,
        /// Where the page is drawn from.
        pages: Range,
        /// The page size.
        limit: u32,
    },
    /// `POST /crud/items` with ids counting up from the start.
    CrudCreate {
        /// The first id.
        from: i64,
    },
    /// `PUT /crud/items/<id>`.
    CrudUpdate {
        /// Where the id is drawn from.
        ids: Range,
    },
    /// `GET /api/items/<id>` of the production stack.
    ItemRead {
        /// Where the id is drawn from.
        ids: Range,
    },
    /// `POST /api/items/<id>` of the production stack.
    ItemWrite {
        /// Where the id is drawn from.
        ids: Range,
    },
    /// `GET /api/me` of the production stack.
    Me {
        /// Where the user id is drawn from.
        ids: Range,
    },
    /// gRPC `GetSum`.
    GrpcSum {
        /// Where `a` and `b` are drawn from.
        operands: Range,
    },
    /// gRPC `StreamSum`.
    GrpcStream {
        /// Where `a` and `b` are drawn from.
        operands: Range,
        /// Messages per stream.
        messages: Range,
    },
    /// A WebSocket message that must come back.
    WsEcho {
        /// Where the payload size is drawn from.
        sizes: SizeRange,
    },
}

impl Kind {
    /// Whether its answers are rows of the database's `items` table.
    pub fn reads_rows(&self) -> bool {
        matches!(
            self,
            Kind::AsyncDb { .. }
                | Kind::CrudRead { .. }
                | Kind::CrudList { .. }
                | Kind::CrudUpdate { .. }
                | Kind::ItemRead { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_read_as_they_print() {
        for text in ["5", "3-7", "-9..9", "-3"] {
            assert_eq!(text.parse::<Range>().unwrap().to_string(), text);
        }
        let back = "7-3".parse::<Range>().unwrap_err().to_string();
        assert_eq!(back, "`7-3` runs backwards; did you mean `3-7`?");
        assert!("a-b".parse::<Range>().is_err());
        let size: SizeRange = "1KiB-2KiB".parse().unwrap();
        assert_eq!((size.low, size.high), (1024, 2048));
        assert!("500".parse::<SizeRange>().is_err());
    }
}
