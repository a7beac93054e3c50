//! When requests may be sent: at once, or by a schedule.
//!
//! The schedule of an open loop is fixed when a phase begins: request `k` is
//! due at `origin + k / rate`, whatever happened to those before it. The
//! connections of a lane take turns, so that their threads keep the whole
//! schedule together and none is asked for more than its connections' share.

use crate::clock::Ns;

/// One lane's turn-taking in one thread.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Requests per nanosecond over all threads; `None` is a closed loop.
    per_ns: Option<f64>,
    /// This thread, and how many there are. Connection `c` of the lane is
    /// held by thread `c % threads`, which is what `plan::share` comes to.
    thread: u64,
    threads: u64,
    /// The lane's connections over all threads; request `k` of the schedule
    /// is the turn of connection `k % connections`.
    connections: u64,
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
    /// The turns of thread `thread` of `threads`, which hold so many
    /// `connections` between them, at `rate_per_s` over all.
    pub fn new(
        rate_per_s: Option<f64>,
        thread: u32,
        threads: u32,
        connections: u32,
    ) -> Pace {
        Pace {
            per_ns: rate_per_s.map(|rate| rate / 1e9),
            thread: thread.into(),
            threads: threads.max(1).into(),
            connections: connections.into(),
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
        self.next = self.thread;
    }

    /// When the next request is due: always, in a closed loop; never, in a
    /// thread without a connection of the lane.
    #[inline]
    pub fn due(&self) -> Ns {
        match self.per_ns {
            None => 0,
            Some(_) if self.has_no_turn() => Ns::MAX,
            Some(rate) => self.at(rate, self.next),
        }
    }

    /// Takes the next request, if it is due at `now`.
    #[inline]
    pub fn take(&mut self, now: Ns) -> Option<Leave> {
        let Some(rate) = self.per_ns else { return Some(Leave::Now) };
        if self.has_no_turn() {
            return None;
        }
        let due = self.at(rate, self.next);
        if due > now {
            return None;
        }
        self.next = self.after(self.next);
        Some(Leave::Due(due))
    }

    /// How many requests of this thread were due since the start and before
    /// `end`, or were taken.
    pub fn offered(&self, end: Ns) -> u64 {
        let Some(rate) = self.per_ns else { return 0 };
        if self.has_no_turn() {
            return 0;
        }
        // The first request that is not due before the end; they never go
        // back in time.
        let (mut low, mut high) = (0, u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(rate, middle) < end {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.own_before(low.max(self.next))
    }

    /// How many of the first `index` requests of the schedule are this
    /// thread's.
    fn own_before(&self, index: u64) -> u64 {
        let held = |connections: u64| {
            connections.saturating_sub(self.thread).div_ceil(self.threads)
        };
        index / self.connections * held(self.connections)
            + held(index % self.connections)
    }

    /// This thread's next request after its request `index`.
    #[inline]
    fn after(&self, index: u64) -> u64 {
        let connection = index % self.connections;
        if connection + self.threads < self.connections {
            return index + self.threads;
        }
        index - connection + self.connections + self.thread
    }

    #[inline]
    fn has_no_turn(&self) -> bool {
        self.thread >= self.connections
    }

    fn at(&self, per_ns: f64, index: u64) -> Ns {
        // A cast of what is too large stops at the largest number, too.
        self.origin.saturating_add((index as f64 / per_ns) as Ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::share;

    #[test]
    fn a_closed_loop_never_waits() {
        let mut pace = Pace::new(None, 0, 2, 2);
        assert!(!pace.is_open());
        assert_eq!((pace.due(), pace.take(0)), (0, Some(Leave::Now)));
    }

    #[test]
    fn threads_keep_one_schedule_between_them() {
        let mut all = Vec::new();
        for thread in 0..3 {
            let mut pace = Pace::new(Some(1000.0), thread, 3, 3);
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
        let mut pace = Pace::new(Some(20.0), 0, 1, 1);
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
        let mut pace = Pace::new(Some(3.0), 0, 1, 1);
        pace.start(7);
        let due: Vec<Ns> = (0..4)
            .map(|_| match pace.take(Ns::MAX) {
                Some(Leave::Due(at)) => at - 7,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(due, [0, 333_333_333, 666_666_666, 1_000_000_000]);
    }

    #[test]
    fn threads_without_a_connection_leave_no_hole_in_the_schedule() {
        for (connections, threads) in [(1, 4), (4, 8), (5, 4), (2, 3), (7, 3)] {
            let mut all = Vec::new();
            for thread in 0..threads {
                let rate = Some(1000.0);
                let mut pace = Pace::new(rate, thread, threads, connections);
                pace.start(0);
                let before = all.len();
                while let Some(Leave::Due(at)) = pace.take(70_000_000 - 1) {
                    all.push(at);
                }
                let took = (all.len() - before) as u64;
                assert_eq!(pace.offered(70_000_000), took);
                let held = share(connections, threads, thread);
                assert_eq!(held == 0, pace.due() == Ns::MAX);
                if 70 % connections == 0 {
                    // Every connection has as many turns.
                    assert_eq!(took, u64::from(70 / connections * held));
                }
            }
            all.sort_unstable();
            let whole: Vec<Ns> = (0..70).map(|ms| ms * 1_000_000).collect();
            assert_eq!(all, whole, "{connections} on {threads}");
        }
    }

    #[test]
    fn the_slowest_schedule_has_a_first_request_and_the_fastest_an_end() {
        for rate in [1e-12, 1e-300, f64::MIN_POSITIVE] {
            let mut pace = Pace::new(Some(rate), 0, 1, 2);
            pace.start(5_000);
            assert_eq!(pace.take(5_000), Some(Leave::Due(5_000)), "{rate}");
            assert_eq!(pace.take(1 << 60), None, "{rate}");
            assert_eq!(pace.offered(1 << 60), 1, "{rate}");
        }
        // A day of it, in less than a day.
        let day = 86_400_000_000_000;
        let mut pace = Pace::new(Some(1e9), 0, 1, 1);
        pace.start(7);
        assert_eq!(pace.offered(7 + day), day);
    }

    proptest! {
        #[test]
        fn what_was_offered_is_what_counting_gives(
            rate in prop_oneof![0.001..10.0, 10.0..1e6, 1e6..1e9],
            thread in 0u32..6, threads in 1u32..6, connections in 1u32..9,
            origin in 0u64..1 << 62, span in 0u64..30_000, taken in 0u64..40,
        ) {
            let mut pace = Pace::new(
                Some(rate), thread % threads, threads, connections,
            );
            // About as many requests at any rate.
            let span = if rate < 1e6 { span * 1_000_000 } else { span };
            pace.start(origin);
            let late = origin + span / 2;
            let mut took = 0;
            while took < taken && pace.take(late).is_some() {
                took += 1;
            }
            let end = origin + span;
            let mut rest = pace.clone();
            while rest.due() < end {
                rest.next = rest.after(rest.next);
                took += 1;
            }
            prop_assert_eq!(pace.offered(end), took);
        }
    }
}
