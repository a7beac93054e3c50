//! HTTP/1.1 answers, read as they come.
//!
//! Whatever the pieces a reply arrives in, the outcome is the same, and there
//! are three of them: more bytes are needed, the answer is complete, or the
//! stream is broken and will never be right again. Broken is never mistaken
//! for incomplete, since a stuck connection looks like a quiet one.
//!
//! Body bytes are handed on as slices of what was read; nothing is gathered.

mod body;
mod head;
pub mod http2;
pub mod http3;
pub mod huffman;
pub mod websocket;

pub use head::{Head, Length, Memo};

use body::Chunks;
use head::Scan;

/// A head, or the trailers of a chunked body, may be at most so long.
pub const MAX_HEAD: usize = 64 * 1024;

/// What a reader makes of the bytes so far.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// All bytes were used and more are needed.
    Incomplete,
    /// The answer is complete.
    Done(Answer),
    /// The stream is not HTTP/1.1 and cannot be read on.
    Broken(Why),
}

/// A complete answer, its body already handed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Body bytes, framing removed.
    pub body_bytes: u64,
    /// Messages in it, where an answer is a stream of them.
    pub messages: u64,
    /// Whether the server said, or the framing means, that it will close.
    pub close: bool,
}

/// Why a stream is broken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Why {
    /// Not `HTTP/1.x NNN`.
    #[error("the first line is not an HTTP/1 status line")]
    StatusLine,
    /// A header line without a name, a colon or with forbidden bytes.
    #[error("a header line is malformed")]
    Field,
    /// The head passed [`MAX_HEAD`].
    #[error("the head is longer than {MAX_HEAD} bytes")]
    HeadTooLong,
    /// A header that may come once came twice.
    #[error("a header that may come once came twice")]
    Twice,
    /// `Content-Length` is no number, or two of them differ.
    #[error("Content-Length is no number, or two of them differ")]
    Length,
    /// `Content-Length` beside `Transfer-Encoding`.
    #[error("both Content-Length and Transfer-Encoding")]
    TwoFramings,
    /// Any transfer coding but a single `chunked`.
    #[error("a transfer coding other than chunked")]
    TransferCoding,
    /// An upgrade was answered with another status than 101.
    #[error("the upgrade was answered with status {0}, expected 101")]
    NotSwitched(u16),
    /// 101, which no request asks for.
    #[error("the server switched protocols unasked")]
    Upgrade,
    /// A chunk size, its line end, or the end of its data.
    #[error("a chunk is malformed")]
    Chunk,
    /// A trailer line, or too many of them.
    #[error("a trailer is malformed or too long")]
    Trailer,
    /// The one who takes the body wants no more of it.
    #[error("the body is longer than any right answer")]
    BodyTooLong,
    /// A protocol above HTTP/1.1 or beside it was broken; in words.
    #[error("{0}")]
    Protocol(&'static str),
    /// The answer came before its request was sent in full.
    #[error("the answer came before the request was sent in full")]
    Early,
}

/// Takes the parts of an answer as they are read.
pub trait Sink {
    /// The final head; informational ones are skipped. An error breaks off.
    fn head(&mut self, head: &Head<'_>) -> Result<(), Why>;
    /// The next body bytes. An error breaks off.
    fn body(&mut self, bytes: &[u8]) -> Result<(), Why>;
}

/// What the end of the stream means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// Nothing of an answer had come.
    Idle,
    /// An answer was cut off.
    Torn,
    /// It was the end of an answer without a length.
    Done(Answer),
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Fixed(u64),
    Chunked(Chunks),
    UntilClose,
}

/// Reads one connection's answers, one after the other.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    /// The part of a head that came so far, when it came in pieces.
    carry: Vec<u8>,
    /// How far `carry` was read.
    scan: Scan,
    status: u16,
    close: bool,
    body_bytes: u64,
}

impl Reader {
    /// Whether nothing of the next answer has come.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Head) && self.carry.is_empty()
    }

    /// Reads up to the end of one answer. Returns how many bytes of `input`
    /// were used: all of them unless the answer is done.
    #[inline]
    pub fn feed(
        &mut self,
        input: &[u8],
        memo: &mut Memo,
        sink: &mut impl Sink,
    ) -> (usize, Step) {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let (n, step) = match &mut self.state {
                State::Head => self.feed_head(rest, memo, sink),
                State::Fixed(left) => {
                    let n = rest.len().min(*left as usize);
                    *left -= n as u64;
                    let over = *left == 0;
                    (n, self.take(&rest[..n], sink, over))
                }
                State::Chunked(chunks) => {
                    let mut count = 0;
                    let (n, step) = chunks.feed(rest, &mut |bytes| {
                        count += bytes.len() as u64;
                        sink.body(bytes)
                    });
                    self.body_bytes += count;
                    let step = match step {
                        Ok(true) => Some(self.done()),
                        Ok(false) => None,
                        Err(why) => Some(Step::Broken(why)),
                    };
                    (n, step)
                }
                State::UntilClose => (rest.len(), self.take(rest, sink, false)),
            };
            used += n;
            match step {
                Some(step) => return (used, step),
                None if used == input.len() => return (used, Step::Incomplete),
                None => {}
            }
        }
    }

    /// The server closed.
    pub fn end(&mut self) -> End {
        if matches!(self.state, State::UntilClose)
            && let Step::Done(answer) = self.done()
        {
            return End::Done(answer);
        }
        if self.is_idle() { End::Idle } else { End::Torn }
    }

    /// `Some` when that ended the answer.
    fn take(
        &mut self,
        bytes: &[u8],
        sink: &mut impl Sink,
        over: bool,
    ) -> Option<Step> {
        self.body_bytes += bytes.len() as u64;
        if !bytes.is_empty()
            && let Err(why) = sink.body(bytes)
        {
            return Some(Step::Broken(why));
        }
        over.then(|| self.done())
    }

    fn done(&mut self) -> Step {
        self.state = State::Head;
        Step::Done(Answer {
            status: self.status,
            body_bytes: std::mem::take(&mut self.body_bytes),
            messages: 0,
            close: self.close,
        })
    }

    fn feed_head(
        &mut self,
        input: &[u8],
        memo: &mut Memo,
        sink: &mut impl Sink,
    ) -> (usize, Option<Step>) {
        if !self.carry.is_empty() {
            return self.feed_carried(input, sink);
        }
        match memo.read(input) {
            Ok(Ok((head, len))) => (len, self.begin(&head, sink)),
            Ok(Err(scan)) => {
                let n = input.len().min(MAX_HEAD + 1);
                self.carry.extend_from_slice(&input[..n]);
                self.scan = scan;
                (n, self.too_long())
            }
            Err(why) => (input.len(), Some(Step::Broken(why))),
        }
    }

    fn feed_carried(
        &mut self,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> (usize, Option<Step>) {
        let before = self.carry.len();
        let n = input.len().min(MAX_HEAD + 1 - before);
        self.carry.extend_from_slice(&input[..n]);
        let parsed = match self.scan.run(&self.carry) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return (n, self.too_long()),
            Err(why) => return (n, Some(Step::Broken(why))),
        };
        let end = std::mem::take(&mut self.scan).at;
        let mut carry = std::mem::take(&mut self.carry);
        let head = Head::over(parsed, &carry[..end]);
        let step = self.begin(&head, sink);
        // The buffer is kept for the next torn head.
        carry.clear();
        self.carry = carry;
        (end - before, step)
    }

    fn too_long(&self) -> Option<Step> {
        (self.carry.len() > MAX_HEAD).then_some(Step::Broken(Why::HeadTooLong))
    }

    fn begin(&mut self, head: &Head<'_>, sink: &mut impl Sink) -> Option<Step> {
        if (100..200).contains(&head.status) {
            let upgrade = head.status == 101;
            return upgrade.then_some(Step::Broken(Why::Upgrade));
        }
        (self.status, self.body_bytes) = (head.status, 0);
        self.close = head.close;
        if let Err(why) = sink.head(head) {
            return Some(Step::Broken(why));
        }
        match head.length {
            Length::None | Length::Fixed(0) => return Some(self.done()),
            Length::Fixed(n) => self.state = State::Fixed(n),
            Length::Chunked => self.state = State::Chunked(Chunks::default()),
            Length::UntilClose => {
                self.close = true;
                self.state = State::UntilClose;
            }
        }
        None
    }
}
