//! What the slots of a thread are due for, whatever moves their bytes: first
//! requests of a phase, requests of an open loop, replacement, another try,
//! a look for what waited too long.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::clock::{self, Ns};
use crate::desk::Desk;

pub(super) const MS: Ns = 1_000_000;
/// How often a thread looks up from its queue for a signal.
pub(super) const LOOK_UP: Ns = 50 * MS;
/// Opening a connection may take milliseconds when ports are scarce: after so
/// long a turn of the loop opens no more.
const TURN: Ns = 2 * MS;
/// Nor more than so many by timers, since a ring opens them only when it is
/// waited on.
pub(super) const OPENS: usize = 16;

/// One thread's. A slot is named by its index.
#[derive(Debug)]
pub(super) struct Agenda {
    slots: usize,
    /// First requests sent between two looks at the queue.
    starts: usize,
    /// The next slot to send its first request of a phase.
    starting: usize,
    /// In an open loop, per lane: slots with room for a request.
    spare: Vec<VecDeque<u32>>,
    /// By slot: whether it is among the spare ones.
    is_spare: Vec<bool>,
    /// Slots that wait for a new connection, the next one last.
    stale: Vec<u32>,
    /// When a slot that is down is tried again.
    retries: BinaryHeap<Reverse<(Ns, u32)>>,
    /// From when on this turn of the loop opens no more connections.
    turn: Ns,
    /// How far apart the sweeps are, and when the next one is.
    sweep: Ns,
    next_sweep: Ns,
    /// The next slot a sweep looks at.
    swept: usize,
}

impl Agenda {
    /// For slots of `lanes` lanes, whose answers are awaited for `timeout`.
    /// `starts` first requests go out between two looks at the queue.
    pub(super) fn new(
        slots: usize,
        lanes: usize,
        starts: usize,
        timeout: Ns,
    ) -> Agenda {
        Agenda {
            slots,
            starts,
            starting: usize::MAX,
            spare: vec![VecDeque::new(); lanes],
            is_spare: vec![false; slots],
            stale: Vec::new(),
            retries: BinaryHeap::new(),
            turn: Ns::MAX,
            sweep: (timeout / 10).clamp(MS, 500 * MS),
            next_sweep: 0,
            swept: usize::MAX,
        }
    }

    /// A phase begins in which all slots send.
    pub(super) fn start(&mut self) {
        self.starting = 0;
    }

    /// The slots that send their first requests now, a few at a time: were
    /// all sent in one go, answers would lie unread meanwhile and look slow.
    pub(super) fn starts(&mut self) -> Range<usize> {
        let from = self.starting.min(self.slots);
        self.starting = (from + self.starts).min(self.slots);
        from..self.starting
    }

    /// Whether more have to.
    pub(super) fn is_starting(&self) -> bool {
        self.starting < self.slots
    }

    /// In an open loop: `index` has room for what is due next on `lane`.
    #[inline]
    pub(super) fn offer(&mut self, index: usize, lane: usize) {
        if !std::mem::replace(&mut self.is_spare[index], true) {
            self.spare[lane].push_back(index as u32);
        }
    }

    /// In an open loop: the slot that sends what is due now, each in turn,
    /// or when the next request is due that one could take.
    pub(super) fn due(&mut self, desk: &Desk, now: Ns) -> Result<usize, Ns> {
        let mut next = Ns::MAX;
        for (lane, spare) in desk.lanes.iter().zip(&mut self.spare) {
            let due = lane.pace.due();
            if !lane.pace.is_open() || spare.is_empty() {
                continue;
            }
            if due > now {
                next = next.min(due);
            } else if let Some(index) = spare.pop_front() {
                self.is_spare[index as usize] = false;
                return Ok(index as usize);
            }
        }
        Err(next)
    }

    /// A turn of the loop begins; `end` is when something else is due.
    pub(super) fn begin_turn(&mut self, now: Ns, end: Ns) {
        self.turn = end.min(now + TURN);
    }

    /// Whether it may open connections still.
    pub(super) fn has_time(&self, now: Ns) -> bool {
        now < self.turn
    }

    /// `index` waits for a new connection.
    pub(super) fn set_stale(&mut self, index: usize) {
        self.stale.push(index as u32);
    }

    /// Whether any slot does.
    pub(super) fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// The next one that does, while this turn has time.
    pub(super) fn stale(&mut self) -> Option<usize> {
        if !self.has_time(clock::now()) {
            return None;
        }
        self.stale.pop().map(|index| index as usize)
    }

    /// `index` is tried again at `at`.
    pub(super) fn again(&mut self, index: usize, at: Ns) {
        self.retries.push(Reverse((at, index as u32)));
    }

    /// `index` is tried again later than the last time; `backoff` is how
    /// long it waited then.
    pub(super) fn back_off(&mut self, index: usize, backoff: &mut Ns, now: Ns) {
        *backoff = (*backoff * 2).clamp(MS, 100 * MS);
        self.again(index, now + *backoff);
    }

    /// The next slot to try again, while this turn has time and `opened` are
    /// few, or when there will be one.
    pub(super) fn retry(
        &mut self,
        now: Ns,
        opened: usize,
    ) -> Result<usize, Ns> {
        let Some(&Reverse((at, index))) = self.retries.peek() else {
            return Err(Ns::MAX);
        };
        if at > now || opened == OPENS || !self.has_time(clock::now()) {
            return Err(at);
        }
        self.retries.pop();
        Ok(index as usize)
    }

    /// Begins a sweep if one is due; returns when the next one is.
    pub(super) fn begin_sweep(&mut self, now: Ns) -> Ns {
        if now >= self.next_sweep {
            self.next_sweep = now + self.sweep;
            self.swept = 0;
        }
        self.next_sweep
    }

    /// The next slot the sweep looks at.
    pub(super) fn next_swept(&mut self) -> Option<usize> {
        let index = self.swept;
        (index < self.slots).then(|| {
            self.swept += 1;
            index
        })
    }

    /// Whether the sweep is under way.
    pub(super) fn is_sweeping(&self) -> bool {
        self.swept < self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_start_a_few_at_a_time_and_once() {
        let mut agenda = Agenda::new(5, 1, 2, MS);
        assert!(!agenda.is_starting() && agenda.starts().is_empty());
        agenda.start();
        let parts: Vec<_> = (0..4).map(|_| agenda.starts()).collect();
        assert_eq!(parts, [0..2, 2..4, 4..5, 5..5]);
        assert!(!agenda.is_starting());
    }

    #[test]
    fn a_slot_waits_longer_each_time_and_at_most_so_long() {
        let mut agenda = Agenda::new(1, 1, 1, MS);
        let (mut backoff, mut waits) = (0, Vec::new());
        for _ in 0..9 {
            agenda.back_off(0, &mut backoff, 7);
            let at = agenda.retry(0, 0).unwrap_err();
            waits.push((at - 7) / MS);
            assert_eq!(agenda.retry(at, OPENS), Err(at));
            assert_eq!(agenda.retry(at, 0), Ok(0));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100]);
        assert_eq!(agenda.retry(Ns::MAX, 0), Err(Ns::MAX));
    }

    #[test]
    fn a_turn_that_is_over_opens_nothing() {
        let mut agenda = Agenda::new(2, 1, 1, MS);
        agenda.set_stale(1);
        agenda.again(0, 0);
        agenda.begin_turn(0, 0);
        assert_eq!((agenda.stale(), agenda.retry(1, 0)), (None, Err(0)));
        agenda.begin_turn(clock::now() + 1_000 * MS, Ns::MAX);
        assert_eq!((agenda.stale(), agenda.retry(1, 0)), (Some(1), Ok(0)));
        assert!(!agenda.has_stale());
    }

    #[test]
    fn a_sweep_looks_at_each_slot_and_comes_again() {
        let mut agenda = Agenda::new(2, 1, 1, 100 * MS);
        assert_eq!(agenda.next_swept(), None);
        assert_eq!(agenda.begin_sweep(0), 10 * MS);
        assert_eq!(agenda.next_swept(), Some(0));
        assert!(agenda.is_sweeping());
        assert_eq!(agenda.next_swept(), Some(1));
        assert_eq!((agenda.next_swept(), agenda.is_sweeping()), (None, false));
        assert_eq!(agenda.begin_sweep(9 * MS), 10 * MS);
        assert_eq!(agenda.next_swept(), None);
        assert_eq!(agenda.begin_sweep(10 * MS), 20 * MS);
        assert_eq!(agenda.next_swept(), Some(0));
    }
}
