//! Requests as HEADERS frames.
//!
//! All that requests of one connection have in common goes into the table of
//! the server's decoder once and is one byte from then on; the path is
//! written out each time. Nothing is ever dropped from that table, so that an
//! index is easily worked out: what does not fit is written out.

use profiles::ask::{Ask, Body};
use profiles::profile::{Framing, Profile, Protocol};
use profiles::spec::Token;

use super::{MAX_FRAME, flag, kind, put_head};
use crate::digits::Digits;
use crate::tokens::Tokens;

/// The table size that both sides begin with, and the largest we use.
const TABLE: usize = 4096;
/// The index of the newest entry.
const NEWEST: usize = 62;
/// More entries would need a second byte.
const MOST: usize = 64;

/// A field that is the same in many requests.
#[derive(Clone, Debug)]
struct Pair {
    /// Written out, its first byte without the bits that say how.
    text: Vec<u8>,
    /// The index of its name among the static ones, 0 for none.
    name: u8,
    /// What it takes of a table.
    size: usize,
}

impl Pair {
    fn new(index: u8, name: &str, value: &str) -> Pair {
        let mut text = Vec::new();
        if index == 0 {
            number(name.len(), 7, 0, &mut text);
            text.extend_from_slice(name.as_bytes());
        }
        number(value.len(), 7, 0, &mut text);
        text.extend_from_slice(value.as_bytes());
        let size = name.len() + value.len() + 32;
        Pair { text, name: index, size }
    }
}

/// What one connection has told the server's decoder.
#[derive(Debug)]
pub struct Encoder {
    /// By pair: the how manieth entry it was, 0 while it is none.
    entry: Vec<u8>,
    entries: u8,
    size: usize,
    max: usize,
    /// Whether the new size of the table is to be said.
    resized: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        let (entry, entries, size, resized) = Default::default();
        Encoder { entry, entries, size, max: TABLE, resized }
    }
}

impl Encoder {
    /// For a new connection; memory is kept.
    pub fn reset(&mut self) {
        self.empty(TABLE);
        self.resized = false;
    }

    /// The server's decoder remembers so much.
    pub fn limit(&mut self, max: usize) {
        let max = max.min(TABLE);
        if max != self.max {
            self.empty(max);
            self.resized = true;
        }
    }

    fn empty(&mut self, max: usize) {
        self.entry.fill(0);
        (self.entries, self.size, self.max) = (0, 0, max);
    }

    #[cold]
    fn resize(&mut self, out: &mut Vec<u8>) {
        // By way of nothing: our picture of the table is empty, too.
        out.push(0x20);
        if self.max > 0 {
            number(self.max, 5, 0x20, out);
        }
        self.resized = false;
    }

    #[inline]
    fn put(&mut self, index: usize, pairs: &[Pair], out: &mut Vec<u8>) {
        match self.entry.get(index) {
            Some(entry) if *entry > 0 => {
                let age = self.entries - *entry;
                out.push(0x80 | (NEWEST as u8 + age));
            }
            _ => self.write_out(index, pairs, out),
        }
    }

    #[inline(never)]
    fn write_out(&mut self, index: usize, pairs: &[Pair], out: &mut Vec<u8>) {
        self.entry.resize(pairs.len(), 0);
        let Some(pair) = pairs.get(index) else { return };
        let fits = self.size + pair.size <= self.max
            && usize::from(self.entries) < MOST;
        let name = usize::from(pair.name);
        if fits {
            self.size += pair.size;
            self.entries += 1;
            self.entry[index] = self.entries;
            number(name, 6, 0x40, out);
        } else {
            number(name, 4, 0, out);
        }
        out.extend_from_slice(&pair.text);
    }
}

/// The body of a request whose head was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Load {
    /// None; the head ended the stream.
    None,
    /// [`Requests::small`].
    Small,
    /// A part of the upload block.
    Slice {
        /// Where it begins.
        offset: usize,
        /// Its length, not 0.
        len: usize,
    },
}

// The pairs every kit has.
const AUTHORITY: usize = 0;
const PUT: usize = 1;
const JSON: usize = 2;
const GRPC: usize = 3;
const TRAILERS: usize = 4;

/// Writes one thread's requests.
#[derive(Clone, Debug)]
pub struct Requests {
    pairs: Vec<Pair>,
    classes: Vec<Class>,
    /// The pair of the first token.
    bearers: usize,
    tokens: Tokens,
    scheme: u8,
    /// Only saves an allocation.
    target: String,
    small: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    /// The pair of its `accept-encoding`.
    accept: Option<usize>,
    bearer: bool,
}

impl Requests {
    /// For all classes of `profile`.
    pub fn new(profile: &Profile, tokens: &[Token]) -> Requests {
        let mut pairs = vec![
            Pair::new(1, ":authority", &profile.host()),
            Pair::new(2, ":method", "PUT"),
            Pair::new(31, "content-type", "application/json"),
            Pair::new(31, "content-type", "application/grpc"),
            Pair::new(0, "te", "trailers"),
        ];
        let mut classes: Vec<Class> = Vec::new();
        for class in &profile.classes {
            let accept = class.accept_encoding.as_deref();
            let same =
                profile.classes.iter().zip(&classes).find(|(other, _)| {
                    other.accept_encoding.as_deref() == accept
                });
            let accept = match (accept, same) {
                (_, Some((_, known))) => known.accept,
                (None, None) => None,
                (Some(accept), None) => {
                    pairs.push(Pair::new(16, "accept-encoding", accept));
                    Some(pairs.len() - 1)
                }
            };
            classes.push(Class { accept, bearer: class.bearer });
        }
        let bearers = pairs.len();
        for token in tokens {
            let value = format!("Bearer {}", token.token);
            pairs.push(Pair::new(23, "authorization", &value));
        }
        let scheme = match profile.protocol {
            Protocol::Http2Tls | Protocol::GrpcTls => 0x87,
            _ => 0x86,
        };
        let tokens = Tokens::new(tokens);
        let (target, small) = Default::default();
        Requests { pairs, classes, bearers, tokens, scheme, target, small }
    }

    /// Appends the head of one request of `class` to `out`, its block
    /// written for `encoder`.
    #[inline]
    pub fn write(
        &mut self,
        class: usize,
        ask: &Ask,
        stream: u32,
        encoder: &mut Encoder,
        out: &mut Vec<u8>,
    ) -> Load {
        let start = out.len();
        put_head(out, 0, kind::HEADERS, flag::END_HEADERS, stream);
        if encoder.resized {
            encoder.resize(out);
        }
        match ask.method() {
            "GET" => out.push(0x82),
            "POST" => out.push(0x83),
            _ => encoder.put(PUT, &self.pairs, out),
        }
        out.push(self.scheme);
        encoder.put(AUTHORITY, &self.pairs, out);
        self.path(ask, out);
        if let Some(class) = self.classes.get(class) {
            if let Some(accept) = class.accept {
                encoder.put(accept, &self.pairs, out);
            }
            if class.bearer
                && let Some((index, _)) = self.tokens.pick(ask)
            {
                encoder.put(self.bearers + index, &self.pairs, out);
            }
        }
        let load = match ask.body() {
            Body::None => Load::None,
            body => self.body(ask, body, encoder, out),
        };
        let len = out.len() - start - 9;
        let end = match load {
            Load::None => flag::END_STREAM,
            _ => 0,
        };
        if len > MAX_FRAME {
            split(start, end, stream, out);
        } else {
            out[start + 1..start + 3]
                .copy_from_slice(&(len as u16).to_be_bytes());
            out[start + 4] |= end;
        }
        load
    }

    /// The last small body.
    #[inline]
    pub fn small(&self) -> &[u8] {
        &self.small
    }

    /// A literal that is not inserted, its name static entry 4.
    #[inline]
    fn path(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0x04, 0]);
        let start = out.len();
        match ask {
            Ask::Sum { path, a, b, .. } => {
                out.extend_from_slice(path.as_bytes());
                out.extend_from_slice(b"?a=");
                out.extend_from_slice(Digits::new(*a).bytes());
                out.extend_from_slice(b"&b=");
                out.extend_from_slice(Digits::new(*b).bytes());
            }
            Ask::Json { path, count, multiplier, .. } => {
                out.extend_from_slice(path.as_bytes());
                out.extend_from_slice(Digits::new((*count).into()).bytes());
                if let Some(m) = multiplier {
                    out.extend_from_slice(b"?m=");
                    out.extend_from_slice(Digits::new(*m).bytes());
                }
            }
            _ => {
                self.target.clear();
                ask.write_target(&mut self.target);
                out.extend_from_slice(self.target.as_bytes());
            }
        }
        let len = out.len() - start;
        if len < 127 {
            out[start - 1] = len as u8;
        } else {
            let path = out.split_off(start);
            out.pop();
            number(len, 7, 0, out);
            out.extend_from_slice(&path);
        }
    }

    /// What the head says of the body.
    fn body(
        &mut self,
        ask: &Ask,
        body: Body,
        encoder: &mut Encoder,
        out: &mut Vec<u8>,
    ) -> Load {
        self.small.clear();
        let framing = match body {
            Body::None => return Load::None,
            Body::Message => {
                encoder.put(GRPC, &self.pairs, out);
                encoder.put(TRAILERS, &self.pairs, out);
                ask.write_message(&mut self.small);
                return Load::Small;
            }
            Body::Json => {
                encoder.put(JSON, &self.pairs, out);
                ask.write_json(&mut self.small);
                Framing::Length
            }
            Body::Integer(value, framing) => {
                self.small.extend_from_slice(Digits::new(value).bytes());
                framing
            }
            Body::Slice { offset, len, framing } => {
                if framing == Framing::Length {
                    length(len as usize, out);
                }
                return match len {
                    0 => Load::None,
                    _ => Load::Slice {
                        offset: offset as usize,
                        len: len as usize,
                    },
                };
            }
        };
        // What is sent in chunks over HTTP/1.1 says no length here.
        if framing == Framing::Length {
            length(self.small.len(), out);
        }
        Load::Small
    }
}

/// `content-length`, static entry 28, not inserted.
fn length(len: usize, out: &mut Vec<u8>) {
    let digits = Digits::new(len as i64);
    let digits = digits.bytes();
    out.extend_from_slice(&[0x0f, 28 - 15, digits.len() as u8]);
    out.extend_from_slice(digits);
}

/// A number whose first `bits` are in the first byte, beside `flags`.
fn number(value: usize, bits: u32, flags: u8, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if value < most {
        return out.push(flags | value as u8);
    }
    out.push(flags | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Cuts the block behind the frame head at `start` into several frames.
#[cold]
fn split(start: usize, end: u8, stream: u32, out: &mut Vec<u8>) {
    let block = out.split_off(start + 9);
    out.truncate(start);
    let frames = block.len().div_ceil(MAX_FRAME);
    for (index, part) in block.chunks(MAX_FRAME).enumerate() {
        let (kind, first) = match index {
            0 => (kind::HEADERS, end),
            _ => (kind::CONTINUATION, 0),
        };
        let last = match index + 1 == frames {
            true => flag::END_HEADERS,
            false => 0,
        };
        put_head(out, part.len(), kind, first | last, stream);
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
