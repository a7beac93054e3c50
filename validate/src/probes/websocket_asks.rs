//! How messages are sent and waited for.

use super::websocket::not_upgraded;
use crate::http::{Request, show};
use crate::probe::{Miss, Outcome};
use crate::session::Session;
use crate::websocket::frame::{masked, op};
use crate::websocket::{Conn, Event, handshake, key};

/// A message that must come back.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) opcode: u8,
    pub(super) payload: Vec<u8>,
    /// Its bytes, in one frame.
    pub(super) bytes: Vec<u8>,
}

/// A message in one frame, under a mask that is drawn.
pub(super) fn message(
    s: &mut Session<'_>,
    opcode: u8,
    payload: Vec<u8>,
) -> Message {
    let bytes = masked(0x80 | opcode, &payload, mask(s));
    Message { opcode, payload, bytes }
}

pub(super) fn mask(s: &mut Session<'_>) -> [u8; 4] {
    (s.rng.bits() as u32).to_be_bytes()
}

/// A text of so many bytes, some of its letters longer than one.
pub(super) fn some_text(s: &mut Session<'_>, bytes: usize) -> Vec<u8> {
    let mut text = String::new();
    while text.len() < bytes {
        let room = bytes - text.len();
        let c = match s.rng.below(8) {
            0 if room >= 2 => 'é',
            1 if room >= 3 => '→',
            2 if room >= 4 => '𝄞',
            _ => (b'a' + s.rng.below(26) as u8) as char,
        };
        text.push(c);
    }
    text.into_bytes()
}

/// A connection that was upgraded as the load does it.
pub(super) fn open(s: &mut Session<'_>) -> Result<Conn, Box<Miss>> {
    let mut random = [0; 16];
    s.rng.fill(&mut random);
    let key = key(&random);
    let text = handshake(&s.host, &key);
    open_with(s, &text, &key)
}

/// The same with a handshake of one's own.
pub(super) fn open_with(
    s: &mut Session<'_>,
    text: &str,
    key: &str,
) -> Result<Conn, Box<Miss>> {
    s.question()?;
    let request = Request::raw(text);
    s.asked.get_or_insert_with(|| request.shown());
    let (track, by) = (s.tape.track(), s.deadline());
    Conn::open(s.address, text, key, track, by)
        .map_err(|why| not_upgraded(s, &request, &why))
}

/// Sends messages in one write and expects each back, in order.
pub(super) fn expect(
    s: &mut Session<'_>,
    conn: &mut Conn,
    all: &[Message],
) -> Outcome {
    let bytes: Vec<u8> = all.iter().flat_map(|m| m.bytes.clone()).collect();
    conn.send(&bytes, s.deadline());
    let request = Request::raw(bytes);
    back(s, conn, all, &request)
}

/// Expects messages back, in order.
pub(super) fn back(
    s: &mut Session<'_>,
    conn: &mut Conn,
    all: &[Message],
    request: &Request,
) -> Outcome {
    let by = s.deadline();
    for (i, sent) in all.iter().enumerate() {
        let event = loop {
            let event =
                conn.next(by).map_err(|fault| s.faulty(request, &fault))?;
            // A pong that nobody asked for harms nobody.
            if !matches!(event, Event::Pong(_)) {
                break event;
            }
        };
        let right = Event::Message(sent.opcode, sent.payload.clone());
        if event != right {
            let expected = format!("{} (message {i})", take(&right));
            return Err(s.miss(request, expected, take(&event)));
        }
    }
    Ok(())
}

/// An event in words.
pub(super) fn take(event: &Event) -> String {
    match event {
        Event::Message(op::TEXT, payload) => {
            format!("text of {} bytes `{}`", payload.len(), show(payload))
        }
        Event::Message(_, payload) => {
            format!("binary of {} bytes `{}`", payload.len(), show(payload))
        }
        Event::Pong(payload) => format!("pong `{}`", show(payload)),
        Event::Close(Some(code)) => format!("close {code}"),
        Event::Close(None) => "close without a code".into(),
    }
}
