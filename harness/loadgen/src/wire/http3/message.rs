//! Answers on their request streams.

use super::fields::{Fields, Parsed, check};
use super::frame::{FrameHead, kind};
use super::qpack::{self, Scratch};
use super::{Breach, Code};
use crate::wire::{Answer, Head, MAX_HEAD, Sink, Why};

/// Heads a thread remembers; a power of two.
const MEMOS: usize = 64;
/// Longer ones are not remembered.
const MEMO_BYTES: usize = 1024;

const UNEXPECTED: Breach = Breach::fatal(
    Code::FRAME_UNEXPECTED,
    "a frame that may not come on a request stream, or not there",
);
const TORN: Breach =
    Breach::fatal(Code::FRAME, "a stream ended inside a frame");
const TOO_LONG: Breach =
    Breach { code: Code::EXCESSIVE_LOAD, ..Breach::stream(Why::HeadTooLong) };

/// The heads a thread read last. Servers repeat them byte for byte, and a
/// block without a dynamic table always means the same, so most are known by
/// one comparison.
#[derive(Debug, Default)]
pub struct Memo {
    known: Vec<Known>,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Known {
    block: Vec<u8>,
    parsed: Parsed,
}

impl Memo {
    /// Reads the head in `block`.
    #[inline]
    fn read(&mut self, block: &[u8]) -> Result<&Parsed, Breach> {
        if self.known.is_empty() {
            self.known.resize_with(MEMOS, Known::default);
        }
        let at = place(block);
        if self.known[at].block != block || block.is_empty() {
            self.learn(at, block)?;
        }
        Ok(&self.known[at].parsed)
    }

    #[cold]
    fn learn(&mut self, at: usize, block: &[u8]) -> Result<(), Breach> {
        let mut fields = Fields::default();
        qpack::decode(block, &mut self.scratch, |name, value| {
            fields.head(name, value)
        })?;
        let known = &mut self.known[at];
        known.parsed = fields.parsed()?;
        known.block.clear();
        if block.len() <= MEMO_BYTES {
            known.block.extend_from_slice(block);
        }
        Ok(())
    }
}

/// Where in the memory a block belongs.
#[inline]
fn place(block: &[u8]) -> usize {
    let mut hash = block.len() as u64;
    let mut words = block.chunks_exact(8);
    for word in &mut words {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        hash = mix(hash ^ u64::from_le_bytes(bytes));
    }
    for byte in words.remainder() {
        hash = mix(hash ^ u64::from(*byte));
    }
    (hash >> 32) as usize & (MEMOS - 1)
}

#[inline]
fn mix(value: u64) -> u64 {
    value.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// Where in its message a reader is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    #[default]
    Head,
    Body,
    /// The trailers have come; nothing may follow.
    Over,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Between two frames, or in a frame's head.
    #[default]
    Between,
    /// So many bytes of a field section are still to come.
    Block(u64),
    Data(u64),
    Skip(u64),
}

/// Reads the one answer of a request stream.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    stage: Stage,
    head: FrameHead,
    /// The part of a field section that came so far.
    carry: Vec<u8>,
    status: u16,
    length: Option<u64>,
    body_bytes: u64,
}

impl Reader {
    /// Forgets all, for another stream; buffers are kept.
    pub fn reset(&mut self) {
        let mut carry = std::mem::take(&mut self.carry);
        carry.clear();
        *self = Reader { carry, ..Reader::default() };
    }

    /// Whether nothing of the answer has come.
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Head
            && self.carry.is_empty()
            && matches!(self.state, State::Between)
            && !self.head.is_torn()
    }

    /// Reads `input`, all of it.
    #[inline]
    pub fn feed(
        &mut self,
        mut input: &[u8],
        memo: &mut Memo,
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        loop {
            match self.state {
                State::Between => {
                    let Some(head) = self.head.take(&mut input) else {
                        return Ok(());
                    };
                    self.state = self.frame(head)?;
                    if matches!(self.state, State::Block(0)) {
                        self.block(&[], memo, sink)?;
                    }
                }
                State::Data(0) | State::Skip(0) => self.state = State::Between,
                _ if input.is_empty() => return Ok(()),
                State::Block(left) => {
                    let (part, rest) = cut(input, left);
                    input = rest;
                    if part.len() as u64 == left && self.carry.is_empty() {
                        self.block(part, memo, sink)?;
                        continue;
                    }
                    self.carry.extend_from_slice(part);
                    let left = left - part.len() as u64;
                    self.state = State::Block(left);
                    if left == 0 {
                        let carry = std::mem::take(&mut self.carry);
                        self.block(&carry, memo, sink)?;
                        self.carry = carry;
                        self.carry.clear();
                    }
                }
                State::Data(left) => {
                    let (part, rest) = cut(input, left);
                    input = rest;
                    self.state = State::Data(left - part.len() as u64);
                    self.body_bytes += part.len() as u64;
                    if self.length.is_some_and(|n| self.body_bytes > n) {
                        return Err(Breach::message(
                            "the body is longer than its content-length",
                        ));
                    }
                    sink.body(part).map_err(Breach::stream)?;
                }
                State::Skip(left) => {
                    let (part, rest) = cut(input, left);
                    input = rest;
                    self.state = State::Skip(left - part.len() as u64);
                }
            }
        }
    }

    /// The stream has ended.
    #[inline]
    pub fn end(&self) -> Result<Answer, Breach> {
        let between = matches!(
            self.state,
            State::Between | State::Data(0) | State::Skip(0)
        );
        if !between || self.head.is_torn() {
            return Err(TORN);
        }
        if self.stage == Stage::Head {
            return Err(Breach::message("the stream ended without a head"));
        }
        // A 304 may name the length it does not have.
        let bodiless = matches!(self.status, 204 | 304);
        let short = self.length.is_some_and(|n| n != self.body_bytes);
        if short && !(bodiless && self.body_bytes == 0) {
            return Err(Breach::message(
                "the body is shorter than its content-length",
            ));
        }
        Ok(Answer {
            status: self.status,
            body_bytes: self.body_bytes,
            messages: 0,
            close: false,
        })
    }

    /// A frame begins.
    #[inline]
    fn frame(&self, (kind, len): (u64, u64)) -> Result<State, Breach> {
        match (kind, self.stage) {
            (kind::DATA, Stage::Body) => Ok(State::Data(len)),
            (kind::HEADERS, Stage::Head | Stage::Body) => {
                if len > MAX_HEAD as u64 {
                    return Err(TOO_LONG);
                }
                Ok(State::Block(len))
            }
            (kind::PUSH_PROMISE, _) => Err(Breach::fatal(
                Code::ID,
                "a push, which this client does not allow",
            )),
            (
                kind::DATA
                | kind::HEADERS
                | kind::CANCEL_PUSH
                | kind::SETTINGS
                | kind::GOAWAY
                | kind::MAX_PUSH_ID,
                _,
            ) => Err(UNEXPECTED),
            (other, _) if kind::is_forbidden(other) => Err(UNEXPECTED),
            _ => Ok(State::Skip(len)),
        }
    }

    /// A field section is whole.
    #[inline]
    fn block(
        &mut self,
        block: &[u8],
        memo: &mut Memo,
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        self.state = State::Between;
        if self.stage == Stage::Body {
            self.stage = Stage::Over;
            return qpack::decode(block, &mut memo.scratch, check);
        }
        let parsed = memo.read(block)?;
        if (100..200).contains(&parsed.status) {
            return match parsed.status {
                101 => Err(Breach::stream(Why::Upgrade)),
                _ => Ok(()),
            };
        }
        self.stage = Stage::Body;
        (self.status, self.length) = (parsed.status, parsed.length);
        let head: Head<'_> = parsed.head();
        sink.head(&head).map_err(Breach::stream)
    }
}

/// At most `most` bytes from the front.
#[inline]
fn cut(input: &[u8], most: u64) -> (&[u8], &[u8]) {
    input.split_at(input.len().min(usize::try_from(most).unwrap_or(usize::MAX)))
}
