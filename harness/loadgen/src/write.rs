//! Requests as bytes: heads and small bodies in a buffer, large bodies as
//! slices of the upload block that are never copied.

use std::io::{IoSlice, Write as _};

use profiles::ask::{Ask, Body};
use profiles::profile::{Class, Framing, Profile};
use profiles::spec::Token;

use crate::digits::Digits;
use crate::tokens::Tokens;

/// Large bodies sent in chunks are cut into pieces of this size.
pub const CHUNK: usize = 64 * 1024;
/// The size line of a whole chunk.
const WHOLE: &[u8] = b"10000\r\n";
const CRLF: &[u8] = b"\r\n";
const LAST: &[u8] = b"0\r\n\r\n";
const CHUNKED: &[u8] = b"Transfer-Encoding: chunked\r\n\r\n";

/// What every request of a class says in the same words.
#[derive(Clone, Debug)]
struct Tail {
    text: Vec<u8>,
    bearer: bool,
}

/// Writes one thread's requests.
#[derive(Clone, Debug)]
pub struct Tails {
    /// By the class's index.
    tails: Vec<Tail>,
    tokens: Tokens,
    /// Only saves an allocation.
    scratch: String,
}

impl Tails {
    /// For all classes of `profile`.
    pub fn new(profile: &Profile, tokens: &[Token]) -> Tails {
        let host = profile.host();
        let tail = |class: &Class| {
            let accept = class.accept_encoding.as_ref();
            let accept = accept
                .map(|a| format!("Accept-Encoding: {a}\r\n"))
                .unwrap_or_default();
            let text = format!(" HTTP/1.1\r\nHost: {host}\r\n{accept}");
            Tail { text: text.into_bytes(), bearer: class.bearer }
        };
        Tails {
            tails: profile.classes.iter().map(tail).collect(),
            tokens: Tokens::new(tokens),
            scratch: String::new(),
        }
    }

    /// Appends one request of `class` to `out`. A large body is returned, to
    /// be sent after it.
    #[inline]
    pub fn write(
        &mut self,
        class: usize,
        ask: &Ask,
        out: &mut Vec<u8>,
    ) -> Option<Block> {
        self.scratch.clear();
        ask.write_target(&mut self.scratch);
        out.extend_from_slice(ask.method().as_bytes());
        out.push(b' ');
        out.extend_from_slice(self.scratch.as_bytes());
        if let Some(tail) = self.tails.get(class) {
            out.extend_from_slice(&tail.text);
            if tail.bearer
                && let Some((_, token)) = self.tokens.pick(ask)
            {
                out.extend_from_slice(b"Authorization: Bearer ");
                out.extend_from_slice(token.as_bytes());
                out.extend_from_slice(CRLF);
            }
        }
        match ask.body() {
            // gRPC does not go over HTTP/1.1.
            Body::None | Body::Message => out.extend_from_slice(CRLF),
            Body::Integer(value, framing) => integer(value, framing, out),
            Body::Json => self.json(ask, out),
            Body::Slice { offset, len, framing } => {
                match framing {
                    Framing::Length => length(len.into(), out),
                    Framing::Chunked => out.extend_from_slice(CHUNKED),
                }
                return Some(Block::new(
                    offset as usize,
                    len as usize,
                    framing,
                ));
            }
        }
        None
    }

    fn json(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        let mut text = std::mem::take(&mut self.scratch).into_bytes();
        text.clear();
        ask.write_json(&mut text);
        out.extend_from_slice(b"Content-Type: application/json\r\n");
        length(text.len() as i64, out);
        out.extend_from_slice(&text);
        // What was written is ASCII; the buffer is kept either way.
        self.scratch = String::from_utf8(text).unwrap_or_default();
    }
}

fn length(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(Digits::new(n).bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

fn integer(value: i64, framing: Framing, out: &mut Vec<u8>) {
    let digits = Digits::new(value);
    let text = digits.bytes();
    match framing {
        Framing::Length => {
            length(text.len() as i64, out);
            out.extend_from_slice(text);
        }
        Framing::Chunked => {
            out.extend_from_slice(CHUNKED);
            // Writing to a Vec cannot fail.
            let _ = write!(out, "{:x}\r\n", text.len());
            out.extend_from_slice(text);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(LAST);
        }
    }
}

/// A large body on its way: which slice of the block, and how much of its
/// wire form is sent.
#[derive(Clone, Debug)]
pub struct Block {
    offset: usize,
    len: usize,
    framing: Framing,
    /// Wire bytes sent.
    sent: usize,
    /// The size line of the last chunk, if that is not a whole one.
    last_line: Vec<u8>,
}

impl Block {
    /// Bytes `offset..offset + len` of the upload block.
    pub fn new(offset: usize, len: usize, framing: Framing) -> Block {
        let last_line = format!("{:x}\r\n", len % CHUNK).into_bytes();
        Block { offset, len, framing, sent: 0, last_line }
    }

    /// Whether all of it is sent.
    pub fn is_sent(&self) -> bool {
        self.sent >= self.wire_len()
    }

    /// Counts `n` more bytes as sent.
    pub fn advance(&mut self, n: usize) {
        self.sent += n;
    }

    fn wire_len(&self) -> usize {
        let (whole, rest) = (self.len / CHUNK, self.len % CHUNK);
        let framed = |line, data| line + data + CRLF.len();
        match self.framing {
            Framing::Length => self.len,
            Framing::Chunked => {
                let last = match rest {
                    0 => 0,
                    _ => framed(self.last_line.len(), rest),
                };
                whole * framed(WHOLE.len(), CHUNK) + last + LAST.len()
            }
        }
    }

    /// Appends what is next to `out` until it is full, and returns the new
    /// number of slices in it. `block` is the upload block.
    pub fn slices<'a>(
        &'a self,
        block: &'a [u8],
        out: &mut [IoSlice<'a>],
        mut used: usize,
    ) -> usize {
        let room = out.len() - used;
        let body = block.get(self.offset..self.offset + self.len);
        let body = body.unwrap_or(&[]);
        let mut put = |skip: &mut usize, piece: &'a [u8]| {
            let cut = piece.len().min(*skip);
            *skip -= cut;
            if cut < piece.len()
                && let Some(slot) = out.get_mut(used)
            {
                *slot = IoSlice::new(&piece[cut..]);
                used += 1;
            }
        };
        if self.framing == Framing::Length {
            put(&mut self.sent.clone(), body);
            return used;
        }
        // Chunks that are sent are passed over at once, and of the rest no
        // more is looked at than there is room for.
        let wire = WHOLE.len() + CHUNK + CRLF.len();
        let first = (self.sent / wire).min(self.len / CHUNK);
        let mut skip = self.sent - first * wire;
        let rest = &body[(first * CHUNK).min(body.len())..];
        for chunk in rest.chunks(CHUNK).take(room) {
            let line = match chunk.len() {
                CHUNK => WHOLE,
                _ => &self.last_line,
            };
            put(&mut skip, line);
            put(&mut skip, chunk);
            put(&mut skip, CRLF);
        }
        if rest.len() <= room * CHUNK {
            put(&mut skip, LAST);
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// The wire form, sent in steps of `step` bytes with `room` slices.
    fn sent(block: &[u8], body: Block, step: usize, room: usize) -> Vec<u8> {
        let (mut body, mut out) = (body, Vec::new());
        while !body.is_sent() {
            let mut slices = vec![IoSlice::new(&[]); room];
            let n = body.slices(block, &mut slices, 0);
            let mut left = step;
            for slice in &slices[..n] {
                let part = &slice[..slice.len().min(left)];
                out.extend_from_slice(part);
                left -= part.len();
            }
            assert!(left < step, "stuck at {} of {}", out.len(), body.len);
            body.advance(step - left);
        }
        out
    }

    #[test]
    fn a_large_body_is_the_same_however_it_is_sent() {
        let block: Vec<u8> = (0..400_000u32).map(|n| (n * 7) as u8).collect();
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 200_001] {
            let part = &block[5..5 + len];
            let mut chunked = Vec::new();
            for chunk in part.chunks(CHUNK) {
                chunked.extend(format!("{:x}\r\n", chunk.len()).bytes());
                chunked.extend_from_slice(chunk);
                chunked.extend_from_slice(CRLF);
            }
            chunked.extend_from_slice(LAST);
            for step in [1, 7, 4099, 65_537, 1 << 20] {
                for room in [1, 2, 5] {
                    let body = Block::new(5, len, Framing::Length);
                    assert!(sent(&block, body, step, room) == part);
                    let body = Block::new(5, len, Framing::Chunked);
                    assert!(sent(&block, body, step, room) == chunked);
                }
            }
        }
    }

    #[test]
    fn a_request_says_what_the_contract_says_and_nothing_else() {
        let text = b" HTTP/1.1\r\nHost: h:1\r\n".to_vec();
        let mut tails = Tails {
            tails: vec![Tail { text, bearer: false }],
            tokens: Tokens::default(),
            scratch: String::new(),
        };
        let mut ask = |ask: &Ask| {
            let mut out = Vec::new();
            assert!(tails.write(0, ask, &mut out).is_none());
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            ask(&Ask::CrudUpdate { id: 7, price: 200, quantity: 25 }),
            "PUT /crud/items/00007 HTTP/1.1\r\nHost: h:1\r\n\
             Content-Type: application/json\r\nContent-Length: 70\r\n\r\n\
             {\"name\":\"Updated Product\",\"category\":\"test\",\
             \"price\":200,\"quantity\":25}"
        );
        let mut write = |body| {
            let path: Arc<str> = "/p".into();
            ask(&Ask::Sum { path, a: 1, b: -2, body })
        };
        assert_eq!(
            write(None),
            "GET /p?a=1&b=-2 HTTP/1.1\r\nHost: h:1\r\n\r\n"
        );
        assert_eq!(
            write(Some((20, Framing::Length))),
            "POST /p?a=1&b=-2 HTTP/1.1\r\nHost: h:1\r\n\
             Content-Length: 2\r\n\r\n20"
        );
        assert_eq!(
            write(Some((-123_456_789_012, Framing::Chunked))),
            "POST /p?a=1&b=-2 HTTP/1.1\r\nHost: h:1\r\n\
             Transfer-Encoding: chunked\r\n\r\n\
             d\r\n-123456789012\r\n0\r\n\r\n"
        );
    }
}
