//! HTTP/1.1 on one connection.
//!
//! How requests end when their connection does:
//!
//! - an answer that begins before its request is sent in full was not asked
//!   for by it: fault `surplus`, and counted as surplus;
//! - a stream that broke takes all requests in flight with it: fault
//!   `malformed`, since what they would have got can no longer be read;
//! - when the oldest request times out, those behind it on the connection do
//!   too: they can only be answered after it.

use profiles::ask::Ask;

use super::line::Line;
use super::{Out, Over, Session};
use crate::books::shown;
use crate::check::{Checker, Watch};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::plan::Plan;
use crate::wire::{Answer, End, Head, Memo, Reader, Sink, Step, Why};
use crate::write::Tails;

/// What the connections of one thread share.
#[derive(Debug)]
pub struct Kit {
    tails: Tails,
    /// The last head that was read.
    memo: Memo,
}

/// The requests and answers of one connection.
#[derive(Debug)]
pub struct Http1 {
    lane: usize,
    line: Line,
    out: Out,
    reader: Reader,
    watch: Watch,
    /// Requests queued on this connection since it was opened.
    begun: u32,
    /// Answers on it.
    answered: u32,
    right: u64,
}

impl Session for Http1 {
    type Kit = Kit;

    fn kit(plan: &Plan) -> anyhow::Result<Kit> {
        let tails = Tails::new(&plan.profile, &plan.spec.tokens);
        Ok(Kit { tails, memo: Memo::default() })
    }

    fn new(lane: usize) -> Http1 {
        Http1 {
            lane,
            line: Line::default(),
            out: Out::default(),
            reader: Reader::default(),
            watch: Watch::default(),
            begun: 0,
            answered: 0,
            right: 0,
        }
    }

    fn open(&mut self, _: Ns, _: &mut Desk, _: &mut Kit) -> Result<(), Over> {
        Ok(())
    }

    fn is_ready(&self) -> bool {
        true
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
            && self.out.has_room()
    }

    #[inline]
    fn fill(&mut self, now: Ns, desk: &mut Desk, kit: &mut Kit) {
        while self.has_room(desk) {
            let Some(flight) = desk.draw(self.lane, now) else { return };
            let start = self.out.end();
            let text = self.out.buffer();
            let block = kit.tails.write(flight.class, &flight.ask, text);
            self.out.set_block(block);
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
        while !input.is_empty() {
            let Some(front) = self.line.front() else {
                desk.books.surplus(|| {
                    format!("bytes nothing had asked for: {}", shown(input))
                });
                return Some(Over::Surplus);
            };
            let mut ear = Ear {
                early: !front.is_sent_in_full(&self.out),
                class: front.flight.class,
                ask: &front.flight.ask,
                check: &desk.check,
                watch: &mut self.watch,
            };
            let (used, step) = self.reader.feed(input, &mut kit.memo, &mut ear);
            input = &input[used..];
            match step {
                Step::Incomplete => return None,
                Step::Broken(why) => return Some(Over::Broken(why)),
                Step::Done(answer) => {
                    let over = self.finish(&answer, now, desk);
                    if over.is_some() {
                        return over;
                    }
                }
            }
        }
        None
    }

    fn closed(&mut self, now: Ns, desk: &mut Desk, _: &mut Kit) -> Over {
        match self.reader.end() {
            End::Done(answer) => {
                self.finish(&answer, now, desk).unwrap_or(Over::Closed)
            }
            End::Idle | End::Torn => Over::Closed,
        }
    }

    fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        _: &mut Kit,
    ) -> Option<Over> {
        self.line.expire(now, desk)
    }

    fn end(&mut self, over: Over, now: Ns, desk: &mut Desk) {
        let torn = !self.reader.is_idle();
        self.line.end(over, torn, now, desk);
        self.out.clear();
        self.reader = Reader::default();
        self.begun = 0;
        self.answered = 0;
    }
}

impl Http1 {
    #[inline]
    fn finish(
        &mut self,
        answer: &Answer,
        now: Ns,
        desk: &mut Desk,
    ) -> Option<Over> {
        let flight = self.line.pop()?;
        let (class, ask) = (flight.class, &flight.ask);
        let verdict = desk.check.finish(&mut self.watch, class, ask, answer);
        self.answered += 1;
        self.right += u64::from(desk.answered(&flight, verdict, answer, now));
        if self.answered >= desk.lanes[self.lane].per_connection {
            Some(Over::Enough)
        } else if answer.close {
            Some(Over::Announced)
        } else {
            None
        }
    }
}

/// Lends the reader what it needs to check an answer as it comes.
struct Ear<'a> {
    early: bool,
    class: usize,
    ask: &'a Ask,
    check: &'a Checker,
    watch: &'a mut Watch,
}

impl Sink for Ear<'_> {
    #[inline]
    fn head(&mut self, head: &Head<'_>) -> Result<(), Why> {
        if self.early {
            return Err(Why::Early);
        }
        self.check.head(self.watch, self.class, self.ask, head)
    }

    #[inline]
    fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        self.watch.body(bytes)
    }
}
