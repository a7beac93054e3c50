//! What the event loop needs of a protocol: bytes in, bytes out.

use super::answers::Answers;

/// One connection without its socket.
pub trait Talk {
    /// Takes what came in and appends what goes out to `out`.
    fn hear(
        &mut self,
        bytes: &[u8],
        answers: &Answers,
        out: &mut Vec<u8>,
    ) -> Heard;
}

/// What a piece held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// So many whole requests.
    Answered(u32),
    /// Something that cannot be answered, or a goodbye: what is in `out` is
    /// sent, then the connection is closed.
    HangUp,
}
