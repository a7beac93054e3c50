//! Requests that end without an answer, alone or with their connection.

use profiles::sample::Fault;
use quinn_proto::StreamId;

use super::{Kit, Link, varint};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::engine::quic::end::End;
use crate::engine::quic::exchange::Exchange;
use crate::wire::http3::Code;

impl Link {
    /// Finds requests that waited too long and gives them up; the others live
    /// on, unless not even an acknowledgement came for as long.
    pub(in crate::engine::quic) fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Option<End> {
        let late =
            |exchange: &Exchange| exchange.flight.waited(now) > desk.timeout;
        kit.indexes.clear();
        let found = self.exchanges.iter().filter(|(_, e)| late(e));
        kit.indexes.extend(found.map(|(index, _)| *index));
        if kit.indexes.is_empty() {
            return None;
        }
        let since = *self.unheard.get_or_insert(now);
        if now.saturating_sub(since) > desk.timeout {
            return Some(End::Silent);
        }
        while let Some(index) = kit.indexes.pop() {
            if let Some(exchange) = self.exchanges.remove(&index) {
                self.cancel(exchange.stream, Code::REQUEST_CANCELLED);
                desk.books.timed_out();
                kit.pool.put(exchange);
            }
        }
        None
    }

    /// Nothing more is wanted of a stream, in either direction.
    #[cold]
    pub(super) fn cancel(&mut self, id: StreamId, code: Code) {
        // Either side may be over already.
        let _ = self.quic.send_stream(id).reset(varint(code));
        let _ = self.quic.recv_stream(id).stop(varint(code));
    }

    /// The connection is over: books what was in flight.
    #[cold]
    pub(in crate::engine::quic) fn end(
        &mut self,
        end: &End,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) {
        // Not one that has just used up what it had, and awaits more.
        if matches!(end, End::Stopped)
            && self.is_ready()
            && self.full
            && self.exchanges.is_empty()
            && (self.begun == 0 || desk.books.sent == 0)
        {
            desk.books.note("the server granted no streams (MAX_STREAMS)");
        }
        let going = self.goaway.map_or(u64::MAX, |from| from / 4);
        for (index, exchange) in self.exchanges.drain() {
            let flight = &exchange.flight;
            let torn = !exchange.reader.is_idle();
            match end {
                End::Stopped => desk.unanswered(flight, now),
                End::Silent => desk.books.timed_out(),
                _ if index >= going => {
                    desk.give_back(self.lane, flight.clone(), now);
                }
                End::Breach(breach) => {
                    let why = breach.why.to_string();
                    desk.fault(Fault::Malformed, flight, now, &why);
                }
                End::Lost(Fault::Closed, why) if torn => {
                    let why = format!("{why} in mid-answer");
                    desk.fault(Fault::Torn, flight, now, &why);
                }
                End::Idle => {
                    let (fault, why) = End::idled(torn);
                    desk.fault(fault, flight, now, why);
                }
                End::Lost(fault, why) => desk.fault(*fault, flight, now, why),
                End::Enough | End::Announced | End::Version => {
                    desk.fault(Fault::Closed, flight, now, "closed");
                }
            }
            kit.pool.put(exchange);
        }
    }
}
