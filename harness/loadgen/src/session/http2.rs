//! HTTP/2 on one connection, and gRPC over it.
//!
//! How requests end:
//!
//! - an answer counts when its stream has ended: its last frame is there, and
//!   its body is as long as its head said;
//! - what is wrong with one stream (RFC 9113 calls it a stream error, or a
//!   malformed message) is that request's fault `malformed`; the stream is
//!   reset and the others go on. What is wrong with the connection takes all
//!   requests in flight with it, since nothing after it can be read;
//! - a complete answer to a request that is not sent in full is surplus if it
//!   says success: it cannot depend on what the server had not read. An error
//!   may be answered early (RFC 9113 section 8.1), so that is an answer like
//!   any other: a wrong one, by its status;
//! - an answer on a stream that has ended, or that we never opened, is
//!   surplus and takes the connection with it. One on a stream that we gave
//!   up, or may have, is not looked at;
//! - streams above the last one a GOAWAY names, and those reset with
//!   REFUSED_STREAM before any answer, were not processed: they are given
//!   back and go out again. After a GOAWAY the others may finish, then the
//!   connection is opened again;
//! - a request that waits too long is cancelled; the others live on.

mod flow;
mod incoming;
mod outgoing;
mod streams;

use std::collections::VecDeque;

use profiles::sample::Fault;
use rustix::io::Errno;

use super::{Out, Over, Session};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::plan::Plan;
use crate::wire::http2::{
    Decoder, Encoder, PREFACE, Reader, Requests, Scratch, code, flag, kind,
    put_head, put_number, setting,
};
use crate::wire::{MAX_HEAD, Why};
use flow::{FIRST, Inflow, Windows};
use incoming::Gathered;
use streams::Streams;

/// No more is queued while so much waits for the kernel.
const MOST_QUEUED: u64 = 256 * 1024;
/// Streams that were given up, of which frames may still come, by their ids.
/// Of more only the largest id is kept.
const MOST_GONE: usize = 4096;

/// What the connections of one thread share.
#[derive(Debug)]
pub struct Kit {
    requests: Requests,
    scratch: Scratch,
    windows: Windows,
}

/// The requests and answers of one connection.
#[derive(Debug)]
pub struct Http2 {
    lane: usize,
    out: Out,
    reader: Reader,
    decoder: Decoder,
    encoder: Encoder,
    streams: Streams,
    /// Requests queued of which no byte is sent: where they begin, their
    /// slots and ids.
    unsent: VecDeque<(u64, u16, u32)>,
    /// Slots of requests whose body waits for a window, in turn.
    waiting: VecDeque<u16>,
    /// Ids of streams that were given up.
    gone: VecDeque<u32>,
    /// Up to this id, it is not known which streams were.
    gone_to: u32,
    /// A header block of which more is to come.
    gathered: Gathered,
    /// What the server lets us send on all streams together.
    window: i64,
    /// What it lets us send on a new one.
    first_window: i64,
    /// Streams it takes at a time.
    most_streams: usize,
    inflow: Inflow,
    /// Replies to PING and SETTINGS since all was sent.
    owed: u32,
    /// Whether the server's SETTINGS came.
    ready: bool,
    /// The error code of a GOAWAY.
    leaving: Option<u32>,
    /// Requests on this connection, without those given back.
    begun: u32,
    answered: u32,
    right: u64,
}

impl Session for Http2 {
    type Kit = Kit;

    fn kit(plan: &Plan) -> anyhow::Result<Kit> {
        Ok(Kit {
            requests: Requests::new(&plan.profile, &plan.spec.tokens),
            scratch: Scratch::default(),
            windows: Windows::default(),
        })
    }

    fn new(lane: usize) -> Http2 {
        Http2 {
            lane,
            out: Out::default(),
            reader: Reader::default(),
            decoder: Decoder::default(),
            encoder: Encoder::default(),
            streams: Streams::default(),
            unsent: VecDeque::new(),
            waiting: VecDeque::new(),
            gone: VecDeque::new(),
            gone_to: 0,
            gathered: Gathered::default(),
            window: FIRST.into(),
            first_window: FIRST.into(),
            most_streams: usize::MAX,
            inflow: Inflow::default(),
            owed: 0,
            ready: false,
            leaving: None,
            begun: 0,
            answered: 0,
            right: 0,
        }
    }

    fn open(&mut self, _: Ns, _: &mut Desk, kit: &mut Kit) -> Result<(), Over> {
        let out = self.out.buffer();
        out.extend_from_slice(PREFACE);
        let settings = [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, kit.windows.stream),
            (setting::MAX_HEADER_LIST_SIZE, MAX_HEAD as u32),
        ];
        put_head(out, 6 * settings.len(), kind::SETTINGS, 0, 0);
        for (id, value) in settings {
            out.extend_from_slice(&id.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        let more = kit.windows.connection.saturating_sub(FIRST);
        if more > 0 {
            put_number(out, kind::WINDOW_UPDATE, 0, more);
        }
        self.inflow = Inflow::new(kit.windows.connection.max(FIRST));
        Ok(())
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.ready
    }

    fn is_idle(&self) -> bool {
        self.streams.live() == 0
    }

    fn has_answered(&self) -> bool {
        self.answered > 0
    }

    fn right(&self) -> u64 {
        self.right
    }

    #[inline]
    fn has_room(&self, desk: &Desk) -> bool {
        let lane = &desk.lanes[self.lane];
        self.streams.live() < lane.in_flight.min(self.most_streams)
            && self.ready
            && self.leaving.is_none()
            && self.begun < lane.per_connection
            && self.streams.has_ids()
            && self.queued() < MOST_QUEUED
    }

    #[inline]
    fn fill(&mut self, now: Ns, desk: &mut Desk, kit: &mut Kit) {
        while self.has_room(desk) {
            let Some(flight) = desk.draw(self.lane, now) else { break };
            self.ask(flight, desk, kit);
        }
        let granted = self.most_streams;
        if granted < desk.lanes[self.lane].in_flight
            && self.streams.live() >= granted
        {
            desk.books.withheld();
        }
        if !self.waiting.is_empty() {
            self.flush(desk);
        }
    }

    #[inline]
    fn out(&self) -> &Out {
        &self.out
    }

    #[inline]
    fn wrote(&mut self, n: usize, now: Ns, desk: &mut Desk) {
        self.out.advance(n);
        let sent = self.out.text_sent();
        while let Some((start, slot, id)) = self.unsent.front() {
            if *start >= sent {
                break;
            }
            let stream = &mut self.streams.slots[usize::from(*slot)];
            if stream.id == *id
                && let Some(flight) = &mut stream.flight
            {
                desk.sent(flight, now);
            }
            self.unsent.pop_front();
        }
        if self.out.is_empty() {
            self.owed = 0;
        }
        if !self.waiting.is_empty() {
            self.flush(desk);
        }
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
        let mut reader = std::mem::take(&mut self.reader);
        let read = loop {
            match reader.next(&mut input) {
                Ok(None) => break Ok(()),
                Err(why) => break Err(Over::Broken(why)),
                Ok(Some(piece)) => {
                    let done = self.piece(piece, now, desk, kit);
                    // What follows the last answer is not looked at, whether
                    // or not it came in the same read.
                    let over = done.err().or_else(|| self.is_over(desk));
                    if let Some(over) = over {
                        break Err(over);
                    }
                }
            }
        };
        self.reader = reader;
        if let Err(over) = read {
            return Some(over);
        }
        if !self.waiting.is_empty() {
            self.flush(desk);
        }
        self.is_over(desk)
    }

    fn closed(&mut self, _: Ns, _: &mut Desk, _: &mut Kit) -> Over {
        match self.leaving {
            Some(_) if self.streams.live() == 0 => Over::Announced,
            _ => Over::Closed,
        }
    }

    fn parting(&self) -> Option<String> {
        let code = code::name(self.leaving?);
        Some(format!("GOAWAY of {code} in the handshake"))
    }

    fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        _: &mut Kit,
    ) -> Option<Over> {
        for slot in 0..self.streams.slots.len() {
            let stream = &self.streams.slots[slot];
            let late = stream
                .flight
                .as_ref()
                .is_some_and(|flight| flight.waited(now) > desk.timeout);
            if late && stream.start < self.out.text_sent() {
                self.reset_stream(slot, code::CANCEL);
                desk.books.timed_out();
            }
        }
        self.is_over(desk)
    }

    fn end(&mut self, over: Over, now: Ns, desk: &mut Desk) {
        let sent = self.out.text_sent();
        if over == Over::Stopped && self.ready && self.most_streams == 0 {
            desk.books.note("MAX_CONCURRENT_STREAMS is 0: no streams granted");
        }
        for slot in 0..self.streams.slots.len() {
            let stream = &self.streams.slots[slot];
            let (asked, torn) = (stream.start < sent, stream.has_head);
            if stream.id == 0 {
                continue;
            }
            let Some(flight) = self.streams.close(slot) else { continue };
            if !asked && over != Over::Stopped {
                // Sent on another connection, which gave it back.
                if flight.is_sent() {
                    desk.give_back(self.lane, flight, now);
                }
                continue;
            }
            let mut fault = |fault, why: &str| {
                desk.fault(fault, &flight, now, why);
            };
            match over {
                Over::TimedOut => desk.books.timed_out(),
                Over::Stopped if flight.is_sent() => {
                    desk.unanswered(&flight, now);
                }
                Over::Stopped => {}
                Over::Broken(why) => {
                    fault(Fault::Malformed, &why.to_string());
                }
                Over::Surplus => fault(Fault::Surplus, "surplus frames"),
                Over::Error(Errno::CONNRESET | Errno::PIPE) => {
                    fault(Fault::Reset, &self.words("reset"));
                }
                Over::Error(errno) => {
                    fault(Fault::System, &errno.to_string());
                }
                Over::Closed if torn => {
                    fault(Fault::Torn, "closed in mid-answer");
                }
                Over::Closed | Over::Announced | Over::Enough => {
                    fault(Fault::Closed, &self.words("closed"));
                }
            }
        }
        self.out.clear();
        self.reader = Reader::default();
        self.decoder.reset();
        self.encoder.reset();
        self.streams.reset();
        self.unsent.clear();
        self.waiting.clear();
        self.gone.clear();
        self.gone_to = 0;
        self.gathered.clear();
        self.window = FIRST.into();
        self.first_window = FIRST.into();
        self.most_streams = usize::MAX;
        self.owed = 0;
        self.ready = false;
        self.leaving = None;
        self.begun = 0;
        self.answered = 0;
    }
}

impl Http2 {
    /// Bytes that wait for the kernel.
    #[inline]
    fn queued(&self) -> u64 {
        self.out.end() - self.out.text_sent()
    }

    /// Why the connection ended, in words.
    fn words(&self, what: &str) -> String {
        match self.leaving {
            None => what.into(),
            Some(code) => {
                format!("{what} after a GOAWAY of {}", code::name(code))
            }
        }
    }

    /// Whether all that the connection was for is done.
    #[inline]
    fn is_over(&self, desk: &Desk) -> Option<Over> {
        if self.streams.live() > 0 {
            return None;
        }
        let most = desk.lanes[self.lane].per_connection;
        if self.leaving.is_some() {
            Some(Over::Announced)
        } else if self.begun >= most || !self.streams.has_ids() {
            Some(Over::Enough)
        } else {
            None
        }
    }

    /// Gives the stream in `slot` up and tells the server.
    #[cold]
    fn reset_stream(
        &mut self,
        slot: usize,
        code: u32,
    ) -> Option<super::Flight> {
        let id = self.streams.slots[slot].id;
        put_number(self.out.buffer(), kind::RST_STREAM, id, code);
        self.forget(slot)
    }

    /// Closes the stream in `slot`, of which more may come.
    #[cold]
    fn forget(&mut self, slot: usize) -> Option<super::Flight> {
        if self.gone.len() >= MOST_GONE
            && let Some(id) = self.gone.pop_front()
        {
            self.gone_to = self.gone_to.max(id);
        }
        self.gone.push_back(self.streams.slots[slot].id);
        self.drop_stream(slot)
    }

    /// Closes the stream in `slot` before it has ended.
    #[cold]
    fn drop_stream(&mut self, slot: usize) -> Option<super::Flight> {
        self.waiting.retain(|waiting| usize::from(*waiting) != slot);
        self.streams.close(slot)
    }
}

/// The connection is over: against the rules.
fn broken(why: &'static str) -> Over {
    Over::Broken(Why::Protocol(why))
}
