//! What the server says, frame by frame.

use profiles::sample::Fault;

use super::flow::{Flow, MOST};
use super::{Http2, Kit, broken, code, flag, kind, put_head, setting};
use super::{Over, put_number};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::wire::http2::{Data, Head, Piece, unpadded};
use crate::wire::{MAX_HEAD, Why};

/// More replies than this are owed only to a server that does not read them.
const MOST_OWED: u32 = 1024;
/// Frames of one header block.
const MOST_PARTS: u32 = 64;

type Done = Result<(), Over>;

/// A header block that comes in several frames.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The stream it is for, 0 while there is none.
    stream: u32,
    end: bool,
    parts: u32,
    block: Vec<u8>,
}

impl Gathered {
    pub(super) fn clear(&mut self) {
        self.stream = 0;
    }
}

impl Http2 {
    #[inline]
    pub(super) fn piece(
        &mut self,
        piece: Piece<'_>,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Done {
        let (head, payload) = match piece {
            Piece::Data(data) if self.gathered.stream == 0 => {
                return self.data(data, now, desk);
            }
            Piece::Frame(head, payload)
                if self.gathered.stream == 0
                    || head.kind == kind::CONTINUATION =>
            {
                (head, payload)
            }
            _ => return Err(broken("a header block is interrupted")),
        };
        match head.kind {
            kind::HEADERS => {
                let block = unpadded(head, payload).map_err(Over::Broken)?;
                let end = head.has(flag::END_STREAM);
                if head.has(flag::END_HEADERS) {
                    return self.block(head.stream, end, block, now, desk, kit);
                }
                self.gathered.stream = head.stream;
                self.gathered.end = end;
                self.gathered.parts = 0;
                self.gathered.block.clear();
                self.gather(head, block, now, desk, kit)
            }
            kind::CONTINUATION => self.gather(head, payload, now, desk, kit),
            kind::WINDOW_UPDATE => self.window_update(head, payload, now, desk),
            kind::SETTINGS => self.settings(head, payload),
            kind::PING => self.ping(head, payload),
            kind::RST_STREAM => self.rst_stream(head, payload, now, desk),
            kind::GOAWAY => self.goaway(head, payload, now, desk),
            kind::PRIORITY if payload.len() != 5 => Err(SIZE),
            kind::PUSH_PROMISE => {
                Err(broken("the server pushes a stream, which it may not"))
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn data(&mut self, data: Data<'_>, now: Ns, desk: &mut Desk) -> Done {
        let sent = self.out.text_sent();
        match self.inflow.take(data.flow, sent) {
            Flow::Fine => {}
            Flow::Give(n) => {
                let at = self.give(0, n);
                self.inflow.give(n, at);
            }
            Flow::Overrun => {
                return Err(broken("the server overran a window"));
            }
        }
        let Some(slot) = self.streams.find(data.stream) else {
            return self.stray(data.stream, "DATA", desk);
        };
        let stream = &mut self.streams.slots[slot];
        let flow = stream.inflow.take(data.flow, sent);
        let body = match flow {
            Flow::Overrun => Err(Why::Protocol("the server overran a window")),
            _ => stream.body(data.bytes),
        };
        if let Err(why) = body {
            let code = match flow {
                Flow::Overrun => code::FLOW_CONTROL_ERROR,
                _ => code::PROTOCOL_ERROR,
            };
            self.fail(slot, code, why, now, desk);
            return Ok(());
        }
        if data.end {
            return self.ended(slot, now, desk);
        }
        if let Flow::Give(n) = flow {
            let at = self.give(data.stream, n);
            self.streams.slots[slot].inflow.give(n, at);
        }
        Ok(())
    }

    /// Gives back `n` of a window; returns where the words end.
    #[cold]
    fn give(&mut self, stream: u32, n: u32) -> u64 {
        put_number(self.out.buffer(), kind::WINDOW_UPDATE, stream, n);
        self.out.end()
    }

    /// A whole header block. It is read whatever the stream, since it may
    /// change the table.
    #[inline]
    fn block(
        &mut self,
        id: u32,
        end: bool,
        bytes: &[u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Done {
        let block = self.decoder.read(bytes, &mut kit.scratch);
        let block = block.map_err(Over::Broken)?;
        let Some(slot) = self.streams.find(id) else {
            return self.stray(id, "HEADERS", desk);
        };
        let stream = &mut self.streams.slots[slot];
        if stream.start >= self.out.text_sent() {
            return self.stray(id, "HEADERS", desk);
        }
        match stream.block(block, end, &desk.check) {
            Ok(true) => self.ended(slot, now, desk),
            Ok(false) => Ok(()),
            Err(why) => {
                self.fail(slot, code::PROTOCOL_ERROR, why, now, desk);
                Ok(())
            }
        }
    }

    #[cold]
    fn gather(
        &mut self,
        head: Head,
        part: &[u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Done {
        let gathered = &mut self.gathered;
        if gathered.stream == 0 || gathered.stream != head.stream {
            return Err(broken("a CONTINUATION of nothing"));
        }
        gathered.parts += 1;
        if gathered.block.len() + part.len() > MAX_HEAD
            || gathered.parts > MOST_PARTS
        {
            return Err(Over::Broken(Why::HeadTooLong));
        }
        gathered.block.extend_from_slice(part);
        if !head.has(flag::END_HEADERS) {
            return Ok(());
        }
        let (stream, end) = (gathered.stream, gathered.end);
        gathered.stream = 0;
        let block = std::mem::take(&mut gathered.block);
        let done = self.block(stream, end, &block, now, desk, kit);
        self.gathered.block = block;
        done
    }

    /// The answer in `slot` has ended.
    #[inline]
    fn ended(&mut self, slot: usize, now: Ns, desk: &mut Desk) -> Done {
        let stream = &mut self.streams.slots[slot];
        if self.out.text_sent() < stream.end {
            return self.early(slot, now, desk);
        }
        self.book(slot, now, desk);
        Ok(())
    }

    #[inline]
    fn book(&mut self, slot: usize, now: Ns, desk: &mut Desk) {
        let stream = &mut self.streams.slots[slot];
        let Some((answer, verdict)) = stream.finish(&mut desk.check) else {
            let why = Why::Protocol("a body is shorter than its head says");
            return self.fail(slot, code::PROTOCOL_ERROR, why, now, desk);
        };
        let Some(flight) = self.streams.close(slot) else { return };
        self.answered += 1;
        self.right += u64::from(desk.answered(&flight, verdict, &answer, now));
    }

    /// The answer has ended before its request.
    #[cold]
    fn early(&mut self, slot: usize, now: Ns, desk: &mut Desk) -> Done {
        let stream = &self.streams.slots[slot];
        let id = stream.id;
        if stream.may_be_early() {
            if stream.end == super::streams::OPEN {
                // What is left of the request is not wanted.
                let out = self.out.buffer();
                put_number(out, kind::RST_STREAM, id, code::CANCEL);
                self.waiting.retain(|waiting| usize::from(*waiting) != slot);
            }
            self.book(slot, now, desk);
            return Ok(());
        }
        if let Some(flight) = self.reset_stream(slot, code::CANCEL) {
            let why = Why::Early.to_string();
            desk.books.surplus(|| format!("{}: {why}", flight.words()));
            desk.fault(Fault::Surplus, &flight, now, &why);
        }
        Ok(())
    }

    /// The stream in `slot` cannot be read on.
    #[cold]
    fn fail(
        &mut self,
        slot: usize,
        code: u32,
        why: Why,
        now: Ns,
        desk: &mut Desk,
    ) {
        if let Some(flight) = self.reset_stream(slot, code) {
            desk.fault(Fault::Malformed, &flight, now, &why.to_string());
        }
    }

    /// A part of an answer on a stream that is not open.
    #[cold]
    fn stray(&mut self, id: u32, what: &str, desk: &mut Desk) -> Done {
        if id.is_multiple_of(2) {
            return Err(broken("an answer on a stream that is not a client's"));
        }
        if id <= self.gone_to || self.gone.contains(&id) {
            return Ok(());
        }
        desk.books
            .surplus(|| format!("{what} on stream {id}, which is not open"));
        Err(Over::Surplus)
    }

    fn settings(&mut self, head: Head, payload: &[u8]) -> Done {
        if head.stream != 0 {
            return Err(broken("SETTINGS on a stream"));
        }
        if head.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(SIZE) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(SIZE);
        }
        for pair in payload.chunks_exact(6) {
            let [a, b, value @ ..] = pair else { continue };
            self.set(u16::from_be_bytes([*a, *b]), number(value)?)?;
        }
        self.ready = true;
        put_head(self.out.buffer(), 0, kind::SETTINGS, flag::ACK, 0);
        self.owe()
    }

    fn set(&mut self, id: u16, value: u32) -> Done {
        match id {
            setting::HEADER_TABLE_SIZE => self.encoder.limit(value as usize),
            setting::ENABLE_PUSH if value != 0 => {
                return Err(broken("the server sets ENABLE_PUSH"));
            }
            setting::MAX_CONCURRENT_STREAMS => {
                self.most_streams = value as usize;
            }
            setting::INITIAL_WINDOW_SIZE => {
                let value = i64::from(value);
                if value > MOST {
                    return Err(broken("INITIAL_WINDOW_SIZE is too large"));
                }
                let more = value - self.first_window;
                self.first_window = value;
                for stream in &mut self.streams.slots {
                    stream.window += more;
                    if stream.id != 0 && stream.window > MOST {
                        return Err(broken("a stream's window is too large"));
                    }
                }
            }
            setting::MAX_FRAME_SIZE
                if !(0x4000..=0x00ff_ffff).contains(&value) =>
            {
                return Err(broken("MAX_FRAME_SIZE is out of its bounds"));
            }
            _ => {}
        }
        Ok(())
    }

    fn ping(&mut self, head: Head, payload: &[u8]) -> Done {
        if head.stream != 0 {
            return Err(broken("PING on a stream"));
        }
        if payload.len() != 8 {
            return Err(SIZE);
        }
        if head.has(flag::ACK) {
            return Ok(());
        }
        let out = self.out.buffer();
        put_head(out, 8, kind::PING, flag::ACK, 0);
        out.extend_from_slice(payload);
        self.owe()
    }

    /// One more reply is queued.
    fn owe(&mut self) -> Done {
        self.owed += 1;
        if self.owed > MOST_OWED {
            return Err(broken("the server floods PING or SETTINGS"));
        }
        Ok(())
    }

    fn window_update(
        &mut self,
        head: Head,
        payload: &[u8],
        now: Ns,
        desk: &mut Desk,
    ) -> Done {
        let more = i64::from(number(payload)? & 0x7fff_ffff);
        if head.stream == 0 {
            self.window += more;
            if more == 0 || self.window > MOST {
                return Err(broken("a WINDOW_UPDATE by nothing or too much"));
            }
            return Ok(());
        }
        let Some(slot) = self.streams.find(head.stream) else {
            return self.known(head.stream);
        };
        let stream = &mut self.streams.slots[slot];
        stream.window += more;
        if more == 0 || stream.window > MOST {
            let code = match more {
                0 => code::PROTOCOL_ERROR,
                _ => code::FLOW_CONTROL_ERROR,
            };
            let why = Why::Protocol("a WINDOW_UPDATE by nothing or too much");
            self.fail(slot, code, why, now, desk);
        }
        Ok(())
    }

    #[cold]
    fn rst_stream(
        &mut self,
        head: Head,
        payload: &[u8],
        now: Ns,
        desk: &mut Desk,
    ) -> Done {
        let code = number(payload)?;
        let Some(slot) = self.streams.find(head.stream) else {
            return self.known(head.stream);
        };
        let answering = self.streams.slots[slot].has_head;
        let Some(flight) = self.drop_stream(slot) else { return Ok(()) };
        if code == code::REFUSED_STREAM && !answering {
            self.begun -= 1;
            desk.give_back(self.lane, flight, now);
        } else {
            let why = format!("RST_STREAM {}", code::name(code));
            desk.fault(Fault::Reset, &flight, now, &why);
        }
        Ok(())
    }

    #[cold]
    fn goaway(
        &mut self,
        head: Head,
        payload: &[u8],
        now: Ns,
        desk: &mut Desk,
    ) -> Done {
        if head.stream != 0 {
            return Err(broken("GOAWAY on a stream"));
        }
        let Some((last, code)) = payload.split_at_checked(4) else {
            return Err(SIZE);
        };
        let last = number(last)? & 0x7fff_ffff;
        let code = number(code.get(..4).unwrap_or(&[]))?;
        self.leaving = Some(code);
        for slot in 0..self.streams.slots.len() {
            if self.streams.slots[slot].id > last
                && let Some(flight) = self.forget(slot)
            {
                self.begun -= 1;
                desk.give_back(self.lane, flight, now);
            }
        }
        Ok(())
    }

    /// Frames about a stream that is closed are late; about one that was
    /// never opened they are against the rules.
    fn known(&self, id: u32) -> Done {
        if id.is_multiple_of(2) || self.streams.is_idle(id) {
            return Err(broken("a frame about a stream that was never opened"));
        }
        Ok(())
    }
}

const SIZE: Over = Over::Broken(Why::Protocol("a frame has a wrong size"));

fn number(payload: &[u8]) -> Result<u32, Over> {
    match *payload {
        [a, b, c, d] => Ok(u32::from_be_bytes([a, b, c, d])),
        _ => Err(SIZE),
    }
}
