//! What the client says: requests, and their bodies as far as they may go.

use super::flow::Inflow;
use super::{Http2, Kit, MOST_QUEUED};
use crate::desk::Desk;
use crate::session::Flight;
use crate::wire::http2::{Load, MAX_FRAME, flag, kind, put_head};

impl Http2 {
    /// Queues a request, and its body as far as the windows let it.
    #[inline]
    pub(super) fn ask(&mut self, flight: Flight, desk: &Desk, kit: &mut Kit) {
        let most = desk.lanes[self.lane].in_flight;
        let slot = self.streams.open(flight, most);
        let stream = &mut self.streams.slots[slot];
        stream.start = self.out.end();
        stream.inflow = Inflow::new(kit.windows.stream);
        stream.window = self.first_window;
        self.unsent.push_back((stream.start, slot as u16, stream.id));
        self.begun += 1;
        let Some(flight) = &stream.flight else { return };
        let load = kit.requests.write(
            flight.class,
            &flight.ask,
            stream.id,
            &mut self.encoder,
            self.out.buffer(),
        );
        match load {
            Load::None => stream.end = self.out.end(),
            Load::Small => {
                let small = kit.requests.small();
                let len = small.len() as i64;
                if len <= stream.window.min(self.window)
                    && self.waiting.is_empty()
                {
                    let out = self.out.buffer();
                    let end = flag::END_STREAM;
                    put_head(out, small.len(), kind::DATA, end, stream.id);
                    out.extend_from_slice(small);
                    stream.window -= len;
                    self.window -= len;
                    stream.end = self.out.end();
                    return;
                }
                let rest = &mut stream.rest;
                (rest.at, rest.left) = (0, small.len());
                rest.own.clear();
                rest.own.extend_from_slice(small);
                self.waiting.push_back(slot as u16);
            }
            Load::Slice { offset, len } => {
                let rest = &mut stream.rest;
                (rest.at, rest.left) = (offset, len);
                rest.own.clear();
                self.waiting.push_back(slot as u16);
            }
        }
    }

    /// Queues of the bodies that wait what the windows let through.
    #[cold]
    pub(super) fn flush(&mut self, desk: &Desk) {
        let block = desk.block.as_ref().map_or(&[][..], |b| b.as_bytes());
        for _ in 0..self.waiting.len() {
            let Some(turn) = self.waiting.pop_front() else { return };
            let stream = &mut self.streams.slots[usize::from(turn)];
            while stream.rest.left > 0 {
                let queued = self.out.end() - self.out.text_sent();
                let room = stream.window.min(self.window);
                if room <= 0 || queued >= MOST_QUEUED {
                    break;
                }
                let rest = &mut stream.rest;
                let n = rest.left.min(room as usize).min(MAX_FRAME);
                let own = !rest.own.is_empty();
                let from = if own { &rest.own[..] } else { block };
                let bytes = from.get(rest.at..rest.at + n).unwrap_or(&[]);
                rest.at += n;
                rest.left -= n;
                let end = match rest.left {
                    0 => flag::END_STREAM,
                    _ => 0,
                };
                let out = self.out.buffer();
                put_head(out, bytes.len(), kind::DATA, end, stream.id);
                out.extend_from_slice(bytes);
                stream.window -= n as i64;
                self.window -= n as i64;
            }
            match stream.rest.left {
                0 => stream.end = self.out.end(),
                _ => self.waiting.push_back(turn),
            }
        }
    }
}
