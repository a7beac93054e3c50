//! QUIC's clock and the gun's are the same one, read once for both.

use std::time::{Duration, Instant};

use crate::clock::{self, Ns};

/// Turns one into the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    instant: Instant,
    ns: Ns,
}

impl Time {
    /// Both begin here.
    pub(super) fn new() -> Time {
        Time { instant: Instant::now(), ns: clock::now() }
    }

    /// The gun's time as QUIC has it.
    #[inline]
    pub(super) fn instant(&self, ns: Ns) -> Instant {
        self.instant + Duration::from_nanos(ns.saturating_sub(self.ns))
    }

    /// QUIC's time as the gun has it.
    #[inline]
    pub(super) fn ns(&self, instant: Instant) -> Ns {
        let since = instant.saturating_duration_since(self.instant);
        self.ns + u64::try_from(since.as_nanos()).unwrap_or(Ns::MAX / 2)
    }
}
