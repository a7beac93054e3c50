//! The streams of one connection.

use profiles::ask::{Ask, Body};
use profiles::oracle::Wrong;

use super::flow::Inflow;
use crate::check::{Checker, GrpcWatch, Watch};
use crate::session::Flight;
use crate::wire::http2::Block;
use crate::wire::{self, Answer, Length, Why};

/// The largest stream id.
const LAST: u32 = 0x7fff_ffff;
/// No slot.
const NONE: u16 = u16::MAX;
/// No position: the request is not all queued.
pub(super) const OPEN: u64 = u64::MAX;

/// Checks the answer of one stream.
#[derive(Debug)]
enum Ear {
    Http(Watch),
    Grpc(GrpcWatch),
}

/// The part of a request's body that is not queued yet.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// A small body; without one it is part of the upload block.
    pub(super) own: Vec<u8>,
    pub(super) at: usize,
    pub(super) left: usize,
}

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Stream {
    /// 0 while it is free.
    pub(super) id: u32,
    /// Whether the final head came.
    pub(super) has_head: bool,
    status: u16,
    /// Where the request begins in the text of the connection, and where it
    /// ends.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Body bytes announced, or `u64::MAX`, and those that came.
    expected: u64,
    got: u64,
    pub(super) inflow: Inflow,
    /// How much more of the body the server takes.
    pub(super) window: i64,
    pub(super) rest: Rest,
    pub(super) flight: Option<Flight>,
    ear: Ear,
}

impl Stream {
    /// A header block came; whether it ended the answer.
    #[inline]
    pub(super) fn block(
        &mut self,
        block: &Block,
        end: bool,
        check: &Checker,
    ) -> Result<bool, Why> {
        if self.has_head {
            return self.trailers(block, end);
        }
        let status = block.head().map_err(Why::Protocol)?;
        if status < 200 {
            return informational(status, end);
        }
        let length = match (status, block.length) {
            // They have no body, whatever the length says.
            (204 | 304, _) => Some(0),
            (_, length) => length,
        };
        self.has_head = true;
        self.status = status;
        self.expected = length.unwrap_or(u64::MAX);
        let Some(flight) = &self.flight else { return Ok(false) };
        match &mut self.ear {
            Ear::Http(watch) => {
                let head = wire::Head {
                    status,
                    length: length.map_or(Length::UntilClose, Length::Fixed),
                    close: false,
                    content_type: block.content_type(),
                    content_encoding: block.content_encoding(),
                };
                check.head(watch, flight.class, &flight.ask, &head)?;
            }
            Ear::Grpc(watch) => {
                watch.head(&flight.ask, status, block.content_type(), end);
                if end {
                    watch.trailers(block.grpc_status(), block.grpc_message());
                }
            }
        }
        Ok(end)
    }

    fn trailers(&mut self, block: &Block, end: bool) -> Result<bool, Why> {
        if !end {
            return Err(Why::Protocol("a second head, not trailers"));
        }
        block.trailers().map_err(Why::Protocol)?;
        if let Ear::Grpc(watch) = &mut self.ear {
            watch.trailers(block.grpc_status(), block.grpc_message());
        }
        Ok(true)
    }

    /// The next bytes of the body.
    #[inline]
    pub(super) fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        if !self.has_head {
            return Err(Why::Protocol("a body without a head"));
        }
        self.got += bytes.len() as u64;
        if self.got > self.expected {
            return Err(Why::Protocol("a body is longer than its head says"));
        }
        match &mut self.ear {
            Ear::Http(watch) => watch.body(bytes),
            Ear::Grpc(watch) => {
                watch.data(bytes);
                Ok(())
            }
        }
    }

    /// The answer has ended: what it was, and whether it was right. `None`
    /// when its body is shorter than was said.
    #[inline]
    pub(super) fn finish(
        &mut self,
        check: &mut Checker,
    ) -> Option<(Answer, Result<(), Wrong>)> {
        if self.got != self.expected && self.expected != u64::MAX {
            return None;
        }
        let flight = self.flight.as_ref()?;
        let mut answer = Answer {
            status: self.status,
            body_bytes: self.got,
            messages: 0,
            close: false,
        };
        let verdict = match &mut self.ear {
            Ear::Http(watch) => {
                check.finish(watch, flight.class, &flight.ask, &answer)
            }
            Ear::Grpc(watch) => {
                watch.finish().map(|messages| answer.messages = messages)
            }
        };
        Some((answer, verdict))
    }

    /// Whether the answer, if it ended now, is one that a server may give
    /// without having read the request (RFC 9113 section 8.1): an error.
    pub(super) fn may_be_early(&self) -> bool {
        self.status >= 400
    }
}

#[cold]
fn informational(status: u16, end: bool) -> Result<bool, Why> {
    match (status, end) {
        (101, _) => Err(Why::Protocol("HTTP/2 has no status 101")),
        (_, true) => Err(Why::Protocol("an answer is informational only")),
        _ => Ok(false),
    }
}

/// All of a connection's streams: those that are open, found by their id,
/// and the memory of those that were.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) slots: Vec<Stream>,
    free: Vec<u16>,
    /// By the low bits of an id: the slot of the stream that has it. Ids
    /// whose place is taken are passed over.
    index: Vec<u16>,
    /// The next id.
    next: u32,
    live: usize,
}

impl Default for Streams {
    fn default() -> Streams {
        let (slots, free, index, live) = Default::default();
        Streams { slots, free, index, next: 1, live }
    }
}

impl Streams {
    /// Streams that are open.
    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Whether there are ids left.
    #[inline]
    pub(super) fn has_ids(&self) -> bool {
        // Some are passed over.
        self.next < LAST - 4 * self.index.len() as u32
    }

    /// Whether `id` is one we never used nor passed over.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id >= self.next
    }

    #[inline]
    fn place(&self, id: u32) -> usize {
        (id as usize >> 1) & self.index.len().wrapping_sub(1)
    }

    /// The open stream `id`.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        let slot = usize::from(*self.index.get(self.place(id))?);
        (self.slots.get(slot)?.id == id).then_some(slot)
    }

    /// Opens a stream for `flight`, one of at most `most`.
    #[inline]
    pub(super) fn open(&mut self, flight: Flight, most: usize) -> usize {
        if self.index.is_empty() {
            let places = (2 * most).next_power_of_two();
            self.index.resize(places, NONE);
        }
        let mut place = self.place(self.next);
        while self.index[place] != NONE {
            self.next += 2;
            place = self.place(self.next);
        }
        let grpc = is_grpc(&flight.ask);
        let slot = match self.free.pop() {
            Some(slot) => usize::from(slot),
            None => self.grow(),
        };
        let stream = &mut self.slots[slot];
        match (&stream.ear, grpc) {
            (Ear::Http(_), true) => {
                stream.ear = Ear::Grpc(GrpcWatch::default())
            }
            (Ear::Grpc(_), false) => stream.ear = Ear::Http(Watch::default()),
            _ => {}
        }
        stream.id = self.next;
        stream.has_head = false;
        stream.got = 0;
        stream.end = OPEN;
        stream.flight = Some(flight);
        self.index[place] = slot as u16;
        self.next += 2;
        self.live += 1;
        slot
    }

    #[cold]
    fn grow(&mut self) -> usize {
        self.slots.push(Stream {
            id: 0,
            has_head: false,
            status: 0,
            start: 0,
            end: OPEN,
            expected: 0,
            got: 0,
            inflow: Inflow::default(),
            window: 0,
            rest: Rest::default(),
            flight: None,
            ear: Ear::Http(Watch::default()),
        });
        self.free.reserve(self.slots.len());
        self.slots.len() - 1
    }

    /// The stream in `slot` is over.
    #[inline]
    pub(super) fn close(&mut self, slot: usize) -> Option<Flight> {
        let stream = &mut self.slots[slot];
        let id = std::mem::take(&mut stream.id);
        stream.rest.left = 0;
        let flight = stream.flight.take();
        let place = self.place(id);
        self.index[place] = NONE;
        self.free.push(slot as u16);
        self.live -= 1;
        flight
    }

    /// For a new connection. All streams are closed.
    pub(super) fn reset(&mut self) {
        self.next = 1;
    }
}

fn is_grpc(ask: &Ask) -> bool {
    matches!(ask.body(), Body::Message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_run_out_before_they_would_turn_over() {
        let mut streams = Streams::default();
        let flight = || Flight::new(0, Ask::Pipeline, None);
        streams.open(flight(), 4);
        streams.next = LAST - 200;
        let mut last = 0;
        while streams.has_ids() {
            let slot = streams.open(flight(), 4);
            last = streams.slots[slot].id;
            streams.close(slot);
        }
        assert!((LAST - 200..=LAST).contains(&last));
        streams.close(0);
        streams.reset();
        assert!(streams.has_ids());
    }

    #[test]
    fn a_slow_stream_is_passed_over_by_the_others() {
        let mut streams = Streams::default();
        let flight = || Flight::new(0, Ask::Pipeline, None);
        let slow = streams.open(flight(), 3);
        let mut last = 1;
        for _ in 0..100 {
            let slot = streams.open(flight(), 3);
            let id = streams.slots[slot].id;
            assert!(id > last && id % 2 == 1);
            assert_eq!(streams.find(id), Some(slot));
            assert_eq!(streams.find(1), Some(slow));
            assert_eq!(streams.find(id + 2), None);
            assert!(streams.is_idle(id + 2) && !streams.is_idle(id));
            assert!(streams.close(slot).is_some());
            assert_eq!(streams.find(id), None);
            last = id;
        }
        assert_eq!((streams.live(), streams.slots.len()), (1, 2));
        for id in 0..300 {
            assert_eq!(streams.find(id).is_some(), id == 1);
        }
    }
}
