//! When requests may be sent: at once, or by a schedule.
//!
//! The schedule of an open loop is fixed when a phase begins: request `k` is
//! due at `origin + k / rate`, whatever happened to those before it. The
//! threads take turns, so that together they keep the whole schedule.

use crate::clock::Ns;

/// One lane's turn-taking in one thread.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Requests per nanosecond over all threads; `None` is a closed loop.
    per_ns: Option<f64>,
    /// The first request of this thread, and how far apart its own are.
    first: u64,
    stride: u64,
    origin: Ns,
    /// The next request of this thread in the whole schedule.
    next: u64,
}

/// Leave to send one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Leave {
    /// Whenever it is.
    Now,
    /// It was due then.
    Due(Ns),
}

impl Pace {
    /// The turns of thread `thread` of `threads` at `rate_per_s` over all.
    pub fn new(rate_per_s: Option<f64>, thread: u32, threads: u32) -> Pace {
        Pace {
            per_ns: rate_per_s.map(|rate| rate / 1e9),
            first: thread.into(),
            stride: threads.max(1).into(),
            origin: 0,
            next: thread.into(),
        }
    }

    /// Whether it follows a schedule.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.per_ns.is_some()
    }

    /// A schedule begins at `origin`; what was due before is forgotten.
    pub fn start(&mut self, origin: Ns) {
        self.origin = origin;
        self.next = self.first;
    }

    /// When the next request is due: always, in a closed loop.
    #[inline]
    pub fn due(&self) -> Ns {
        self.per_ns.map_or(0, |rate| self.at(rate, self.next))
    }

    /// Takes the next request, if it is due at `now`.
    #[inline]
    pub fn take(&mut self, now: Ns) -> Option<Leave> {
        let Some(rate) = self.per_ns else { return Some(Leave::Now) };
        let due = self.at(rate, self.next);
        if due > now {
            return None;
        }
        self.next += self.stride;
        Some(Leave::Due(due))
    }

    /// How many requests of this thread were due since the start and before
    /// `end`, or were taken.
    pub fn offered(&self, end: Ns) -> u64 {
        let mut rest = self.clone();
        while rest.per_ns.is_some_and(|rate| rest.at(rate, rest.next) < end) {
            rest.next += rest.stride;
        }
        (rest.next - rest.first) / rest.stride
    }

    fn at(&self, per_ns: f64, index: u64) -> Ns {
        self.origin + (index as f64 / per_ns) as Ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_loop_never_waits() {
        let mut pace = Pace::new(None, 0, 2);
        assert!(!pace.is_open());
        assert_eq!((pace.due(), pace.take(0)), (0, Some(Leave::Now)));
    }

    #[test]
    fn threads_keep_one_schedule_between_them() {
        let mut all = Vec::new();
        for thread in 0..3 {
            let mut pace = Pace::new(Some(1000.0), thread, 3);
            pace.start(5_000_000);
            while let Some(Leave::Due(at)) = pace.take(14_000_000) {
                all.push(at);
            }
        }
        all.sort_unstable();
        let whole: Vec<Ns> = (5..=14).map(|ms| ms * 1_000_000).collect();
        assert_eq!(all, whole);
    }

    #[test]
    fn a_late_sender_finds_every_request_it_missed() {
        let mut pace = Pace::new(Some(20.0), 0, 1);
        pace.start(0);
        assert_eq!(pace.take(0), Some(Leave::Due(0)));
        assert_eq!(pace.take(0), None);
        assert_eq!(pace.due(), 50_000_000);
        assert_eq!(pace.offered(1_000_000_000), 20);
        assert_eq!(pace.take(1_000_000_000), Some(Leave::Due(50_000_000)));
        assert_eq!(pace.offered(60_000_000), 2);
    }

    #[test]
    fn the_schedule_does_not_drift() {
        let mut pace = Pace::new(Some(3.0), 0, 1);
        pace.start(7);
        let due: Vec<Ns> = (0..4)
            .map(|_| match pace.take(Ns::MAX) {
                Some(Leave::Due(at)) => at - 7,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(due, [0, 333_333_333, 666_666_666, 1_000_000_000]);
    }
}
