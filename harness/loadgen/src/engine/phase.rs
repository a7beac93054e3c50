//! The moments of a shot, decided once for all threads.

use profiles::spec::Spec;

use crate::clock::Ns;

/// Where in a shot a thread is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Phase {
    /// Connected, not firing yet.
    Connected,
    /// Load that is thrown away.
    Warmup,
    /// Nothing new is sent; what is in flight may come.
    Gap,
    /// What did not come is given up and its connections are replaced.
    Replace,
    /// Everything counts.
    Window,
    /// The hard stop.
    Closed,
}

/// When each phase begins, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    warmup: Ns,
    gap: Ns,
    replace: Ns,
    window: Ns,
    closed: Ns,
}

impl Schedule {
    /// The shot of `spec` with its warm-up beginning at `start`. Connections
    /// are replaced in the last tenth of the gap, so that they are there
    /// again when the window opens.
    pub fn new(spec: &Spec, start: Ns) -> Schedule {
        let gap = start + spec.warmup_ns;
        let window = gap + spec.gap_ns;
        Schedule {
            warmup: start,
            gap,
            replace: window - spec.gap_ns / 10,
            window,
            closed: window + spec.window_ns,
        }
    }

    /// The phase after `phase` and when it begins.
    pub fn after(&self, phase: Phase) -> (Phase, Ns) {
        match phase {
            Phase::Connected => (Phase::Warmup, self.warmup),
            Phase::Warmup => (Phase::Gap, self.gap),
            Phase::Gap => (Phase::Replace, self.replace),
            Phase::Replace => (Phase::Window, self.window),
            Phase::Window | Phase::Closed => (Phase::Closed, self.closed),
        }
    }

    /// When everything stops.
    pub fn closed(&self) -> Ns {
        self.closed
    }
}
