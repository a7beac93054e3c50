//! WebSocket frames (RFC 6455), read as they come and written masked.
//!
//! Like [`super::Reader`] it has one outcome for a stream, however that is
//! cut: the same parts, and broken where it is broken. Payloads are handed on
//! as slices of what was read; only a control frame that came in pieces is
//! put together.

mod upgrade;

pub use upgrade::{Upgrade, accept};

use super::Why;

/// A control frame has no longer payload (RFC 6455 section 5.5).
pub const MAX_CONTROL: usize = 125;
/// A text message in one frame, and a binary one.
pub const TEXT: u8 = 0x81;
/// A pong and a close frame, whole as they must be.
pub const PONG: u8 = 0x8a;
/// See [`PONG`].
pub const CLOSE: u8 = 0x88;
/// Two bytes and the longest length.
const MAX_HEADER: usize = 10;

/// What a message is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// A part of the stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part<'a> {
    /// A frame of a message begins, the first one of it if it names a kind.
    Frame(Option<Kind>, u64),
    /// The next bytes of the message; whether they are its last.
    Data(&'a [u8], bool),
    /// A ping, to be answered with the same payload.
    Ping(&'a [u8]),
    /// A pong nobody asked for.
    Pong,
    /// The server closes, with this code if it gives one.
    Close(Option<u16>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum At {
    Header,
    Message {
        left: u64,
        fin: bool,
    },
    Control {
        code: u8,
        len: u8,
    },
    /// After a control frame that was put together in `carry`.
    Spent,
    /// A frame that may not be was read; nothing follows.
    Broken(Why),
}

/// Reads the server's frames.
#[derive(Debug)]
pub struct Frames {
    at: At,
    /// Within a message of several frames.
    fragmented: bool,
    /// The part of a header or of a control frame that came so far.
    carry: Vec<u8>,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames { at: At::Header, fragmented: false, carry: Vec::new() }
    }
}

/// What a header says.
struct Header {
    code: u8,
    fin: bool,
    payload: u64,
    /// Its own length.
    bytes: usize,
}

impl Frames {
    /// Whether the stream is between two messages and two frames.
    #[inline]
    pub fn is_between(&self) -> bool {
        !self.fragmented
            && match self.at {
                At::Header => self.carry.is_empty(),
                At::Spent => true,
                _ => false,
            }
    }

    /// The next part; takes what it used off the front of `input`. `None`
    /// when all of that is used. To be called until then: the end of an
    /// empty message takes no bytes.
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Part<'s>>, Why> {
        loop {
            match self.at {
                At::Header => {
                    let Some(header) = self.header(input)? else {
                        return Ok(None);
                    };
                    if let Some(part) = self.begin(&header) {
                        return Ok(Some(part));
                    }
                }
                At::Message { left: 0, fin } => {
                    self.at = At::Header;
                    // The end of a frame is of no interest.
                    if fin {
                        self.fragmented = false;
                        return Ok(Some(Part::Data(&[], true)));
                    }
                }
                At::Message { left, fin } => {
                    let n = input.len().min(clamped(left));
                    if n == 0 {
                        return Ok(None);
                    }
                    let (bytes, rest) = input.split_at(n);
                    *input = rest;
                    let left = left - n as u64;
                    let last = left == 0 && fin;
                    self.fragmented &= !last;
                    self.at = match left {
                        0 => At::Header,
                        _ => At::Message { left, fin },
                    };
                    return Ok(Some(Part::Data(bytes, last)));
                }
                At::Spent => {
                    self.carry.clear();
                    self.at = At::Header;
                }
                At::Control { code, len } => {
                    return self.control(code, len.into(), input);
                }
                At::Broken(why) => return Err(why),
            }
        }
    }

    fn header(&mut self, input: &mut &[u8]) -> Result<Option<Header>, Why> {
        if self.carry.is_empty()
            && let Some(header) = self.parse(input)?
        {
            *input = &input[header.bytes..];
            return Ok(Some(header));
        }
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            self.carry.push(*byte);
            let carry = std::mem::take(&mut self.carry);
            let header = self.parse(&carry);
            self.carry = carry;
            if let Some(header) = header? {
                self.carry.clear();
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Reads a header that begins at `bytes[0]`; refuses it at the first byte
    /// that may not be.
    #[inline]
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<Header>, Why> {
        header(bytes, self.fragmented)
            .inspect_err(|why| self.at = At::Broken(*why))
    }

    /// A header was read. A control frame is a part only once it is whole.
    fn begin<'a>(&mut self, header: &Header) -> Option<Part<'a>> {
        let (code, payload) = (header.code, header.payload);
        if code >= 8 {
            self.at = At::Control { code, len: payload as u8 };
            return None;
        }
        let kind = match code {
            1 => Some(Kind::Text),
            2 => Some(Kind::Binary),
            _ => None,
        };
        self.fragmented = true;
        self.at = At::Message { left: payload, fin: header.fin };
        Some(Part::Frame(kind, payload))
    }

    fn control<'s, 'i: 's>(
        &'s mut self,
        code: u8,
        len: usize,
        input: &mut &'i [u8],
    ) -> Result<Option<Part<'s>>, Why> {
        let missing = len - self.carry.len();
        let n = input.len().min(missing);
        let (bytes, rest) = input.split_at(n);
        *input = rest;
        let payload = if n == len {
            self.at = At::Header;
            bytes
        } else {
            self.carry.extend_from_slice(bytes);
            if n < missing {
                return Ok(None);
            }
            self.at = At::Spent;
            &self.carry[..]
        };
        let part = match code {
            9 => Part::Ping(payload),
            10 => Part::Pong,
            _ => match close_code(payload) {
                Ok(code) => Part::Close(code),
                Err(why) => {
                    self.at = At::Broken(why);
                    return Err(why);
                }
            },
        };
        Ok(Some(part))
    }
}

fn clamped(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[inline]
fn header(bytes: &[u8], fragmented: bool) -> Result<Option<Header>, Why> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    let (code, fin) = (first & 15, first & 0x80 != 0);
    let control = code >= 8;
    if first & 0x70 != 0 {
        return Err(Why::Protocol("a frame has reserved bits set"));
    }
    match code {
        0 if !fragmented => {
            return Err(Why::Protocol("a frame continues no message"));
        }
        1 | 2 if fragmented => {
            return Err(Why::Protocol("a message begins within another"));
        }
        3..=7 | 11.. => return Err(Why::Protocol("an unknown kind of frame")),
        8.. if !fin => return Err(Why::Protocol("a control frame in pieces")),
        _ => {}
    }
    let Some(&second) = bytes.get(1) else { return Ok(None) };
    if second & 0x80 != 0 {
        return Err(Why::Protocol("a frame of the server is masked"));
    }
    if control && usize::from(second) > MAX_CONTROL {
        return Err(Why::Protocol("a control frame is too long"));
    }
    let (payload, bytes) = match second {
        126 => match bytes.get(2..4) {
            Some(len) => (big_endian(len), 4),
            None => return Ok(None),
        },
        127 => match bytes.get(2..MAX_HEADER) {
            Some(len) => (big_endian(len), MAX_HEADER),
            None => return Ok(None),
        },
        short => (short.into(), 2),
    };
    let least = match bytes {
        2 => 0,
        4 => 126,
        _ => 1 << 16,
    };
    if payload < least {
        return Err(Why::Protocol("a length takes more bytes than it needs"));
    }
    if payload >> 63 != 0 {
        return Err(Why::Protocol("a length has its highest bit set"));
    }
    Ok(Some(Header { code, fin, payload, bytes }))
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// The code of a close frame, if it is one that may be sent (RFC 6455
/// section 7.4) and its reason is a text.
fn close_code(payload: &[u8]) -> Result<Option<u16>, Why> {
    let (code, reason) = match payload {
        [] => return Ok(None),
        [_] => return Err(Why::Protocol("a close frame has half a code")),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Why::Protocol("a close code that may not be sent"));
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(Why::Protocol("the reason of a close is not UTF-8"));
    }
    Ok(Some(code))
}

/// Appends a whole client's frame that begins with `first`, masked.
pub fn write(first: u8, payload: &[u8], mask: u32, out: &mut Vec<u8>) {
    write_header(first, payload.len(), mask, out);
    let from = out.len();
    out.extend_from_slice(payload);
    apply(mask, &mut out[from..]);
}

/// Appends a client's header for a payload of `len` bytes.
pub fn write_header(first: u8, len: usize, mask: u32, out: &mut Vec<u8>) {
    match len {
        0..126 => out.extend_from_slice(&[first, 0x80 | len as u8]),
        126..0x1_0000 => {
            out.extend_from_slice(&[first, 0x80 | 126]);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        _ => {
            out.extend_from_slice(&[first, 0x80 | 127]);
            out.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask.to_le_bytes());
}

/// Masks `payload` in place. The mask's lowest byte is the first on the wire.
pub fn apply(mask: u32, payload: &mut [u8]) {
    let mask = mask.to_le_bytes();
    let mut pieces = payload.chunks_exact_mut(4);
    for piece in &mut pieces {
        for (byte, key) in piece.iter_mut().zip(mask) {
            *byte ^= key;
        }
    }
    for (byte, key) in pieces.into_remainder().iter_mut().zip(mask) {
        *byte ^= key;
    }
}
