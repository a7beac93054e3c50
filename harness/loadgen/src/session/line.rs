//! The requests of one connection that are answered in the order they were
//! sent.

use std::collections::VecDeque;

use super::{Flight, Out, Over};
use crate::clock::Ns;
use crate::desk::Desk;

/// A request and where its text begins and ends in that of [`Out`].
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) flight: Flight,
    start: u64,
    end: u64,
}

impl Queued {
    /// Whether all of it is handed to the kernel.
    #[inline]
    pub(super) fn is_sent_in_full(&self, out: &Out) -> bool {
        out.is_sent_to(self.end)
    }
}

/// Those that are queued or in flight, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Line {
    queued: VecDeque<Queued>,
    /// Those at the back of which no byte is sent.
    unsent: usize,
}

impl Line {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.queued.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// A request whose text was queued from `start` on.
    #[inline]
    pub(super) fn push(&mut self, flight: Flight, start: u64, out: &Out) {
        self.queued.push_back(Queued { flight, start, end: out.end() });
        self.unsent += 1;
    }

    /// More of `out` was handed to the kernel at `now`.
    #[inline]
    pub(super) fn wrote(&mut self, out: &Out, now: Ns, desk: &mut Desk) {
        while self.unsent > 0 {
            let index = self.queued.len() - self.unsent;
            let queued = &mut self.queued[index];
            if queued.start >= out.text_sent() {
                break;
            }
            desk.sent(&mut queued.flight, now);
            self.unsent -= 1;
        }
    }

    /// The one whose answer is next, if any of it is sent.
    #[inline]
    pub(super) fn front(&self) -> Option<&Queued> {
        self.queued.front().filter(|queued| queued.flight.is_sent())
    }

    /// The one whose answer is complete.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Flight> {
        self.queued.pop_front().map(|queued| queued.flight)
    }

    /// When the oldest request waited too long, those behind it did too:
    /// they can only be answered after it.
    pub(super) fn expire(&self, now: Ns, desk: &Desk) -> Option<Over> {
        let waited = self.queued.front()?.flight.waited(now);
        (waited > desk.timeout).then_some(Over::TimedOut)
    }

    /// Where the text begins of what is not begun.
    pub(super) fn unsent_from(&self) -> Option<u64> {
        let first = self.queued.get(self.queued.len() - self.unsent)?;
        Some(first.start)
    }

    /// Empties the line; what was sent of it, the oldest first. What was not
    /// begun was never asked.
    pub(super) fn take_sent(&mut self) -> impl Iterator<Item = Flight> {
        self.queued.truncate(self.queued.len() - self.unsent);
        self.unsent = 0;
        self.queued.drain(..).map(|queued| queued.flight)
    }

    /// Empties the line: its connection ended so. `torn` says that part of
    /// the next answer had come.
    pub(super) fn end(
        &mut self,
        over: Over,
        torn: bool,
        now: Ns,
        desk: &mut Desk,
    ) {
        for (index, flight) in self.take_sent().enumerate() {
            over.lose(&flight, index == 0, torn, now, desk);
        }
    }
}
