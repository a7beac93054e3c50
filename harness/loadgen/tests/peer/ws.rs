//! WebSocket words for the tests: frames of a server, and what a client said.

use std::sync::atomic::Ordering;

use tungstenite::handshake::derive_accept_key;

use super::{Conn, Peer};

pub const ECHO: &str = include_str!("../../../../profiles/defs/echo-ws.toml");
pub const ECHOES: &str =
    include_str!("../../../../profiles/defs/echo-ws-pipeline.toml");

/// The right answer to the upgrade `asked`.
pub fn switching(asked: &str) -> String {
    let key = asked.split("Sec-WebSocket-Key: ").nth(1).unwrap();
    let accept = derive_accept_key(key.trim().as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// A server's frame that begins with `first`.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        n @ 0..126 => out.push(n as u8),
        n @ 126..0x1_0000 => {
            out.push(126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
    out
}

pub fn text(payload: &[u8]) -> Vec<u8> {
    frame(0x81, payload)
}

pub fn binary(payload: &[u8]) -> Vec<u8> {
    frame(0x82, payload)
}

pub fn ping(payload: &[u8]) -> Vec<u8> {
    frame(0x89, payload)
}

pub fn close(payload: &[u8]) -> Vec<u8> {
    frame(0x88, payload)
}

/// Takes a client's first frame off `bytes`: its first byte, mask and
/// payload.
pub fn take(bytes: &mut &[u8]) -> Option<(u8, [u8; 4], Vec<u8>)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    assert!(second & 0x80 != 0, "a client masks");
    let (len, at) = match second & 0x7f {
        126 => (bytes.get(2..4)?.iter(), 4),
        127 => (bytes.get(2..10)?.iter(), 10),
        _ => ([].iter(), 2),
    };
    let long = len.fold(0, |n, byte| n << 8 | usize::from(*byte));
    let len = if at == 2 { usize::from(second & 0x7f) } else { long };
    let mask: [u8; 4] = bytes.get(at..at + 4)?.try_into().unwrap();
    let payload = bytes.get(at + 4..at + 4 + len)?;
    let payload = payload.iter().zip(mask.iter().cycle());
    let payload = payload.map(|(byte, key)| byte ^ key).collect();
    *bytes = &bytes[at + 4 + len..];
    Some((first, mask, payload))
}

/// All frames in `bytes`, which hold nothing else.
pub fn read_all(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some((first, _, payload)) = take(&mut bytes) {
        out.push((first, payload));
    }
    assert_eq!(bytes, b"", "half a frame");
    out
}

/// The masks of the frames in `bytes`.
pub fn masks(mut bytes: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    while let Some((_, mask, _)) = take(&mut bytes) {
        out.push(format!("{mask:?}"));
    }
    out
}

impl Conn {
    /// Answers the upgrade rightly.
    pub fn upgraded(&mut self) -> Option<()> {
        let asked = self.head()?;
        self.send(switching(&asked)).then_some(())
    }

    /// The client's next frame; `None` when the client is gone.
    pub fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            let mut rest = &self.buffer[..];
            if let Some((first, _, payload)) = take(&mut rest) {
                let used = self.buffer.len() - rest.len();
                self.buffer.drain(..used);
                return Some((first, payload));
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// The client's next text message, counted as a request.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        loop {
            let (first, payload) = self.frame()?;
            if first == 0x81 {
                self.requests.fetch_add(1, Ordering::Relaxed);
                return Some(payload);
            }
        }
    }
}

/// A server whose every connection is upgraded and then served by `script`.
pub fn peer(script: impl Fn(&mut Conn) + Send + Sync + 'static) -> Peer {
    Peer::new(move |conn| {
        if conn.upgraded().is_some() {
            script(conn);
        }
    })
}

/// One that answers each message with what `reply` makes of it.
pub fn replying(
    reply: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
) -> Peer {
    peer(move |conn| {
        while let Some(message) = conn.message() {
            if !conn.send(reply(message)) {
                return;
            }
        }
    })
}
