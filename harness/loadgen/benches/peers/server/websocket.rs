//! WebSocket of the server: an upgrade, then every message comes back.

use tungstenite::handshake::derive_accept_key;

use super::answers::Answers;
use super::talk::{Heard, Talk};

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;

/// One connection.
#[derive(Default)]
pub struct WebSocket {
    upgraded: bool,
    /// What came and is not a whole frame yet.
    rest: Vec<u8>,
}

impl Talk for WebSocket {
    fn hear(&mut self, bytes: &[u8], _: &Answers, out: &mut Vec<u8>) -> Heard {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut at = 0;
        if !self.upgraded {
            match upgrade(&all, out) {
                Ok(Some(length)) => {
                    self.upgraded = true;
                    at = length;
                }
                Ok(None) => {
                    self.rest = all;
                    return Heard::Answered(0);
                }
                Err(()) => return Heard::HangUp,
            }
        }
        let mut answered = 0;
        loop {
            match echo(&mut all[at..], out) {
                Ok(Some((length, opcode))) => {
                    at += length;
                    match opcode {
                        TEXT | BINARY => answered += 1,
                        CLOSE => return Heard::HangUp,
                        _ => {}
                    }
                }
                Ok(None) => break,
                Err(()) => return Heard::HangUp,
            }
        }
        // Keeps the buffer: a piece usually holds whole frames.
        all.drain(..at);
        self.rest = all;
        Heard::Answered(answered)
    }
}

/// Answers the upgrade; the length of its head, or `None` until it is whole.
fn upgrade(bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Request::new(&mut headers);
    let Ok(parsed) = head.parse(bytes) else { return Err(()) };
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let key = head
        .headers
        .iter()
        .find(|h| h.name.eq_ignore_ascii_case("sec-websocket-key"));
    let Some(key) = key else {
        out.extend_from_slice(
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        );
        return Err(());
    };
    let reply = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        derive_accept_key(key.value)
    );
    out.extend_from_slice(reply.as_bytes());
    Ok(Some(length))
}

/// Unmasks the first frame and echoes it; its length and opcode, or `None`
/// until it is whole. Fragments are echoed as they came.
fn echo(
    bytes: &mut [u8],
    out: &mut Vec<u8>,
) -> Result<Option<(usize, u8)>, ()> {
    let [first, second, ..] = *bytes else { return Ok(None) };
    if second & MASKED == 0 {
        return Err(());
    }
    let (size, at) = match second & 0x7f {
        126 => match bytes.get(2..4) {
            Some(&[a, b]) => (u16::from_be_bytes([a, b]).into(), 4),
            _ => return Ok(None),
        },
        127 => match bytes.get(2..10).map(<[u8; 8]>::try_from) {
            Some(Ok(size)) => (u64::from_be_bytes(size), 10),
            _ => return Ok(None),
        },
        size => (u64::from(size), 2),
    };
    let size = usize::try_from(size).map_err(|_| ())?;
    let Some(&mask) = bytes.get(at..at + 4).and_then(|m| m.first_chunk())
    else {
        return Ok(None);
    };
    let mask: [u8; 4] = mask;
    let end = at.checked_add(4 + size).ok_or(())?;
    let Some(payload) = bytes.get_mut(at + 4..end) else { return Ok(None) };
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    let opcode = first & 0x0f;
    let opcode_out = if opcode == PING { opcode + 1 } else { opcode };
    out.push(first & FIN | opcode_out);
    match size {
        0..126 => out.push(size as u8),
        126..0x1_0000 => {
            out.push(126);
            out.extend_from_slice(&(size as u16).to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(size as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
    Ok(Some((end, opcode)))
}
