//! WebSocket (RFC 6455), the server's side of an echo: bytes in, bytes out.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha1::{Digest, Sha1};

/// The largest message taken.
pub const MESSAGE_LIMIT_BYTES: usize = 1024 * 1024;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

const FIN: u8 = 0x80;

/// Codes that a close frame may carry, and those this side sends.
const PROTOCOL_ERROR: u16 = 1002;
const NOT_UTF8: u16 = 1007;
const TOO_LARGE: u16 = 1009;

/// The value that proves to the client that its key was read. `None` where the
/// key is not sixteen bytes in base64.
pub fn accept(key: &[u8]) -> Option<String> {
    if STANDARD.decode(key).ok()?.len() != 16 {
        return None;
    }
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    Some(STANDARD.encode(hash.finalize()))
}

/// One connection after its upgrade.
#[derive(Debug, Default)]
pub struct Echo {
    /// The opcode of the message that has begun and not ended.
    open: Option<u8>,
    /// What has come of it.
    message: Vec<u8>,
    closed: bool,
}

impl Echo {
    /// Answers every whole frame of the input and returns how much of it that
    /// was; stops early where `full` says that enough waits to be sent.
    pub fn feed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        full: impl Fn(&[u8]) -> bool,
    ) -> usize {
        let mut rest = input;
        while !self.closed && !full(out) {
            match Frame::read(rest) {
                Ok(None) => break,
                Ok(Some((frame, after))) => {
                    rest = after;
                    if let Err(code) = self.take(&frame, out) {
                        self.end(Some(code), out);
                    }
                }
                Err(code) => self.end(Some(code), out),
            }
        }
        input.len() - rest.len()
    }

    /// Whether a close frame has been sent.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn take(&mut self, frame: &Frame, out: &mut Vec<u8>) -> Result<(), u16> {
        match (frame.opcode, self.open) {
            (PING, _) => {
                frame.send(PONG, out);
            }
            (PONG, _) => {}
            (CLOSE, _) => {
                let code = frame.close_code()?;
                self.end(code, out);
            }
            (TEXT | BINARY, None) if frame.fin => {
                let from = frame.send(frame.opcode, out);
                if frame.opcode == TEXT && !is_text(&out[from..]) {
                    let header = header_bytes(frame.payload.len());
                    out.truncate(from - header);
                    return Err(NOT_UTF8);
                }
            }
            (TEXT | BINARY, None) => {
                self.open = Some(frame.opcode);
                frame.append(&mut self.message);
            }
            (CONTINUATION, Some(opcode)) => {
                let length = self.message.len() + frame.payload.len();
                if length > MESSAGE_LIMIT_BYTES {
                    return Err(TOO_LARGE);
                }
                frame.append(&mut self.message);
                if frame.fin {
                    if opcode == TEXT && !is_text(&self.message) {
                        return Err(NOT_UTF8);
                    }
                    header(opcode, self.message.len(), out);
                    out.append(&mut self.message);
                    self.message = Vec::new();
                    self.open = None;
                }
            }
            _ => return Err(PROTOCOL_ERROR),
        }
        Ok(())
    }

    fn end(&mut self, code: Option<u16>, out: &mut Vec<u8>) {
        let code = code.map(u16::to_be_bytes);
        let payload = code.as_ref().map_or(&[][..], |code| code);
        header(CLOSE, payload.len(), out);
        out.extend_from_slice(payload);
        self.closed = true;
        self.message = Vec::new();
    }
}

struct Frame<'a> {
    fin: bool,
    opcode: u8,
    mask: [u8; 4],
    /// As it came: still masked.
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The next frame and what follows it, `None` while it is not whole, or
    /// the code to close with. What is wrong is seen as soon as it has come.
    fn read(input: &'a [u8]) -> Result<Option<(Self, &'a [u8])>, u16> {
        let [first, rest @ ..] = input else { return Ok(None) };
        let (fin, opcode) = (first & FIN != 0, first & 0x0f);
        let control = opcode >= CLOSE;
        let known = matches!(opcode, 0..=2 | CLOSE..=PONG);
        if first & 0x70 != 0 || !known || (control && !fin) {
            return Err(PROTOCOL_ERROR);
        }
        let [second, rest @ ..] = rest else { return Ok(None) };
        let short = second & 0x7f;
        if second & 0x80 == 0 || (control && short > 125) {
            return Err(PROTOCOL_ERROR);
        }
        let (length, rest) = match short {
            126 => {
                let Some((length, rest)) = rest.split_first_chunk() else {
                    return Ok(None);
                };
                (u64::from(u16::from_be_bytes(*length)), rest)
            }
            127 => {
                let Some((length, rest)) = rest.split_first_chunk() else {
                    return Ok(None);
                };
                (u64::from_be_bytes(*length), rest)
            }
            short => (u64::from(short), rest),
        };
        let shortest = match short {
            126 => 126,
            127 => 0x1_0000,
            _ => 0,
        };
        if length < shortest || length > i64::MAX as u64 {
            return Err(PROTOCOL_ERROR);
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MESSAGE_LIMIT_BYTES {
            return Err(TOO_LARGE);
        }
        let Some((mask, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let Some((payload, rest)) = rest.split_at_checked(length) else {
            return Ok(None);
        };
        Ok(Some((Self { fin, opcode, mask: *mask, payload }, rest)))
    }

    /// Appends the payload, unmasked.
    fn append(&self, out: &mut Vec<u8>) {
        let from = out.len();
        out.extend_from_slice(self.payload);
        let half = u64::from(u32::from_ne_bytes(self.mask));
        let mask = half << 32 | half;
        let (words, rest) = out[from..].as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_ne_bytes(*word) ^ mask).to_ne_bytes();
        }
        for (byte, mask) in rest.iter_mut().zip(self.mask.iter().cycle()) {
            *byte ^= mask;
        }
    }

    /// Sends the payload back and returns where in `out` it begins.
    fn send(&self, opcode: u8, out: &mut Vec<u8>) -> usize {
        header(opcode, self.payload.len(), out);
        let from = out.len();
        self.append(out);
        from
    }

    /// The code of a close frame, which may have none.
    fn close_code(&self) -> Result<Option<u16>, u16> {
        let mut payload = Vec::new();
        self.append(&mut payload);
        let Some((code, reason)) = payload.split_first_chunk() else {
            let empty = payload.is_empty();
            return if empty { Ok(None) } else { Err(PROTOCOL_ERROR) };
        };
        let code = u16::from_be_bytes(*code);
        match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 if is_text(reason) => {
                Ok(Some(code))
            }
            1000..=1003 | 1007..=1014 | 3000..=4999 => Err(NOT_UTF8),
            _ => Err(PROTOCOL_ERROR),
        }
    }
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

fn header_bytes(length: usize) -> usize {
    match length {
        0..=125 => 2,
        126..=0xffff => 4,
        _ => 10,
    }
}

fn header(opcode: u8, length: usize, out: &mut Vec<u8>) {
    out.push(FIN | opcode);
    match length {
        0..=125 => out.push(length as u8),
        126..=0xffff => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

#[cfg(test)]
#[path = "ws_test.rs"]
mod tests;
