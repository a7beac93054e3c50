//! HTTP/3 (RFC 9114) and QPACK without a dynamic table (RFC 9204), read as
//! the bytes come. The transport's streams are someone else's.
//!
//! Each stream has a reader of its own. What is wrong is a [`Breach`]: some
//! end only their stream, the others the connection, as the standard says.

mod control;
mod fields;
mod frame;
mod message;
mod qpack;
mod request;
mod statics;

#[cfg(test)]
mod tests;

pub use control::{News, Seen, Settings, Uni, hello};
pub use message::{Memo, Reader};
pub use request::{Requests, Upload};

use super::Why;

/// What a connection or a stream is closed with (RFC 9114 section 8.1,
/// RFC 9204 section 6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Code(pub u64);

#[allow(missing_docs)]
impl Code {
    pub const NO_ERROR: Code = Code(0x100);
    pub const STREAM_CREATION: Code = Code(0x103);
    pub const CLOSED_CRITICAL_STREAM: Code = Code(0x104);
    pub const FRAME_UNEXPECTED: Code = Code(0x105);
    pub const FRAME: Code = Code(0x106);
    pub const EXCESSIVE_LOAD: Code = Code(0x107);
    pub const ID: Code = Code(0x108);
    pub const SETTINGS: Code = Code(0x109);
    pub const MISSING_SETTINGS: Code = Code(0x10a);
    pub const REQUEST_REJECTED: Code = Code(0x10b);
    pub const REQUEST_CANCELLED: Code = Code(0x10c);
    pub const MESSAGE: Code = Code(0x10e);
    pub const DECOMPRESSION: Code = Code(0x200);
    pub const ENCODER_STREAM: Code = Code(0x201);
    pub const DECODER_STREAM: Code = Code(0x202);
}

/// What the server did wrong, and what that ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Breach {
    /// What it was.
    pub why: Why,
    /// What to tell the server.
    pub code: Code,
    /// Whether it ends the connection, not only the stream.
    pub fatal: bool,
}

impl Breach {
    /// One that ends the connection.
    pub(crate) const fn fatal(code: Code, words: &'static str) -> Breach {
        Breach { why: Why::Protocol(words), code, fatal: true }
    }

    /// A malformed message; only its stream ends.
    const fn message(words: &'static str) -> Breach {
        Breach::stream(Why::Protocol(words))
    }

    const fn stream(why: Why) -> Breach {
        Breach { why, code: Code::MESSAGE, fatal: false }
    }
}
