//! The judge's own WebSocket client: it writes single frames as it likes, and
//! holds the server to RFC 6455.

pub(crate) mod frame;

use std::net::SocketAddr;
use std::time::Instant;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http::{Ending, Fault};
use crate::stream::{Heard, Stream};
use crate::tape::{Said, Track};
use frame::{Frame, op};

const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const READ_BYTES: usize = 64 * 1024;
const HEAD_LIMIT: usize = 64 * 1024;
const LONGEST: usize = 4 * 1024 * 1024;
/// Frames in a row that are no part of a message.
const IDLE_FRAMES: u32 = 4000;
const HEADERS: usize = 100;
/// Answers before the answer.
const INTERIM: u32 = 100;

/// What the server says, put together from its frames.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    /// A whole message: its opcode and payload.
    Message(u8, Vec<u8>),
    /// A pong.
    Pong(Vec<u8>),
    /// A close frame, with its code if it had one.
    Close(Option<u16>),
}

/// A connection that was upgraded.
pub(crate) struct Conn {
    stream: Stream,
    track: Track,
    inbox: Vec<u8>,
    ending: Option<Ending>,
    /// The message whose fragments are coming.
    open: Option<(u8, Vec<u8>)>,
    idle: u32,
    /// The server's close frame came: nothing may follow.
    closed: bool,
}

/// The answer to a handshake that was not what it must be.
#[derive(Clone, Debug)]
pub(crate) enum NotUpgraded {
    /// Another status than 101.
    Status(u16),
    /// 101, and something in it is wrong.
    Wrong(String),
    /// None at all.
    Fault(Fault),
}

/// The lines of a handshake as the load sends them.
pub(crate) fn handshake(host: &str, key: &str) -> String {
    format!(
        "GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {key}\r\n\r\n"
    )
}

/// A key made of 16 drawn bytes.
pub(crate) fn key(random: &[u8; 16]) -> String {
    STANDARD.encode(random)
}

fn accept(key: &str) -> String {
    let text = format!("{key}{GUID}");
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

impl Conn {
    /// Connects, sends `request`, which has this key, and reads the answer.
    pub(crate) fn open(
        address: SocketAddr,
        request: &str,
        key: &str,
        track: Track,
        by: Instant,
    ) -> Result<Conn, NotUpgraded> {
        let stream =
            Stream::open(address, None, by).map_err(NotUpgraded::Fault)?;
        let (inbox, ending, open) = Default::default();
        let (idle, closed) = (0, false);
        let mut conn =
            Conn { stream, track, inbox, ending, open, idle, closed };
        conn.send(request.as_bytes(), by);
        conn.upgraded(key, by)?;
        Ok(conn)
    }

    fn upgraded(&mut self, key: &str, by: Instant) -> Result<(), NotUpgraded> {
        let wrong = |why: &str| NotUpgraded::Wrong(why.into());
        let mut interim = 0;
        loop {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS];
            let mut parsed = httparse::Response::new(&mut headers);
            match parsed.parse(&self.inbox) {
                Ok(httparse::Status::Complete(used)) => {
                    let status = parsed.code.unwrap_or(0);
                    // Others than 101 are no answer yet (RFC 9110 section
                    // 15.2).
                    if (100..200).contains(&status) && status != 101 {
                        interim += 1;
                        if interim > INTERIM {
                            return Err(wrong("interim answers without end"));
                        }
                        self.inbox.drain(..used);
                        continue;
                    }
                    if status != 101 {
                        return Err(NotUpgraded::Status(status));
                    }
                    right(parsed.headers, key)?;
                    self.inbox.drain(..used);
                    return Ok(());
                }
                Ok(httparse::Status::Partial) => {}
                Err(why) => return Err(wrong(&format!("no head: {why}"))),
            }
            if self.inbox.len() > HEAD_LIMIT {
                return Err(wrong("a head of more than 65536 bytes"));
            }
            if let Some(how) = self.ending {
                let got = self.inbox.len();
                return Err(NotUpgraded::Fault(Fault::Ended { how, got }));
            }
            self.fill(by).map_err(NotUpgraded::Fault)?;
        }
    }

    /// Sends any bytes.
    pub(crate) fn send(&mut self, bytes: &[u8], by: Instant) {
        self.track.bytes(Said::Judge, bytes);
        self.stream.send(bytes, by);
    }

    fn fill(&mut self, by: Instant) -> Result<(), Fault> {
        let old = self.inbox.len();
        self.inbox.resize(old + READ_BYTES, 0);
        let heard = self.stream.read(&mut self.inbox[old..], by);
        let n = if let Heard::Bytes(n) = heard { n } else { 0 };
        self.inbox.truncate(old + n);
        match heard {
            Heard::Bytes(_) => {
                self.track.bytes(Said::Entry, &self.inbox[old..]);
                Ok(())
            }
            Heard::Over(how) => {
                let event = format!("the connection {how} by the entry");
                self.track.text(Said::Event, &event);
                self.ending = Some(how);
                Ok(())
            }
            Heard::Nothing => Err(Fault::Late { got: old }),
        }
    }

    /// The next thing the server says. Its pings are answered on the way.
    pub(crate) fn next(&mut self, by: Instant) -> Result<Event, Fault> {
        loop {
            match Frame::parse(&self.inbox).map_err(Fault::Broken)? {
                Some((frame, used)) => {
                    self.inbox.drain(..used);
                    if self.closed {
                        let why = "a frame after the close frame".to_string();
                        return Err(Fault::Broken(why));
                    }
                    if let Some(event) = self.take(frame, by)? {
                        return Ok(event);
                    }
                }
                None => {
                    let got = self.inbox.len();
                    if let Some(how) = self.ending {
                        return Err(Fault::Ended { how, got });
                    }
                    self.fill(by)?;
                }
            }
        }
    }

    fn take(
        &mut self,
        frame: Frame,
        by: Instant,
    ) -> Result<Option<Event>, Fault> {
        let broken = |why: &str| Err(Fault::Broken(why.into()));
        self.idle += 1;
        if self.idle > IDLE_FRAMES {
            return broken("thousands of frames and no message in them");
        }
        let Frame { last, opcode, payload } = frame;
        let (opcode, whole) = match (opcode, self.open.take()) {
            (op::PING, open) => {
                self.open = open;
                // Any mask will do here.
                let pong = frame::masked(0x80 | op::PONG, &payload, [0; 4]);
                self.send(&pong, by);
                return Ok(None);
            }
            (op::PONG, open) => {
                self.open = open;
                return Ok(Some(Event::Pong(payload)));
            }
            (op::CLOSE, _) => {
                self.closed = true;
                return close(&payload).map(Some).map_err(Fault::Broken);
            }
            (op::CONTINUATION, None) => {
                return broken("a continuation of nothing (section 5.4)");
            }
            (op::CONTINUATION, Some((opcode, mut so_far))) => {
                so_far.extend_from_slice(&payload);
                (opcode, so_far)
            }
            (_, Some(_)) => {
                return broken("a new message within another (section 5.4)");
            }
            (opcode, None) => (opcode, payload),
        };
        if whole.len() > LONGEST {
            return broken("a message of more than 4 MiB");
        }
        if !last {
            self.open = Some((opcode, whole));
            return Ok(None);
        }
        if opcode == op::TEXT && std::str::from_utf8(&whole).is_err() {
            return broken("a text that is not UTF-8 (section 8.1)");
        }
        self.idle = 0;
        Ok(Some(Event::Message(opcode, whole)))
    }

    /// Waits for the server to end the connection.
    pub(crate) fn wait_end(&mut self, by: Instant) -> Option<Ending> {
        while self.ending.is_none() && self.inbox.len() < READ_BYTES {
            if self.fill(by).is_err() {
                break;
            }
        }
        self.ending
    }

    /// Both ends: the server's, then ours.
    pub(crate) fn ends(&self) -> Option<crate::http::Ends> {
        self.stream.ends()
    }

    /// Ends the connection with RST.
    pub(crate) fn reset(self) {
        self.stream.reset();
    }
}

/// Whether the head of a 101 is right (RFC 6455 section 4.1).
fn right(
    headers: &[httparse::Header<'_>],
    key: &str,
) -> Result<(), NotUpgraded> {
    let wrong = |why: String| Err(NotUpgraded::Wrong(why));
    let of = |name: &str| {
        let all = headers.iter().filter(|h| h.name.eq_ignore_ascii_case(name));
        let texts = all.map(|h| String::from_utf8_lossy(h.value).into_owned());
        texts.collect::<Vec<_>>().join(", ")
    };
    let shown = |text: &str| profiles::oracle::clip(text.as_bytes());
    let (upgrade, connection) = (of("upgrade"), of("connection"));
    if !upgrade.trim().eq_ignore_ascii_case("websocket") {
        return wrong(format!("Upgrade: `{}`", shown(&upgrade)));
    }
    let mut words = connection.split(',').map(str::trim);
    if !words.any(|word| word.eq_ignore_ascii_case("upgrade")) {
        return wrong(format!("Connection: `{}`", shown(&connection)));
    }
    let (found, expected) = (of("sec-websocket-accept"), accept(key));
    if found.trim() != expected {
        let found = shown(&found);
        return wrong(format!(
            "Sec-WebSocket-Accept: expected `{expected}`, found `{found}`"
        ));
    }
    for name in ["sec-websocket-extensions", "sec-websocket-protocol"] {
        let found = of(name);
        if !found.trim().is_empty() {
            return wrong(format!("{name}: `{}`, unasked", shown(&found)));
        }
    }
    Ok(())
}

/// What a close frame says (section 5.5.1 and 7.4).
fn close(payload: &[u8]) -> Result<Event, String> {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return match payload {
            [] => Ok(Event::Close(None)),
            _ => Err("a close frame of one byte".into()),
        };
    };
    let code = u16::from_be_bytes(*code);
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(format!("close code {code}, which nobody may send"));
    }
    if std::str::from_utf8(reason).is_err() {
        return Err("a close reason that is not UTF-8".into());
    }
    Ok(Event::Close(Some(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_rfc_is_accepted_as_the_rfc_says() {
        let found = accept("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(found, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_close_frame_says_a_code_that_may_be_said() {
        assert_eq!(close(b""), Ok(Event::Close(None)));
        assert_eq!(close(b"\x03\xe8bye"), Ok(Event::Close(Some(1000))));
        for odd in [&b"\x03"[..], b"\x03\xed", b"\x00\x01", b"\x03\xe8\xff"] {
            assert!(close(odd).is_err(), "{odd:?}");
        }
    }
}
