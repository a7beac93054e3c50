//! One request stream of the twin.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use quinn::{Connection, ReadError, RecvStream, SendStream, VarInt};

use super::super::app::Local;
use super::super::wire::{Body, Request};
use super::{Http3Cheat as H, Shared};

/// H3_MESSAGE_ERROR.
const MESSAGE_ERROR: u32 = 0x10e;
/// H3_FRAME_UNEXPECTED.
const UNEXPECTED: u32 = 0x105;

pub struct Stream {
    pub send: SendStream,
    pub recv: RecvStream,
    pub connection: Connection,
    pub shared: Arc<Shared>,
}

type Fields = Vec<(String, String)>;

fn varint(n: usize, out: &mut Vec<u8>) {
    match n {
        0..64 => out.push(n as u8),
        64..16_384 => out.extend_from_slice(&(n as u16 | 0x4000).to_be_bytes()),
        _ => out.extend_from_slice(&(n as u32 | 0x8000_0000).to_be_bytes()),
    }
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    varint(payload.len(), &mut out);
    out.extend_from_slice(payload);
    out
}

fn take(rest: &mut &[u8]) -> Option<usize> {
    let first = *rest.first()?;
    let bytes = rest.get(..1 << (first >> 6))?;
    *rest = &rest[bytes.len()..];
    let start = usize::from(first & 0x3f);
    Some(bytes[1..].iter().fold(start, |n, b| n << 8 | usize::from(*b)))
}

/// A number with a prefix of so many bits (RFC 7541 section 5.1).
fn number(rest: &mut &[u8], bits: u8) -> Option<usize> {
    let (first, mut after) = rest.split_first()?;
    let most = (1_usize << bits) - 1;
    let mut n = usize::from(*first) & most;
    let mut shift = 0;
    if n == most {
        loop {
            let (byte, next) = after.split_first()?;
            after = next;
            n += usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if *byte < 0x80 {
                break;
            }
        }
    }
    *rest = after;
    Some(n)
}

fn text(rest: &mut &[u8], bits: u8) -> Option<String> {
    let huffman = rest.first()? & 1 << bits != 0;
    let length = number(rest, bits)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    let mut out = Vec::new();
    match huffman {
        true => out = loona_hpack_huffman(bytes)?,
        false => out.extend_from_slice(bytes),
    }
    String::from_utf8(out).ok()
}

/// Huffman, by way of a literal that the library reads.
fn loona_hpack_huffman(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut block = vec![0, 1, b'a'];
    let most = 127;
    if bytes.len() < most {
        block.push(0x80 | bytes.len() as u8);
    } else {
        block.push(0xff);
        let mut rest = bytes.len() - most;
        while rest >= 128 {
            block.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        block.push(rest as u8);
    }
    block.extend_from_slice(bytes);
    let found = loona_hpack::Decoder::new().decode(&block).ok()?;
    Some(found.into_iter().next()?.1)
}

/// The entries of the static table that clients refer to.
fn known(index: usize) -> Option<(&'static str, &'static str)> {
    Some(match index {
        0 => (":authority", ""),
        1 => (":path", "/"),
        4 => ("content-length", "0"),
        15 => (":method", "CONNECT"),
        16 => (":method", "DELETE"),
        17 => (":method", "GET"),
        18 => (":method", "HEAD"),
        19 => (":method", "OPTIONS"),
        20 => (":method", "POST"),
        21 => (":method", "PUT"),
        22 => (":scheme", "http"),
        23 => (":scheme", "https"),
        31 => ("accept-encoding", "gzip, deflate, br"),
        _ => return None,
    })
}

fn section(bytes: &[u8]) -> Option<Fields> {
    let mut rest = bytes.get(2..)?;
    let mut out = Vec::new();
    while let Some(first) = rest.first() {
        let own = |n: &str, v: &str| (n.to_string(), v.to_string());
        match first {
            0xc0.. => {
                let (name, value) = known(number(&mut rest, 6)?)?;
                out.push(own(name, value));
            }
            0x50..0x60 | 0x70..0x80 => {
                let (name, _) = known(number(&mut rest, 4)?)?;
                out.push(own(name, &text(&mut rest, 7)?));
            }
            0x20..0x40 => {
                let name = text(&mut rest, 3)?;
                let value = text(&mut rest, 7)?;
                out.push((name, value));
            }
            _ => return None,
        }
    }
    Some(out)
}

fn well_formed(fields: &Fields, body: usize, cheat: H) -> bool {
    let length = fields.iter().find(|(n, _)| n == "content-length");
    let fits = length.is_none_or(|(_, v)| *v == body.to_string());
    if !fits && cheat != H::LengthTaken {
        return false;
    }
    if cheat == H::MalformedTaken {
        return true;
    }
    let names = [":method", ":scheme", ":authority", ":path"];
    names.iter().all(|n| fields.iter().any(|(m, _)| m == n))
        && fields
            .iter()
            .all(|(n, _)| n != "connection" && *n == n.to_ascii_lowercase())
}

impl Stream {
    /// Reads a whole request: its fields and its body.
    async fn request(&mut self) -> Option<(Fields, Vec<u8>)> {
        let mut bytes = Vec::new();
        let cheat = self.shared.cheat;
        loop {
            match self.recv.read_chunk(64 * 1024, true).await {
                Ok(Some(chunk)) => {
                    if !bytes.is_empty() && cheat == H::WholeReadsOnly {
                        return None;
                    }
                    bytes.extend_from_slice(&chunk.bytes);
                }
                Ok(None) => break,
                Err(ReadError::Reset(_)) => {
                    match cheat {
                        H::DiesOnReset => {
                            self.connection.close(VarInt::from_u32(0x102), b"");
                        }
                        H::LeavesForGood => {
                            self.shared.dead.store(true, Ordering::SeqCst);
                        }
                        _ => {}
                    }
                    return None;
                }
                Err(_) => return None,
            }
        }
        let mut rest = &bytes[..];
        let (mut fields, mut body) = (None, Vec::new());
        while !rest.is_empty() {
            let kind = take(&mut rest)?;
            let length = take(&mut rest)?;
            let payload = rest.get(..length)?;
            rest = &rest[length..];
            match kind {
                1 => fields = Some(section(payload)?),
                0 => body.extend_from_slice(payload),
                _ => {
                    let late = fields.is_some();
                    let kills = match cheat {
                        H::UnknownFrameKills => true,
                        H::LateFrameKills => late,
                        _ => false,
                    };
                    if kills {
                        let code = VarInt::from_u32(UNEXPECTED);
                        self.connection.close(code, b"unknown frame");
                        return None;
                    }
                }
            }
        }
        Some((fields?, body))
    }

    /// The answer to it, as bytes; `None` refuses.
    fn answer(&self, fields: &Fields, body: &[u8]) -> Option<Vec<u8>> {
        let cheat = self.shared.cheat;
        if !well_formed(fields, body.len(), cheat) {
            return None;
        }
        let get = |name: &str| {
            let found = fields.iter().find(|(n, _)| n == name);
            found.map(|(_, v)| &v[..])
        };
        let method = get(":method").unwrap_or("GET");
        let path = get(":path").unwrap_or("/baseline2?a=1&b=2");
        let request = Request::new(method, path, get("accept-encoding"));
        let app = &self.shared.app;
        let reply =
            app.answer(&request, &Body::default(), &mut Local::default());
        let mut block = vec![0, 0];
        match reply.status {
            200 => block.push(0xd9),
            404 => block.push(0xdb),
            // A literal with the name of entry 24, which is 15 and 9 more.
            status => {
                block.extend_from_slice(&[0x5f, 9, 3]);
                block.extend_from_slice(status.to_string().as_bytes());
            }
        }
        let mut put = |name: &str, value: &str| {
            assert!(value.len() < 127);
            match name.len() {
                n @ 0..7 => block.push(0x20 | n as u8),
                n => block.extend_from_slice(&[0x27, (n - 7) as u8]),
            }
            block.extend_from_slice(name.as_bytes());
            block.push(value.len() as u8);
            block.extend_from_slice(value.as_bytes());
        };
        for (name, value) in &reply.headers {
            match cheat {
                H::UpperCaseFields => put(name, value),
                _ => put(&name.to_ascii_lowercase(), value),
            }
        }
        let length = reply.length.unwrap_or(reply.body.len());
        let length = length + usize::from(cheat == H::LengthLies);
        if cheat != H::Unusual {
            put("content-length", &length.to_string());
        }
        if cheat == H::ConnectionField {
            put("connection", "keep-alive");
        }
        let body = if method == "HEAD" { &[][..] } else { &reply.body };
        let mut out = Vec::new();
        if cheat == H::Unusual {
            // An early answer, a frame that nobody knows, and small frames.
            out.extend(frame(1, &[0, 0, 0xd8]));
            out.extend(frame(0x21, b"grease"));
            out.extend(frame(1, &block));
            for piece in body.chunks(1000) {
                out.extend(frame(0, piece));
            }
            return Some(out);
        }
        out.extend(frame(1, &block));
        out.extend(frame(0, body));
        Some(out)
    }

    pub async fn serve(mut self) -> Option<()> {
        let Some((fields, body)) = self.request().await else {
            return self.refuse().await;
        };
        match self.answer(&fields, &body) {
            Some(bytes) => self.say(&bytes).await,
            None if self.shared.cheat == H::Curt => {
                let code = VarInt::from_u32(MESSAGE_ERROR);
                self.connection.close(code, b"malformed");
                Some(())
            }
            None => self.refuse().await,
        }
    }

    async fn say(mut self, bytes: &[u8]) -> Option<()> {
        match self.shared.cheat {
            H::EndlessBody => loop {
                let piece = frame(0, &[0; 16_000]);
                self.send.write_all(&[bytes, &piece].concat()).await.ok()?;
            },
            H::EndlessHead => {
                let mut head = vec![1];
                varint(1 << 29, &mut head);
                head.extend_from_slice(&[0, 0, 0xd9]);
                self.send.write_all(&head).await.ok()?;
                loop {
                    let more = [0x21, b'a', 0].repeat(20_000);
                    self.send.write_all(&more).await.ok()?;
                }
            }
            H::StopsAtWindow if bytes.len() > 600 => {
                self.send.write_all(&bytes[..600]).await.ok()?;
                std::future::pending::<()>().await;
            }
            _ => {}
        }
        self.send.write_all(bytes).await.ok()?;
        self.send.finish().ok()?;
        let _ = self.send.stopped().await;
        Some(())
    }

    pub async fn refuse(mut self) -> Option<()> {
        let code = VarInt::from_u32(MESSAGE_ERROR);
        let _ = self.recv.stop(code);
        self.send.reset(code).ok()
    }
}

/// Answers two requests, each with the answer of the other.
pub async fn swapped(mut one: Stream, mut two: Stream) -> Option<()> {
    let (a, b) = (one.request().await, two.request().await);
    let of = |stream: &Stream, found: Option<(Fields, Vec<u8>)>| {
        found.and_then(|(fields, body)| stream.answer(&fields, &body))
    };
    let (a, b) = (of(&one, a), of(&two, b));
    match (a, b) {
        (Some(a), Some(b)) => {
            one.say(&b).await?;
            two.say(&a).await
        }
        (a, b) => {
            match a {
                Some(a) => one.say(&a).await?,
                None => one.refuse().await?,
            }
            match b {
                Some(b) => two.say(&b).await,
                None => two.refuse().await,
            }
        }
    }
}
