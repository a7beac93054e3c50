//! One HTTP/1.1 connection without its socket: what to send next, and what
//! the bytes that came mean for the requests in flight.
//!
//! It is handed bytes and moments and does no I/O, so that any engine can
//! drive it and any other protocol can stand in its place.
//!
//! How requests end when their connection does:
//!
//! - an answer that begins before its request is sent in full was not asked
//!   for by it: fault `surplus`, and counted as surplus;
//! - a stream that broke takes all requests in flight with it: fault
//!   `malformed`, since what they would have got can no longer be read;
//! - when the oldest request times out, those behind it on the connection do
//!   too: they can only be answered after it.

mod out;

use std::collections::VecDeque;

use profiles::ask::Ask;
use profiles::sample::Fault;
use rustix::io::Errno;

pub use out::{Out, SLICES};

use crate::books::{Books, shown};
use crate::check::{Checker, Watch};
use crate::clock::Ns;
use crate::desk::Desk;
use crate::wire::{Answer, End, Head, Reader, Sink, Step, Why};

/// A request that is queued or in flight.
#[derive(Debug)]
struct Flight {
    class: usize,
    ask: Ask,
    /// When its first byte was handed to the kernel.
    sent: Option<Ns>,
    /// Where its head and small body begin and end in the text of [`Out`].
    start: u64,
    end: u64,
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Over {
    /// It got the answers it was opened for; the client closes.
    Enough,
    /// The server announced that it closes.
    Announced,
    /// The server closed.
    Closed,
    /// The system says so.
    Error(Errno),
    /// The stream cannot be read on.
    Broken(Why),
    /// Bytes came while nothing was in flight.
    Surplus,
    /// The oldest request waited too long.
    TimedOut,
    /// The warm-up's time is up, or the window's.
    Stopped,
}

/// The requests and answers of one connection.
#[derive(Debug, Default)]
pub struct Session {
    flights: VecDeque<Flight>,
    /// Flights at the back of which no byte is sent.
    unsent: usize,
    out: Out,
    reader: Reader,
    watch: Watch,
    /// Requests queued on this connection since it was opened.
    begun: u32,
    /// Answers on it.
    answered: u32,
    /// Right answers in the window, over all connections of this slot.
    pub right: u64,
}

impl Session {
    /// Whether nothing is in flight or half sent.
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// Whether any answer came on this connection.
    pub fn has_answered(&self) -> bool {
        self.answered > 0
    }

    /// When the oldest request was sent.
    pub fn oldest(&self) -> Option<Ns> {
        self.flights.front().and_then(|f| f.sent)
    }

    /// What there is to send.
    pub fn out(&self) -> &Out {
        &self.out
    }

    /// Draws requests until enough are in flight.
    #[inline]
    pub fn fill(&mut self, desk: &mut Desk) {
        while self.flights.len() < desk.in_flight
            && self.begun < desk.per_connection
            && self.out.has_room()
        {
            let Some((class, ask)) = desk.drawer.draw(&mut desk.rng) else {
                return;
            };
            let start = self.out.end();
            self.out.push(desk, class, &ask);
            let end = self.out.end();
            let flight = Flight { class, ask, sent: None, start, end };
            self.flights.push_back(flight);
            self.unsent += 1;
            self.begun += 1;
        }
    }

    /// `n` bytes of [`Session::out`] were handed to the kernel at `now`.
    #[inline]
    pub fn wrote(&mut self, n: usize, now: Ns, books: &mut Books) {
        self.out.advance(n);
        while self.unsent > 0 {
            let index = self.flights.len() - self.unsent;
            let flight = &mut self.flights[index];
            if flight.start >= self.out.text_sent() {
                break;
            }
            flight.sent = Some(now);
            books.sent(flight.class);
            self.unsent -= 1;
        }
    }

    /// Bytes came. `Some` when the connection is over.
    #[inline]
    pub fn received(
        &mut self,
        mut input: &[u8],
        now: Ns,
        desk: &mut Desk,
    ) -> Option<Over> {
        while !input.is_empty() {
            let Some(flight) =
                self.flights.front().filter(|f| f.sent.is_some())
            else {
                desk.books.surplus(|| {
                    format!("bytes nothing had asked for: {}", shown(input))
                });
                return Some(Over::Surplus);
            };
            let last = self.flights.len() - self.unsent == 1;
            let early = last && !self.out.is_sent_to(flight.end);
            let mut ear = Ear {
                early,
                class: flight.class,
                ask: &flight.ask,
                check: &desk.check,
                watch: &mut self.watch,
            };
            let (used, step) =
                self.reader.feed(input, &mut desk.memo, &mut ear);
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

    /// The server closed. That may be the end of an answer.
    pub fn closed(&mut self, now: Ns, desk: &mut Desk) -> Over {
        match self.reader.end() {
            End::Done(answer) => {
                self.finish(&answer, now, desk).unwrap_or(Over::Closed)
            }
            End::Idle | End::Torn => Over::Closed,
        }
    }

    #[inline]
    fn finish(
        &mut self,
        answer: &Answer,
        now: Ns,
        desk: &mut Desk,
    ) -> Option<Over> {
        let flight = self.flights.pop_front()?;
        let (class, ask) = (flight.class, &flight.ask);
        let took = now.saturating_sub(flight.sent.unwrap_or(now));
        let verdict = desk.check.finish(&mut self.watch, class, ask, answer);
        self.answered += 1;
        match verdict {
            _ if took > desk.timeout => desk.books.timed_out(),
            Ok(()) => {
                let counted = desk.books.right(class, answer, took);
                self.right += u64::from(counted);
            }
            Err(wrong) => desk.books.wrong(answer, took, &wrong, || {
                format!("{} {}", ask.method(), ask.target())
            }),
        }
        if self.answered >= desk.per_connection {
            Some(Over::Enough)
        } else if answer.close {
            Some(Over::Announced)
        } else {
            None
        }
    }

    /// The connection is over: books what was in flight and forgets it, so
    /// that the session can begin anew. Requests of which nothing was sent
    /// are dropped; they were never asked.
    pub fn end(&mut self, over: Over, now: Ns, books: &mut Books) {
        let torn = !self.reader.is_idle();
        let sent = self.flights.len() - self.unsent;
        for (index, flight) in self.flights.drain(..sent).enumerate() {
            let age = now.saturating_sub(flight.sent.unwrap_or(now));
            let ask = &flight.ask;
            let words = |what: &str| {
                format!(
                    "{} {}: {what} after {:.1} ms",
                    ask.method(),
                    ask.target(),
                    age as f64 / 1e6
                )
            };
            match over {
                Over::TimedOut => books.timed_out(),
                Over::Stopped => books.unanswered(age),
                Over::Broken(why) => {
                    let fault = match why {
                        Why::Early => Fault::Surplus,
                        _ => Fault::Malformed,
                    };
                    if why == Why::Early && index == 0 {
                        books.surplus(|| words(&why.to_string()));
                    }
                    books.fault(fault, || words(&why.to_string()));
                }
                Over::Surplus => {
                    books.fault(Fault::Surplus, || words("surplus bytes"));
                }
                Over::Error(Errno::CONNRESET | Errno::PIPE) => {
                    books.fault(Fault::Reset, || words("reset"));
                }
                Over::Error(errno) => {
                    books.fault(Fault::System, || words(&errno.to_string()));
                }
                Over::Closed if torn && index == 0 => {
                    books.fault(Fault::Torn, || words("closed in mid-answer"))
                }
                Over::Closed | Over::Announced | Over::Enough => {
                    books.fault(Fault::Closed, || words("closed"));
                }
            }
        }
        self.flights.clear();
        self.unsent = 0;
        self.out.clear();
        self.reader = Reader::default();
        self.begun = 0;
        self.answered = 0;
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
