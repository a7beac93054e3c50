//! One monotonic clock, in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment or a span; only differences mean anything.
pub type Ns = u64;

/// Now. It never steps and never runs backwards.
#[inline]
pub fn now() -> Ns {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// CPU time this thread has used.
pub fn thread_cpu() -> Ns {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// `ns` as the kernel takes it.
pub fn timespec(ns: Ns) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}

fn nanos(t: Timespec) -> Ns {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
