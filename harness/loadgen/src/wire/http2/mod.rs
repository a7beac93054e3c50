//! HTTP/2 as bytes (RFC 9113): frames in whatever pieces they come, header
//! blocks (RFC 7541), and requests.
//!
//! What breaks the connection is an error here. What is only wrong with one
//! answer is told in [`Block`], since the others on the connection may be
//! right.

mod block;
mod frame;
mod hpack;
mod memo;
mod request;
mod statics;
mod table;

pub use block::Block;
pub use frame::{Data, Head, MAX_FRAME, Piece, Reader, unpadded};
pub use hpack::Scratch;
pub use memo::Decoder;
pub use request::{Encoder, Load, Requests};

/// What a client says first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Frame types.
pub mod kind {
    /// A part of a body.
    pub const DATA: u8 = 0;
    /// A header block begins.
    pub const HEADERS: u8 = 1;
    /// Deprecated; read over.
    pub const PRIORITY: u8 = 2;
    /// One stream ends at once.
    pub const RST_STREAM: u8 = 3;
    /// How to talk to the sender.
    pub const SETTINGS: u8 = 4;
    /// A stream nobody asked for.
    pub const PUSH_PROMISE: u8 = 5;
    /// Is anybody there?
    pub const PING: u8 = 6;
    /// The connection ends soon.
    pub const GOAWAY: u8 = 7;
    /// More may be sent.
    pub const WINDOW_UPDATE: u8 = 8;
    /// A header block goes on.
    pub const CONTINUATION: u8 = 9;
}

/// Frame flags.
pub mod flag {
    /// On PING and SETTINGS.
    pub const ACK: u8 = 1;
    /// On DATA and HEADERS.
    pub const END_STREAM: u8 = 1;
    /// On HEADERS and CONTINUATION.
    pub const END_HEADERS: u8 = 4;
    /// On DATA and HEADERS.
    pub const PADDED: u8 = 8;
    /// On HEADERS.
    pub const PRIORITY: u8 = 32;
}

/// Error codes a stream may be reset with.
pub mod code {
    /// Nothing is wrong.
    pub const NO_ERROR: u32 = 0;
    /// The peer broke the rules.
    pub const PROTOCOL_ERROR: u32 = 1;
    /// It sent more than it was let.
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    /// The stream was not processed.
    pub const REFUSED_STREAM: u32 = 7;
    /// Nobody waits for it any more.
    pub const CANCEL: u32 = 8;

    /// Its name.
    pub fn name(code: u32) -> &'static str {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(code as usize).copied().unwrap_or("an unknown code")
    }
}

/// Settings.
pub mod setting {
    /// How much the sender's decoder remembers.
    pub const HEADER_TABLE_SIZE: u16 = 1;
    /// Whether streams may be pushed to the sender.
    pub const ENABLE_PUSH: u16 = 2;
    /// Streams the sender takes at a time.
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    /// How much may be sent on a new stream.
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    /// The largest frame the sender takes.
    pub const MAX_FRAME_SIZE: u16 = 5;
    /// The longest header list it takes.
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Appends a frame's head.
#[inline]
pub fn put_head(
    out: &mut Vec<u8>,
    len: usize,
    kind: u8,
    flags: u8,
    stream: u32,
) {
    let mut head = [0; 9];
    head[..4].copy_from_slice(&((len as u32) << 8).to_be_bytes());
    head[3] = kind;
    head[4] = flags;
    head[5..].copy_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(&head);
}

/// Appends a frame of one number: RST_STREAM, WINDOW_UPDATE.
pub fn put_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    put_head(out, 4, kind, 0, stream);
    out.extend_from_slice(&number.to_be_bytes());
}
