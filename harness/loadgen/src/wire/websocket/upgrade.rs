//! The opening handshake (RFC 6455 section 4): one request, one 101.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use memchr::{memchr, memchr_iter};

use super::super::head::{is_control, is_token, may_be_status};
use super::super::{MAX_HEAD, Why};

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const LETTERS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A handshake under way.
#[derive(Debug)]
pub struct Upgrade {
    key: [u8; 24],
    /// The part of the head that came so far.
    carry: Vec<u8>,
    /// Where in it the next unread line begins.
    at: usize,
    said: Said,
}

/// What the head has said so far.
#[derive(Debug, Default)]
struct Said {
    status: Option<u16>,
    upgrade: bool,
    connection: bool,
    accept: Option<bool>,
}

impl Upgrade {
    /// A handshake whose key is made of these random bytes.
    pub fn new(random: [u8; 16]) -> Upgrade {
        Upgrade {
            key: base64(&random),
            carry: Vec::new(),
            at: 0,
            said: Said::default(),
        }
    }

    /// Appends the request for `target` at `host`.
    pub fn write(&self, target: &str, host: &str, out: &mut Vec<u8>) {
        for part in [
            b"GET ",
            target.as_bytes(),
            b" HTTP/1.1\r\nHost: ",
            host.as_bytes(),
            b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
            &self.key,
            b"\r\n\r\n",
        ] {
            out.extend_from_slice(part);
        }
    }

    /// Reads on in the answer. Once that is complete and right, returns how
    /// many bytes of `input` were its last; frames follow.
    pub fn feed(&mut self, input: &[u8]) -> Result<Option<usize>, Why> {
        let before = self.carry.len();
        let n = input.len().min(MAX_HEAD + 1 - before);
        self.carry.extend_from_slice(&input[..n]);
        let carry = std::mem::take(&mut self.carry);
        for end in memchr_iter(b'\n', &carry[before..]) {
            let end = before + end;
            let line = &carry[self.at..end];
            self.at = end + 1;
            if self.at > MAX_HEAD {
                return Err(Why::HeadTooLong);
            }
            if self.line(line.strip_suffix(b"\r").unwrap_or(line))? {
                return Ok(Some(end + 1 - before));
            }
        }
        self.carry = carry;
        let rest = &self.carry[self.at..];
        if self.said.status.is_none() && !may_be_status(rest) {
            return Err(Why::StatusLine);
        }
        if self.carry.len() > MAX_HEAD {
            return Err(Why::HeadTooLong);
        }
        Ok(None)
    }

    /// One whole line; whether it was the last of a head that is right.
    fn line(&mut self, line: &[u8]) -> Result<bool, Why> {
        let Some(status) = self.said.status else {
            self.said.status = Some(status_line(line)?);
            return Ok(false);
        };
        if !line.is_empty() {
            return self.field(line).map(|()| false);
        }
        // Others than 101 are no answer yet (RFC 9110 section 15.2).
        if (100..200).contains(&status) && status != 101 {
            self.said = Said::default();
            return Ok(false);
        }
        self.verdict(status).map(|()| true)
    }

    fn field(&mut self, line: &[u8]) -> Result<(), Why> {
        let colon = memchr(b':', line).ok_or(Why::Field)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let named = !name.is_empty() && name.iter().all(|b| is_token(*b));
        if !named || value.iter().any(|b| is_control(*b)) {
            return Err(Why::Field);
        }
        let value = value.trim_ascii();
        let lists = |what: &[u8]| {
            let mut parts = value.split(|b| *b == b',');
            parts.any(|part| part.trim_ascii().eq_ignore_ascii_case(what))
        };
        let is = |what: &[u8]| name.eq_ignore_ascii_case(what);
        let switches = self.said.status == Some(101);
        if is(b"upgrade") {
            self.said.upgrade |= value.eq_ignore_ascii_case(b"websocket");
        } else if is(b"connection") {
            self.said.connection |= lists(b"upgrade");
        } else if is(b"sec-websocket-accept") {
            let right = value == accept(&self.key);
            if self.said.accept.replace(right).is_some() {
                return Err(Why::Twice);
            }
        } else if switches && is(b"sec-websocket-extensions") {
            return Err(Why::Protocol("an extension nobody offered"));
        } else if switches && is(b"sec-websocket-protocol") {
            return Err(Why::Protocol("a subprotocol nobody offered"));
        }
        Ok(())
    }

    fn verdict(&self, status: u16) -> Result<(), Why> {
        let said = &self.said;
        let why = match said.accept {
            _ if status != 101 => return Err(Why::NotSwitched(status)),
            _ if !said.upgrade => "no Upgrade: websocket in the 101",
            _ if !said.connection => "no Connection: Upgrade in the 101",
            None => "no Sec-WebSocket-Accept in the 101",
            Some(false) => "Sec-WebSocket-Accept does not fit the key",
            Some(true) => return Ok(()),
        };
        Err(Why::Protocol(why))
    }
}

/// What a server must make of a client's key.
pub fn accept(key: &[u8]) -> [u8; 28] {
    let text = [key, GUID].concat();
    base64(digest(&SHA1_FOR_LEGACY_USE_ONLY, &text).as_ref())
}

fn status_line(line: &[u8]) -> Result<u16, Why> {
    let reason = line.get(12..).unwrap_or(b"");
    let ended = reason.first().is_none_or(|b| *b == b' ');
    let whole = line.len() >= 12 && may_be_status(line) && ended;
    if !whole || reason.iter().any(|b| is_control(*b)) {
        return Err(Why::StatusLine);
    }
    let status = line[9..12].iter().fold(0, |n, b| n * 10 + u16::from(b & 15));
    if status < 100 { Err(Why::StatusLine) } else { Ok(status) }
}

/// RFC 4648 section 4, for the two lengths there are here.
fn base64<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [b'='; N];
    for (three, four) in bytes.chunks(3).zip(out.chunks_mut(4)) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (i, letter) in four.iter_mut().enumerate().take(three.len() + 1) {
            *letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_rfc_has_the_accept_of_the_rfc() {
        let key = *b"dGhlIHNhbXBsZSBub25jZQ==";
        let upgrade = Upgrade { key, ..Upgrade::new([0; 16]) };
        assert_eq!(&accept(&upgrade.key), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(Upgrade::new(*b"the sample nonce").key, key);
    }

    #[test]
    fn the_request_says_what_the_rfc_asks_for_and_nothing_else() {
        let mut out = Vec::new();
        let upgrade = Upgrade::new(*b"the sample nonce");
        upgrade.write("/ws", "127.0.0.1:8080", &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\
             Upgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
    }
}
