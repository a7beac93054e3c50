//! TLS around any other protocol.
//!
//! rustls shakes hands: TLS 1.3 or 1.2, one application protocol offered and
//! no other taken, the name `localhost`. The certificate is believed as it
//! is, since the arena's is signed by itself and clients never verify it;
//! only that the server holds its key is checked. No session is ever resumed:
//! every connection is a full handshake, and tickets are thrown away.
//!
//! Once that is done the handshake's state is dropped, and records are opened
//! where they lie in the input and sealed where they lie in the output. Only
//! a record that is cut off by the end of the input is copied, into a buffer
//! that the thread's connections share.
//!
//! - A request is sent when the first byte of a record that holds its first
//!   byte is handed to the kernel; it is sent in full when the last record of
//!   it is. An answer that begins before that is early.
//! - `close_notify` is the end of the stream; no other end of it completes an
//!   answer without a length. On our side a connection ends without one: it
//!   is reset, as without TLS.
//! - A fatal alert, or a record that does not decrypt, breaks the stream.

mod handshake;
mod keys;
mod record;
#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;
use std::io::IoSlice;

use profiles::data::UploadBlock;

use super::{Out, Over, SLICES, Session};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::plan::Plan;
use crate::wire::Why;
use handshake::{Handshake, Offer};
use keys::{Keys, Word};
use record::{DATA, MAX_PLAIN, MAX_RECORD};

/// So much of a large body is sealed ahead of what the kernel took.
const AHEAD: usize = 4 * MAX_PLAIN;

/// What the connections of one thread share.
#[derive(Debug)]
pub struct Kit<K> {
    inner: K,
    offer: Offer,
    /// Buffers for records in pieces, not in use.
    spare: Vec<Vec<u8>>,
}

/// A protocol inside TLS.
#[derive(Debug)]
pub struct Tls<S: Session> {
    inner: S,
    stage: Stage,
    out: Out,
    /// Records in `out` that hold what the inner session says.
    sealed: VecDeque<Sealed>,
    /// Bytes of the inner session's that are in `sealed`.
    ahead: usize,
    /// Where in `out` our answer to a wish for new keys ends.
    rekeyed: u64,
    /// The beginning of a record whose end has not come.
    torn: Vec<u8>,
}

#[derive(Debug)]
enum Stage {
    Down,
    Greeting(Box<Handshake>),
    Up(Box<Keys>),
}

/// Where in `out` a record is, and how many bytes of the inner session's in
/// it were not reported as sent.
#[derive(Debug)]
struct Sealed {
    start: u64,
    end: u64,
    left: usize,
}

fn broken(why: &'static str) -> Over {
    Over::Broken(Why::Protocol(why))
}

impl<S: Session> Session for Tls<S> {
    type Kit = Kit<S::Kit>;

    fn kit(plan: &Plan) -> anyhow::Result<Self::Kit> {
        let offer = Offer::new(plan.profile.protocol)?;
        Ok(Kit { inner: S::kit(plan)?, offer, spare: Vec::new() })
    }

    fn new(lane: usize) -> Tls<S> {
        Tls {
            inner: S::new(lane),
            stage: Stage::Down,
            out: Out::default(),
            sealed: VecDeque::new(),
            ahead: 0,
            rekeyed: 0,
            torn: Vec::new(),
        }
    }

    fn open(
        &mut self,
        _: Ns,
        _: &mut Desk,
        kit: &mut Self::Kit,
    ) -> Result<(), Over> {
        let hello = Handshake::begin(&kit.offer, self.out.buffer());
        self.stage = Stage::Greeting(Box::new(hello.map_err(broken)?));
        Ok(())
    }

    fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Up(_)) && self.inner.is_ready()
    }

    fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    fn has_answered(&self) -> bool {
        self.inner.has_answered()
    }

    fn right(&self) -> u64 {
        self.inner.right()
    }

    #[inline]
    fn out(&self) -> &Out {
        &self.out
    }

    #[inline]
    fn has_room(&self, desk: &Desk) -> bool {
        self.inner.has_room(desk)
    }

    #[inline]
    fn fill(&mut self, now: Ns, desk: &mut Desk, kit: &mut Self::Kit) {
        self.inner.fill(now, desk, &mut kit.inner);
        self.seal(desk);
    }

    #[inline]
    fn wrote(&mut self, n: usize, now: Ns, desk: &mut Desk) {
        self.out.advance(n);
        let sent = self.out.text_sent();
        let mut told = 0;
        while let Some(record) = self.sealed.front_mut() {
            if sent >= record.end {
                told += record.left;
                self.sealed.pop_front();
                continue;
            }
            // All but the last byte of a record that is under way: what it
            // holds is sent, but not in full.
            if sent > record.start && record.left > 1 {
                told += record.left - 1;
                record.left = 1;
            }
            break;
        }
        if told > 0 {
            self.ahead -= told;
            self.inner.wrote(told, now, desk);
        }
        if self.out.is_empty() {
            self.seal(desk);
        }
    }

    #[inline]
    fn received(
        &mut self,
        input: &mut [u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Self::Kit,
    ) -> Option<Over> {
        let over = match self.stage {
            Stage::Up(_) => self.records(input, now, desk, kit),
            _ => self.greet(input, now, desk, kit),
        };
        if over.is_none() {
            self.seal(desk);
        }
        over
    }

    /// Without `close_notify` the stream may be cut off anywhere, so it
    /// completes nothing.
    fn closed(&mut self, _: Ns, _: &mut Desk, _: &mut Self::Kit) -> Over {
        Over::Closed
    }

    fn parting(&self) -> Option<String> {
        self.inner.parting()
    }

    fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Self::Kit,
    ) -> Option<Over> {
        let over = self.inner.expire(now, desk, &mut kit.inner);
        self.seal(desk);
        over
    }

    fn end(&mut self, over: Over, now: Ns, desk: &mut Desk) {
        self.inner.end(over, now, desk);
        self.stage = Stage::Down;
        self.out.clear();
        self.sealed.clear();
        self.ahead = 0;
        self.rekeyed = 0;
        self.torn = Vec::new();
    }
}

impl<S: Session> Tls<S> {
    /// Bytes of the handshake.
    #[cold]
    fn greet(
        &mut self,
        input: &[u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit<S::Kit>,
    ) -> Option<Over> {
        let Stage::Greeting(handshake) = &mut self.stage else { return None };
        match handshake.received(input, self.out.buffer()) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(why) => return Some(broken(why)),
        }
        let done = std::mem::replace(&mut self.stage, Stage::Down);
        let Stage::Greeting(handshake) = done else { return None };
        let (keys, mut early, mut rest) = match handshake.finish() {
            Ok(done) => done,
            Err(why) => return Some(broken(why)),
        };
        self.stage = Stage::Up(Box::new(keys));
        if let Err(over) = self.inner.open(now, desk, &mut kit.inner) {
            return Some(over);
        }
        if !early.is_empty() {
            let inner = &mut kit.inner;
            let over = self.inner.received(&mut early, now, desk, inner);
            if over.is_some() {
                return over;
            }
        }
        self.records(&mut rest, now, desk, kit)
    }

    /// Bytes of an established connection.
    #[inline]
    fn records(
        &mut self,
        mut input: &mut [u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit<S::Kit>,
    ) -> Option<Over> {
        if !self.torn.is_empty() {
            let (used, over) = self.mend(input, now, desk, kit);
            if over.is_some() {
                return over;
            }
            input = &mut input[used..];
        }
        loop {
            let len = match record::length(input) {
                Ok(len) => len,
                Err(why) => return Some(broken(why)),
            };
            let Some(len) = len.filter(|len| *len <= input.len()) else {
                break;
            };
            let (record, rest) = input.split_at_mut(len);
            let over = self.record(record, now, desk, kit);
            if over.is_some() {
                return over;
            }
            input = rest;
        }
        if !input.is_empty() {
            self.torn = kit
                .spare
                .pop()
                .unwrap_or_else(|| Vec::with_capacity(MAX_RECORD));
            self.torn.extend_from_slice(input);
        }
        None
    }

    /// More of a torn record. Returns how much of `input` belongs to it.
    #[cold]
    fn mend(
        &mut self,
        input: &[u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit<S::Kit>,
    ) -> (usize, Option<Over>) {
        let mut used = 0;
        loop {
            let whole = match record::length(&self.torn) {
                Ok(whole) => whole,
                Err(why) => return (used, Some(broken(why))),
            };
            let missing = whole.unwrap_or(record::HEAD) - self.torn.len();
            if missing == 0 {
                break;
            }
            let n = missing.min(input.len() - used);
            if n == 0 {
                return (used, None);
            }
            self.torn.extend_from_slice(&input[used..used + n]);
            used += n;
        }
        let mut record = std::mem::take(&mut self.torn);
        let over = self.record(&mut record, now, desk, kit);
        record.clear();
        kit.spare.push(record);
        (used, over)
    }

    /// One whole record.
    #[inline]
    fn record(
        &mut self,
        record: &mut [u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit<S::Kit>,
    ) -> Option<Over> {
        let Stage::Up(keys) = &mut self.stage else { return None };
        let (kind, content) = match keys.rx.open(record) {
            Ok(opened) => opened,
            Err(why) => return Some(broken(why)),
        };
        let content = &mut record[content];
        if kind == DATA && keys.takes_data() {
            if content.is_empty() {
                return None;
            }
            return self.inner.received(content, now, desk, &mut kit.inner);
        }
        match keys.word(kind, content) {
            Ok(Word::Nothing) => None,
            Ok(Word::Close) => {
                Some(self.inner.closed(now, desk, &mut kit.inner))
            }
            // One answer is enough for all that came before it was sent.
            Ok(Word::Rekey) if self.out.text_sent() < self.rekeyed => None,
            Ok(Word::Rekey) => {
                let done = keys.rekey(self.out.buffer());
                self.rekeyed = self.out.end();
                done.err().map(broken)
            }
            Err(why) => Some(broken(why)),
        }
    }

    /// Seals what the inner session has to say.
    #[inline]
    fn seal(&mut self, desk: &Desk) {
        let Stage::Up(keys) = &mut self.stage else { return };
        let said = self.inner.out();
        let Some(text) = said.text() else {
            return self.seal_large(desk.block.as_deref());
        };
        self.out.set_large(false);
        for content in text[self.ahead..].chunks(MAX_PLAIN) {
            self.ahead += content.len();
            seal_one(keys, content, &mut self.out, &mut self.sealed);
        }
    }

    /// Seals more of a large body once all that was sealed is sent, so that
    /// the output does not grow with it.
    #[cold]
    fn seal_large(&mut self, block: Option<&UploadBlock>) {
        let Stage::Up(keys) = &mut self.stage else { return };
        self.out.set_large(true);
        if !self.out.is_empty() {
            return;
        }
        let mut slices = [IoSlice::new(&[]); SLICES];
        let block = block.map_or(&[][..], UploadBlock::as_bytes);
        let n = self.inner.out().slices(block, &mut slices);
        for slice in &slices[..n] {
            for content in slice.chunks(MAX_PLAIN) {
                if self.ahead >= AHEAD {
                    return;
                }
                self.ahead += content.len();
                seal_one(keys, content, &mut self.out, &mut self.sealed);
            }
        }
    }
}

#[inline]
fn seal_one(
    keys: &mut Keys,
    content: &[u8],
    out: &mut Out,
    sealed: &mut VecDeque<Sealed>,
) {
    let start = out.end();
    // A failure leaves a record that no server can read.
    let _ = keys.seal(content, out.buffer());
    sealed.push_back(Sealed { start, end: out.end(), left: content.len() });
}
