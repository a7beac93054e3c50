//! One connection: requests out on streams, answers in, and the books of
//! both. It owns QUIC's state but no socket.

use profiles::sample::Fault;
use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{
    Connection, ConnectionHandle, Dir, Event, StreamEvent, StreamId, VarInt,
};

use super::end::End;
use super::exchange::{Ear, Exchange, Exchanges, Pool, Rest};
use super::tls::ALPN;
use crate::clock::Ns;
use crate::desk::Desk;
use crate::wire::http3::{
    Breach, Code, Memo, News, Requests, Seen, Uni, hello,
};
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

    /// The handshake is done: opens the control stream.
    fn connected(&mut self) -> Result<(), End> {
        let data = self.quic.crypto_session().handshake_data();
        let data = data.and_then(|data| data.downcast::<HandshakeData>().ok());
        if data.and_then(|data| data.protocol).as_deref() != Some(ALPN) {
            let words = "the server chose no `h3` by ALPN";
            return Err(End::Breach(Breach::fatal(Code::NO_ERROR, words)));
        }
        let hello = hello();
        let sent = self.quic.streams().open(Dir::Uni).and_then(|control| {
            self.quic.send_stream(control).write(&hello).ok()
        });
        if sent != Some(hello.len()) {
            let words = "the server allows no control stream";
            return Err(End::Breach(Breach::fatal(
                Code::STREAM_CREATION,
                words,
            )));
        }
        self.connected = true;
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
            Step::Reset(code) if Code(code) == Code::REQUEST_REJECTED => {
                self.cancel(id, Code::REQUEST_CANCELLED);
                desk.give_back(self.lane, flight.clone(), now);
            }
            Step::Reset(code) => {
                self.cancel(id, Code::REQUEST_CANCELLED);
                let words = format!("stream reset with 0x{code:x}");
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
        let rejected = code == Code::REQUEST_REJECTED;
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
            let words = format!("request stopped with 0x{:x}", code.0);
            desk.fault(Fault::Reset, &exchange.flight, now, &words);
        }
        kit.pool.put(exchange);
        Ok(())
    }

    /// Reads a unidirectional stream of the server.
    #[cold]
    fn uni(
        &mut self,
        id: StreamId,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Result<(), End> {
        let Some(at) = self.unis.iter().position(|(uni, _)| *uni == id) else {
            return Ok(());
        };
        let mut goaway = None;
        let (mut unknown, mut over) = (false, false);
        let mut recv = self.quic.recv_stream(id);
        let Ok(mut chunks) = recv.read(true) else { return Ok(()) };
        let uni = &mut self.unis[at].1;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let (seen, settled) = (&mut self.seen, &mut self.settled);
                    let news = |news| match news {
                        News::Settings(_) => *settled = true,
                        News::GoAway(from) => goaway = Some(from),
                        News::Unknown => unknown = true,
                    };
                    uni.feed(&chunk.bytes, seen, news).map_err(End::Breach)?;
                }
                Err(quinn_proto::ReadError::Blocked) => break,
                Ok(None) | Err(quinn_proto::ReadError::Reset(_)) => {
                    uni.end().map_err(End::Breach)?;
                    over = true;
                    break;
                }
            }
        }
        let _ = chunks.finalize();
        if unknown && !over {
            let _ =
                self.quic.recv_stream(id).stop(varint(Code::STREAM_CREATION));
        }
        if unknown || over {
            self.unis.swap_remove(at);
        }
        if let Some(from) = goaway {
            self.going(from, now, desk, kit);
        }
        Ok(())
    }

    /// The server goes away: what it will not look at is sent elsewhere.
    fn going(&mut self, from: u64, now: Ns, desk: &mut Desk, kit: &mut Kit) {
        self.goaway = Some(from);
        let lost = |index: &u64| *index >= from / 4;
        kit.indexes.clear();
        kit.indexes.extend(self.exchanges.keys().filter(|i| lost(i)));
        while let Some(index) = kit.indexes.pop() {
            if let Some(exchange) = self.exchanges.remove(&index) {
                self.cancel(exchange.stream, Code::REQUEST_CANCELLED);
                desk.give_back(self.lane, exchange.flight.clone(), now);
                kit.pool.put(exchange);
            }
        }
    }

    /// Finds requests that waited too long and gives them up; the others live
    /// on, unless not even an acknowledgement came for as long.
    pub(super) fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) -> Option<End> {
        let late =
            |exchange: &Exchange| exchange.flight.age(now) > desk.timeout;
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
    fn cancel(&mut self, id: StreamId, code: Code) {
        // Either side may be over already.
        let _ = self.quic.send_stream(id).reset(varint(code));
        let _ = self.quic.recv_stream(id).stop(varint(code));
    }

    /// The connection is over: books what was in flight.
    #[cold]
    pub(super) fn end(
        &mut self,
        end: &End,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) {
        let going = self.goaway.map_or(u64::MAX, |from| from / 4);
        for (index, exchange) in self.exchanges.drain() {
            let flight = &exchange.flight;
            let torn = !exchange.reader.is_idle();
            match end {
                End::Stopped => desk.books.unanswered(flight.age(now)),
                End::Silent => desk.books.timed_out(),
                _ if index >= going => {
                    desk.give_back(self.lane, flight.clone(), now);
                }
                End::Breach(breach) => {
                    let why = breach.why.to_string();
                    desk.fault(Fault::Malformed, flight, now, &why);
                }
                End::Lost(Fault::Closed, _) if torn => {
                    let why = "closed in mid-answer";
                    desk.fault(Fault::Torn, flight, now, why);
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
