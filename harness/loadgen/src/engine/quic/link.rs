//! One connection: requests out on streams, answers in, and the books of
//! both. It owns QUIC's state but no socket.

mod control;
mod ending;

use profiles::sample::Fault;
use quinn_proto::{
    Connection, ConnectionHandle, Dir, Event, StreamEvent, StreamId, VarInt,
};

use super::end::End;
use super::exchange::{Ear, Exchange, Exchanges, Pool, Rest};
use super::names::h3_name;
use crate::clock::Ns;
use crate::desk::Desk;
use crate::wire::http3::{Breach, Code, Memo, Requests, Seen, Uni};
use crate::wire::{Answer, Why};

/// Unidirectional streams of the server that are read at a time.
const MOST_UNIS: usize = 64;

/// What the connections of one thread share.
#[derive(Debug)]
pub(super) struct Kit {
    pub(super) requests: Requests,
    /// The heads that were read last.
    pub(super) memo: Memo,
    pub(super) pool: Pool,
    /// The request being written.
    pub(super) text: Vec<u8>,
    /// Only saves an allocation.
    pub(super) indexes: Vec<u64>,
}

/// One connection.
pub(super) struct Link {
    pub(super) quic: Connection,
    pub(super) handle: ConnectionHandle,
    lane: usize,
    exchanges: Exchanges,
    unis: Vec<(StreamId, Uni)>,
    seen: Seen,
    connected: bool,
    settled: bool,
    /// The server takes no requests from this stream id on.
    goaway: Option<u64>,
    /// A stream that was opened and not used.
    spare: Option<StreamId>,
    /// The server allows no more streams for now.
    full: bool,
    /// Requests begun on this connection.
    begun: u32,
    /// Answers on it.
    answered: u32,
    /// Right answers on it.
    pub(super) right: u64,
    /// Since when something was sent that the server must acknowledge, and
    /// nothing came.
    pub(super) unheard: Option<Ns>,
}

/// What a step on a stream came to.
enum Step {
    /// More must come.
    Blocked,
    Done(Answer),
    Reset(u64),
    Breach(Breach),
}

impl Link {
    pub(super) fn new(
        quic: Connection,
        handle: ConnectionHandle,
        lane: usize,
    ) -> Link {
        Link {
            quic,
            handle,
            lane,
            exchanges: Exchanges::default(),
            unis: Vec::new(),
            seen: Seen::default(),
            connected: false,
            settled: false,
            goaway: None,
            spare: None,
            full: false,
            begun: 0,
            answered: 0,
            right: 0,
            unheard: None,
        }
    }

    /// Whether the handshake is done and the server's settings are known.
    pub(super) fn is_ready(&self) -> bool {
        self.connected && self.settled
    }

    /// Whether any answer came on it.
    pub(super) fn has_answered(&self) -> bool {
        self.answered > 0
    }

    /// Whether no request is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Whether another request may be drawn now.
    #[inline]
    pub(super) fn has_room(&self, desk: &Desk) -> bool {
        let lane = &desk.lanes[self.lane];
        self.exchanges.len() < lane.in_flight
            && self.begun < lane.per_connection
            && !self.full
            && self.goaway.is_none()
    }

    /// Draws requests while there is room and the desk has leave. They are
    /// sent when the transport takes them: what it then waits for is part of
    /// the path, as a TCP socket's buffer is.
    #[inline]
    pub(super) fn fill(&mut self, now: Ns, desk: &mut Desk, kit: &mut Kit) {
        while self.has_room(desk) {
            let spare = self.spare.take();
            let open = spare.or_else(|| self.quic.streams().open(Dir::Bi));
            let Some(stream) = open else {
                self.full = true;
                desk.books.withheld();
                return;
            };
            let Some(mut flight) = desk.draw(self.lane, now) else {
                self.spare = Some(stream);
                return;
            };
            kit.text.clear();
            let (class, ask) = (flight.class, &flight.ask);
            let upload = kit.requests.write(class, ask, &mut kit.text);
            desk.sent(&mut flight, now);
            self.unheard.get_or_insert(now);
            self.begun += 1;
            let mut exchange = kit.pool.take(stream, flight);
            let mut out = self.quic.send_stream(stream);
            let done = out.write(&kit.text).unwrap_or(0);
            if done == kit.text.len() && upload.is_none() {
                let _ = out.finish();
            } else {
                let text = kit.text.clone();
                exchange.rest = Some(Rest { text, done, upload });
                self.write_on(&mut exchange, desk);
            }
            self.exchanges.insert(stream.index(), exchange);
        }
    }

    /// Hands the transport as much of a request as it takes.
    fn write_on(&mut self, exchange: &mut Exchange, desk: &Desk) {
        let Some(rest) = &mut exchange.rest else { return };
        let mut out = self.quic.send_stream(exchange.stream);
        while rest.done < rest.text.len() {
            let Ok(n) = out.write(&rest.text[rest.done..]) else { return };
            rest.done += n;
        }
        while let Some(upload) = &mut rest.upload
            && upload.len > 0
        {
            let block = desk.block.as_ref().map_or(&[][..], |b| b.as_bytes());
            let end = upload.offset + upload.len;
            let Some(body) = block.get(upload.offset..end) else { break };
            let Ok(n) = out.write(body) else { return };
            upload.offset += n;
            upload.len -= n;
        }
        let _ = out.finish();
        exchange.rest = None;
    }

    /// Deals with all that happened; `Some` when the connection is over.
    #[inline]
    pub(super) fn events(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Option<End> {
        while let Some(event) = self.quic.poll() {
            let step = match event {
                Event::Stream(StreamEvent::Readable { id }) => {
                    self.readable(id, now, desk, kit)
                }
                Event::Stream(event) => self.stream(event, now, desk, kit),
                Event::Connected => self.connected(),
                Event::ConnectionLost { reason } => Err(End::lost(&reason)),
                _ => Ok(()),
            };
            if let Err(end) = step {
                return Some(end);
            }
        }
        let over = self.exchanges.is_empty() && self.begun > 0;
        if over && self.begun >= desk.lanes[self.lane].per_connection {
            return Some(End::Enough);
        }
        let going = self.exchanges.is_empty() && self.goaway.is_some();
        going.then_some(End::Announced)
    }

    fn stream(
        &mut self,
        event: StreamEvent,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Result<(), End> {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = self.quic.streams().accept(Dir::Uni) {
                    if self.unis.len() >= MOST_UNIS {
                        return Err(End::Breach(Breach::fatal(
                            Code::EXCESSIVE_LOAD,
                            "too many unidirectional streams",
                        )));
                    }
                    self.unis.push((id, Uni::default()));
                    self.uni(id, now, desk, kit)?;
                }
            }
            StreamEvent::Writable { id } => {
                if let Some(mut exchange) = self.exchanges.remove(&id.index()) {
                    self.write_on(&mut exchange, desk);
                    self.exchanges.insert(id.index(), exchange);
                }
            }
            StreamEvent::Stopped { id, error_code } => {
                let code = Code(error_code.into_inner());
                self.stopped(id, code, now, desk, kit)?;
            }
            StreamEvent::Available { dir: Dir::Bi } => self.full = false,
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn readable(
        &mut self,
        id: StreamId,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Result<(), End> {
        if id.dir() == Dir::Uni {
            return self.uni(id, now, desk, kit);
        }
        // One that was given up may have had something under way.
        let Some(exchange) = self.exchanges.get_mut(&id.index()) else {
            return Ok(());
        };
        let step = read(&mut self.quic, exchange, desk, &mut kit.memo);
        if matches!(step, Step::Blocked) {
            return Ok(());
        }
        let Some(mut exchange) = self.exchanges.remove(&id.index()) else {
            return Ok(());
        };
        let flight = &exchange.flight;
        match step {
            Step::Blocked => {}
            Step::Done(answer) => {
                let (class, ask) = (flight.class, &flight.ask);
                let watch = &mut exchange.watch;
                let verdict = desk.check.finish(watch, class, ask, &answer);
                self.answered += 1;
                let right = desk.answered(flight, verdict, &answer, now);
                self.right += u64::from(right);
            }
            // One that is being answered was processed, whatever the code.
            Step::Reset(code)
                if Code(code) == Code::REQUEST_REJECTED
                    && exchange.reader.is_idle() =>
            {
                self.cancel(id, Code::REQUEST_CANCELLED);
                desk.give_back(self.lane, flight.clone(), now);
            }
            Step::Reset(code) => {
                self.cancel(id, Code::REQUEST_CANCELLED);
                let words = format!("stream reset with {}", h3_name(code));
                desk.fault(Fault::Reset, flight, now, &words);
            }
            Step::Breach(breach) if breach.fatal => {
                self.exchanges.insert(id.index(), exchange);
                return Err(End::Breach(breach));
            }
            Step::Breach(breach) => {
                self.cancel(id, breach.code);
                let why = breach.why.to_string();
                let fault = match breach.why {
                    Why::Early => {
                        let words = || format!("{}: {why}", flight.words());
                        desk.books.surplus(words);
                        Fault::Surplus
                    }
                    _ => Fault::Malformed,
                };
                desk.fault(fault, flight, now, &why);
            }
        }
        kit.pool.put(exchange);
        Ok(())
    }

    /// The server wants no more of a request. It need not have read all it
    /// was sent, so that alone says nothing of the answer.
    #[cold]
    fn stopped(
        &mut self,
        id: StreamId,
        code: Code,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Result<(), End> {
        let stop = varint(Code::REQUEST_CANCELLED);
        let _ = self.quic.send_stream(id).reset(stop);
        // A reset that came with it says more.
        self.readable(id, now, desk, kit)?;
        let Some(exchange) = self.exchanges.get(&id.index()) else {
            return Ok(());
        };
        let rejected =
            code == Code::REQUEST_REJECTED && exchange.reader.is_idle();
        let fine = matches!(code, Code::NO_ERROR | Code(0));
        if !rejected && (fine || exchange.rest.is_none()) {
            return Ok(());
        }
        let Some(exchange) = self.exchanges.remove(&id.index()) else {
            return Ok(());
        };
        self.cancel(id, Code::REQUEST_CANCELLED);
        if rejected {
            desk.give_back(self.lane, exchange.flight.clone(), now);
        } else {
            let words = format!("request stopped with {}", h3_name(code.0));
            desk.fault(Fault::Reset, &exchange.flight, now, &words);
        }
        kit.pool.put(exchange);
        Ok(())
    }
}

/// Reads what has come on a request stream.
#[inline]
fn read(
    quic: &mut Connection,
    exchange: &mut Exchange,
    desk: &Desk,
    memo: &mut Memo,
) -> Step {
    let mut recv = quic.recv_stream(exchange.stream);
    let Ok(mut chunks) = recv.read(true) else { return Step::Blocked };
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                let mut ear = Ear {
                    early: exchange.rest.is_some(),
                    class: exchange.flight.class,
                    ask: &exchange.flight.ask,
                    check: &desk.check,
                    watch: &mut exchange.watch,
                };
                let bytes = &chunk.bytes;
                if let Err(breach) = exchange.reader.feed(bytes, memo, &mut ear)
                {
                    return Step::Breach(breach);
                }
            }
            Ok(None) => {
                return match exchange.reader.end() {
                    Ok(answer) => Step::Done(answer),
                    Err(breach) => Step::Breach(breach),
                };
            }
            Err(quinn_proto::ReadError::Blocked) => return Step::Blocked,
            Err(quinn_proto::ReadError::Reset(code)) => {
                return Step::Reset(code.into_inner());
            }
        }
    }
}

fn varint(code: Code) -> VarInt {
    VarInt::from_u64(code.0).unwrap_or(VarInt::MAX)
}
