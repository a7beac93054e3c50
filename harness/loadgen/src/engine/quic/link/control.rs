//! The connection beside its requests: the handshake's end, and the streams
//! that the server opens.

use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{Dir, ReadError, StreamId};

use super::{Kit, Link, varint};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::engine::quic::end::End;
use crate::engine::quic::tls::ALPN;
use crate::wire::http3::{Breach, Code, News, hello};

impl Link {
    /// The handshake is done: opens the control stream.
    pub(super) fn connected(&mut self) -> Result<(), End> {
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

    /// Reads a unidirectional stream of the server.
    #[cold]
    pub(super) fn uni(
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
                Err(ReadError::Blocked) => break,
                Ok(None) | Err(ReadError::Reset(_)) => {
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
}
