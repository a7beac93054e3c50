//! WebSocket echoes on one connection.
//!
//! Each text message is one request, and its answer is one text message with
//! the same payload. A right echo has no status code of its own; in the books
//! it has [`ECHO`], that of its connection.
//!
//! Requests end with their connection as in [`super::Http1`]. When the server
//! closes with a frame, it is answered, what is in flight is a fault, and the
//! socket stays until the server closes that too.

mod heard;

use profiles::ask::{Ask, Echo};
use profiles::oracle::Wrong;
use profiles::rng::Rng;
use profiles::sample::Fault;

use super::line::Line;
use super::{Out, Over, Session};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::plan::Plan;
use crate::wire::websocket::{self, Frames, Kind, Part, Upgrade};
use crate::wire::{Answer, Why};
use heard::Heard;

/// The status code of an echo in the books: 101 Switching Protocols, the only
/// answer HTTP gave on its connection.
pub const ECHO: u16 = 101;
/// A message may be longer than its echo should be by so much before the
/// stream is given up as endless.
const MAX_SURPLUS: u64 = 1 << 20;
/// Beyond so many unsent bytes pings are not answered (RFC 6455 section 5.5.3
/// asks for the last one only).
const MAX_PONGS: u64 = 64 * 1024;
/// How long a server that said it closes may take to do so.
const CLOSE_WAIT: Ns = 200_000_000;
/// Header, mask and eight letters.
const SHORT: usize = 14;

/// What the connections of one thread share.
#[derive(Debug)]
pub struct Kit {
    host: String,
    target: String,
    /// A mask that was drawn and not used yet.
    spare: Option<u32>,
}

impl Kit {
    /// A fresh mask.
    #[inline]
    fn mask(&mut self, rng: &mut Rng) -> u32 {
        self.spare.take().unwrap_or_else(|| {
            let bits = rng.bits();
            self.spare = Some((bits >> 32) as u32);
            bits as u32
        })
    }
}

/// The messages of one connection.
#[derive(Debug)]
pub struct WebSocket {
    lane: usize,
    /// The handshake, until it is done.
    upgrade: Option<Box<Upgrade>>,
    line: Line,
    out: Out,
    frames: Frames,
    heard: Heard,
    /// When the server said that it closes.
    closing: Option<Ns>,
    /// Messages queued on this connection since it was opened.
    begun: u32,
    /// Echoes on it.
    answered: u32,
    right: u64,
}

impl Session for WebSocket {
    type Kit = Kit;

    fn kit(plan: &Plan) -> anyhow::Result<Kit> {
        let target = Ask::WsEcho { salt: 0, len: 0 }.target();
        Ok(Kit { host: plan.profile.host(), target, spare: None })
    }

    fn new(lane: usize) -> WebSocket {
        WebSocket {
            lane,
            upgrade: None,
            line: Line::default(),
            out: Out::default(),
            frames: Frames::default(),
            heard: Heard::default(),
            closing: None,
            begun: 0,
            answered: 0,
            right: 0,
        }
    }

    fn open(
        &mut self,
        _: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Result<(), Over> {
        let mut random = [0; 16];
        desk.rng.fill(&mut random);
        let upgrade = Upgrade::new(random);
        upgrade.write(&kit.target, &kit.host, self.out.buffer());
        self.upgrade = Some(Box::new(upgrade));
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.upgrade.is_none()
    }

    fn is_idle(&self) -> bool {
        self.line.is_empty()
    }

    fn has_answered(&self) -> bool {
        self.answered > 0
    }

    fn right(&self) -> u64 {
        self.right
    }

    #[inline]
    fn out(&self) -> &Out {
        &self.out
    }

    #[inline]
    fn has_room(&self, desk: &Desk) -> bool {
        let lane = &desk.lanes[self.lane];
        self.line.len() < lane.in_flight
            && self.begun < lane.per_connection
            && self.closing.is_none()
    }

    #[inline]
    fn fill(&mut self, now: Ns, desk: &mut Desk, kit: &mut Kit) {
        while self.has_room(desk) {
            let Some(flight) = desk.draw(self.lane, now) else { return };
            let start = self.out.end();
            let mask = kit.mask(&mut desk.rng);
            write(&flight.ask, mask, self.out.buffer());
            self.line.push(flight, start, &self.out);
            self.begun += 1;
        }
    }

    #[inline]
    fn wrote(&mut self, n: usize, now: Ns, desk: &mut Desk) {
        self.out.advance(n);
        self.line.wrote(&self.out, now, desk);
    }

    #[inline]
    fn received(
        &mut self,
        input: &mut [u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Option<Over> {
        let mut input = &input[..];
        if let Some(upgrade) = &mut self.upgrade {
            match upgrade.feed(input) {
                Ok(None) => return None,
                Ok(Some(used)) => input = &input[used..],
                Err(why) => return Some(Over::Broken(why)),
            }
            self.upgrade = None;
        }
        if self.closing.is_some() {
            return None;
        }
        loop {
            if self.frames.is_between() {
                input = self.short_echoes(input, now, desk);
                if self.is_enough(desk) {
                    return Some(Over::Enough);
                }
            }
            match self.part(&mut input, now, desk, kit) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(over) => return Some(over),
            }
        }
    }

    fn closed(&mut self, _: Ns, _: &mut Desk, _: &mut Kit) -> Over {
        Over::Closed
    }

    fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        _: &mut Kit,
    ) -> Option<Over> {
        if let Some(since) = self.closing {
            let late = now.saturating_sub(since) > CLOSE_WAIT;
            return late.then_some(Over::Announced);
        }
        self.line.expire(now, desk)
    }

    fn end(&mut self, over: Over, now: Ns, desk: &mut Desk) {
        let torn = !self.frames.is_between();
        self.line.end(over, torn, now, desk);
        self.out.clear();
        self.upgrade = None;
        self.frames = Frames::default();
        self.heard.clear();
        self.closing = None;
        self.begun = 0;
        self.answered = 0;
    }
}

impl WebSocket {
    /// Passes over messages of one short frame, as nearly all are, while they
    /// are whole and right. What is left is for [`WebSocket::part`].
    #[inline]
    fn short_echoes<'a>(
        &mut self,
        mut input: &'a [u8],
        now: Ns,
        desk: &mut Desk,
    ) -> &'a [u8] {
        while let [websocket::TEXT, len @ 0..126, rest @ ..] = input
            && let Some(payload) = rest.get(..usize::from(*len))
            && let Some(front) = self.line.front()
            && front.is_sent_in_full(&self.out)
        {
            let mut echo = Echo::of(&front.flight.ask);
            if !echo.goes_on_with(payload) || echo.left() > 0 {
                break;
            }
            input = &rest[payload.len()..];
            self.finish(u64::from(*len), Ok(()), now, desk);
            if self.is_enough(desk) {
                break;
            }
        }
        input
    }

    /// One part of what came; whether there may be more.
    fn part(
        &mut self,
        input: &mut &[u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Result<bool, Over> {
        match self.frames.next(input).map_err(Over::Broken)? {
            None => return Ok(false),
            Some(Part::Frame(kind, len)) => self.frame(kind, len, desk)?,
            Some(Part::Data(bytes, last)) => {
                self.heard.data(bytes);
                if last {
                    self.message(now, desk)?;
                }
            }
            Some(Part::Ping(payload)) => {
                if self.out.end() - self.out.text_sent() < MAX_PONGS {
                    let mask = kit.mask(&mut desk.rng);
                    let out = self.out.buffer();
                    websocket::write(websocket::PONG, payload, mask, out);
                }
            }
            Some(Part::Pong) => {}
            Some(Part::Close(code)) => {
                self.close(code, now, desk, kit);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A frame of a message begins.
    fn frame(
        &mut self,
        kind: Option<Kind>,
        len: u64,
        desk: &mut Desk,
    ) -> Result<(), Over> {
        let Some(front) = self.line.front() else {
            desk.books.surplus(|| "a message nothing had asked for".into());
            return Err(Over::Surplus);
        };
        let echo = Echo::of(&front.flight.ask);
        if let Some(kind) = kind {
            if !front.is_sent_in_full(&self.out) {
                return Err(Over::Broken(Why::Early));
            }
            self.heard.clear();
            self.heard.kind = Some(kind);
            self.heard.echo = echo;
        }
        let all = self.heard.bytes.saturating_add(len);
        if all > u64::from(echo.left()) + MAX_SURPLUS {
            return Err(Over::Broken(Why::BodyTooLong));
        }
        Ok(())
    }

    /// A whole message has come.
    fn message(&mut self, now: Ns, desk: &mut Desk) -> Result<(), Over> {
        let verdict = match self.line.front() {
            Some(front) => self.heard.verdict(&front.flight.ask),
            None => return Ok(()),
        };
        self.finish(self.heard.bytes, verdict, now, desk);
        if self.is_enough(desk) { Err(Over::Enough) } else { Ok(()) }
    }

    #[inline]
    fn finish(
        &mut self,
        body_bytes: u64,
        verdict: Result<(), Wrong>,
        now: Ns,
        desk: &mut Desk,
    ) {
        let Some(flight) = self.line.pop() else { return };
        let answer =
            Answer { status: ECHO, body_bytes, messages: 0, close: false };
        self.answered += 1;
        let right = desk.answered(&flight, verdict, &answer, now);
        self.right += u64::from(right);
    }

    #[inline]
    fn is_enough(&self, desk: &Desk) -> bool {
        self.answered >= desk.lanes[self.lane].per_connection
    }

    /// The server closes: it is told the same, and what is in flight will
    /// have no answer.
    #[cold]
    fn close(
        &mut self,
        code: Option<u16>,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) {
        let torn = !self.frames.is_between();
        let words = match code {
            Some(code) => format!("closed by a frame with code {code}"),
            None => "closed by a frame".into(),
        };
        // What was not begun is not sent any more.
        if let Some(start) = self.line.unsent_from() {
            self.out.cut(start);
        }
        for (index, flight) in self.line.take_sent().enumerate() {
            let fault = match index {
                0 if torn => Fault::Torn,
                _ => Fault::Closed,
            };
            desk.fault(fault, &flight, now, &words);
        }
        let payload = code.map(u16::to_be_bytes);
        let payload = payload.as_ref().map_or(&[][..], |code| code);
        let mask = kit.mask(&mut desk.rng);
        websocket::write(websocket::CLOSE, payload, mask, self.out.buffer());
        self.closing = Some(now);
    }
}

/// Appends the frame of `ask`, masked.
#[inline]
fn write(ask: &Ask, mask: u32, out: &mut Vec<u8>) {
    let echo = Echo::of(ask);
    let len = echo.left() as usize;
    if len <= Echo::WORD {
        // The whole frame in one piece.
        let mut frame = [0; SHORT];
        frame[0] = websocket::TEXT;
        frame[1] = 0x80 | len as u8;
        frame[2..6].copy_from_slice(&mask.to_le_bytes());
        let twice = u64::from(mask) << 32 | u64::from(mask);
        frame[6..].copy_from_slice(&(echo.word() ^ twice).to_le_bytes());
        // A copy of known size is cheaper, even if it is cut after.
        let end = out.len() + 6 + len;
        out.extend_from_slice(&frame);
        out.truncate(end);
        return;
    }
    websocket::write_header(websocket::TEXT, len, mask, out);
    let from = out.len();
    echo.write(out);
    websocket::apply(mask, &mut out[from..]);
}
