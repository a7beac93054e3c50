//! One thread's way through the phases of a shot.

use std::io::Write as _;

use profiles::sample::ThreadUse;
use profiles::spec::{WINDOW_CLOSED, WINDOW_OPEN};

use super::phase::{Phase, Schedule};
use super::worker::Tally;
use crate::clock::{self, Ns};
use crate::desk::Desk;

/// Where a thread is, and what its window cost it.
#[derive(Debug)]
pub struct Shift {
    /// The phase it is in.
    pub phase: Phase,
    /// Whether new requests may be drawn.
    pub draws: bool,
    /// No byte is written or counted from here on.
    pub until: Ns,
    /// The thread that marks the window for the rig.
    leads: bool,
    opened: Ns,
    cpu_opened: Ns,
}

impl Shift {
    /// Before the first phase. One thread of the shot leads.
    pub fn new(leads: bool) -> Shift {
        Shift {
            phase: Phase::Connected,
            draws: false,
            until: Ns::MAX,
            leads,
            opened: 0,
            cpu_opened: 0,
        }
    }

    /// Enters the next phase if it is due at `now`, else says when it is.
    /// The engine does the rest: it starts sending when [`Shift::draws`]
    /// turns true, and replaces what hangs in [`Phase::Replace`].
    pub fn next(
        &mut self,
        now: Ns,
        schedule: &Schedule,
        desk: &mut Desk,
    ) -> Result<Phase, Ns> {
        let (next, at) = schedule.after(self.phase);
        if now < at || self.phase == Phase::Closed {
            return Err(at);
        }
        self.phase = next;
        match next {
            // Without a warm-up nothing is sent only to be given up.
            Phase::Warmup if schedule.after(next).1 > now => {
                self.start(at, desk);
            }
            Phase::Gap => self.draws = false,
            Phase::Replace => desk.drop_returned(now),
            Phase::Window => {
                desk.books.open();
                self.mark(WINDOW_OPEN);
                self.opened = clock::now();
                self.cpu_opened = clock::thread_cpu();
                self.start(at, desk);
            }
            Phase::Warmup | Phase::Connected | Phase::Closed => {}
        }
        Ok(next)
    }

    /// The schedule of an open loop counts from the phase's own moment, not
    /// from when this thread came to it.
    fn start(&mut self, at: Ns, desk: &mut Desk) {
        self.draws = true;
        for lane in &mut desk.lanes {
            lane.pace.start(at);
        }
    }

    /// The hard stop, or an earlier one. Requests still in flight must be
    /// booked by `stop` before the books are handed in.
    pub fn close(
        &mut self,
        mut desk: Desk,
        stop: impl FnOnce(&mut Desk, Ns),
    ) -> Tally {
        let closed = clock::now();
        let cpu = clock::thread_cpu();
        let counted = desk.books.is_open();
        if counted {
            self.mark(WINDOW_CLOSED);
        }
        stop(&mut desk, closed);
        desk.drop_returned(closed);
        // Drawn but never begun is unsent, like what was not drawn at all.
        let open = desk.lanes.iter().filter(|lane| lane.pace.is_open());
        let offered = open
            .filter(|_| counted)
            .map(|lane| lane.pace.offered(closed.min(self.until)))
            .sum();
        Tally {
            engine: String::new(),
            used: ThreadUse {
                cpu_ns: cpu.saturating_sub(self.cpu_opened),
                wall_ns: closed.saturating_sub(self.opened),
            },
            varied: desk.check.varied,
            books: desk.books,
            opened: self.opened,
            closed,
            phase: self.phase,
            offered,
            missed: self.opened >= self.until,
            right_by_slot: Vec::new(),
            up_at_open: 0,
            sockets: Vec::new(),
        }
    }

    /// The rig reads the server's meters when it sees these lines.
    fn mark(&self, line: &str) {
        if self.leads {
            // In one write, and without a panic if nobody listens.
            let line = format!("{line}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}
