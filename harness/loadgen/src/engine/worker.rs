//! One thread of the gun: its own queue, connections, randomness and books.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use profiles::sample::ThreadUse;
use profiles::spec::{WINDOW_CLOSED, WINDOW_OPEN};
use rustix::io::Errno;

use super::link::Route;
use super::phase::{Phase, Schedule};
use super::poll::{Interest, Poller};
use crate::books::Books;
use crate::clock::{self, Ns};
use crate::desk::Desk;
use crate::session::{Over, Session};

/// How often a thread looks up from its queue for a signal.
pub(super) const LOOK_UP: Ns = 50_000_000;
/// First requests sent between two looks at the queue.
const STARTS: usize = 64;
pub(super) const MS: Ns = 1_000_000;

/// How a slot stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Down,
    Connecting,
    Up,
}

/// One connection's place. It keeps its number and its counts while the
/// sockets in it come and go.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) fd: Option<OwnedFd>,
    pub(super) state: State,
    pub(super) interest: Interest,
    pub(super) session: Session,
    /// The error a write met; what can still be read is read first.
    pub(super) broken: Option<Errno>,
    pub(super) generation: u32,
    /// When its handshake began.
    pub(super) since: Ns,
    /// How long it waited before its last attempt.
    pub(super) backoff: Ns,
}

/// One thread's share of a shot.
#[derive(Debug)]
pub struct Worker {
    pub(super) slots: Vec<Slot>,
    pub(super) desk: Desk,
    pub(super) poller: Poller,
    pub(super) inbox: Box<[u8]>,
    /// Whether new requests may be drawn.
    pub(super) draws: bool,
    /// No byte is written or counted from here on.
    pub(super) until: Ns,
    /// Connections that were just made and have not sent yet.
    pub(super) fresh: Vec<u32>,
    /// The next connection to send its first request of a phase.
    starting: usize,
    /// When a slot that is down is tried again.
    pub(super) retries: BinaryHeap<Reverse<(Ns, u32)>>,
    phase: Phase,
    pub(super) route: Route,
    /// The number of its first connection among all threads'.
    pub(super) first: u32,
    /// The thread that marks the window for the rig.
    leads: bool,
    pub(super) connect_timeout: Ns,
    sweep: Ns,
    next_sweep: Ns,
    opened: Ns,
    cpu_opened: Ns,
    up_at_open: u32,
}

/// What a thread brings home. The sockets stay open in it, so that nothing
/// is torn down before the window was marked as closed.
#[derive(Debug)]
pub struct Tally {
    /// Its books.
    pub books: Books,
    /// Right answers of each connection.
    pub right_by_slot: Vec<u64>,
    /// Its cost.
    pub used: ThreadUse,
    /// When its window opened.
    pub opened: Ns,
    /// When it closed.
    pub closed: Ns,
    /// Connections that were up when the window opened.
    pub up_at_open: u32,
    /// Right answers that differed from an earlier one to the same question.
    pub varied: u64,
    /// Where it stopped; `Closed` unless it was told to.
    pub phase: Phase,
    sockets: Vec<OwnedFd>,
}

impl Tally {
    /// Sockets that were open at the end.
    pub fn open_sockets(&self) -> usize {
        self.sockets.len()
    }
}

impl Worker {
    /// A thread that holds connections `first..first + count`.
    pub fn new(
        desk: Desk,
        route: Route,
        first: u32,
        count: u32,
        connect_timeout: Ns,
    ) -> Result<Worker, Errno> {
        let sweep = (desk.timeout / 10).clamp(MS, 500 * MS);
        let slot = |_| Slot {
            fd: None,
            state: State::Down,
            interest: Interest::Read,
            session: Session::default(),
            broken: None,
            generation: 0,
            since: 0,
            backoff: 0,
        };
        Ok(Worker {
            slots: (0..count).map(slot).collect(),
            desk,
            poller: Poller::new()?,
            inbox: vec![0; 128 * 1024].into_boxed_slice(),
            draws: false,
            until: Ns::MAX,
            fresh: Vec::new(),
            starting: usize::MAX,
            retries: BinaryHeap::new(),
            phase: Phase::Connected,
            route,
            first,
            leads: first == 0,
            connect_timeout,
            sweep,
            next_sweep: 0,
            opened: 0,
            cpu_opened: 0,
            up_at_open: 0,
        })
    }

    /// Fires, from warm-up to hard stop or until it is told to stop.
    pub fn fire(mut self, schedule: &Schedule, stop: &AtomicBool) -> Tally {
        self.until = schedule.closed();
        loop {
            let now = clock::now();
            let edge = self.advance(now, schedule);
            if self.phase == Phase::Closed || stop.load(Ordering::Relaxed) {
                return self.close();
            }
            let retry = self.retry(now);
            if now >= self.next_sweep {
                self.next_sweep = now + self.sweep;
                self.sweep(now);
            }
            let more = self.start_some();
            let idle = if more { 0 } else { LOOK_UP };
            let wake = edge.min(retry).min(self.next_sweep).min(now + idle);
            let events = self.poller.wait(wake.saturating_sub(now));
            for event in 0..events.unwrap_or(0) {
                let token = self.poller.token(event);
                let index = token as u32 as usize;
                let slot = &self.slots[index];
                if slot.generation != (token >> 32) as u32 {
                    continue;
                }
                if slot.state == State::Connecting {
                    if let Err(errno) = self.handshake_done(index) {
                        self.connect_failed(index, errno);
                    }
                } else if self.poller.is_readable(event) {
                    self.readable(index);
                } else {
                    self.pump(index);
                }
                self.pump_fresh();
            }
            self.pump_fresh();
        }
    }

    /// Enters every phase that is due; returns when the next one is.
    fn advance(&mut self, now: Ns, schedule: &Schedule) -> Ns {
        loop {
            let (next, at) = schedule.after(self.phase);
            if now < at || self.phase == Phase::Closed {
                return at;
            }
            self.phase = next;
            match next {
                // Without a warm-up nothing is sent only to be given up.
                Phase::Warmup if schedule.after(next).1 > now => {
                    self.start_drawing();
                }
                Phase::Warmup => {}
                Phase::Gap => self.draws = false,
                Phase::Replace => self.replace(now),
                Phase::Window => {
                    self.open_books();
                    self.start_drawing();
                }
                Phase::Connected | Phase::Closed => {}
            }
        }
    }

    fn start_drawing(&mut self) {
        self.draws = true;
        self.starting = 0;
    }

    /// Sends the first requests of a phase, a few at a time: were all sent
    /// in one go, answers would lie unread meanwhile and look slow.
    fn start_some(&mut self) -> bool {
        let end = self.starting.saturating_add(STARTS).min(self.slots.len());
        for index in self.starting..end {
            self.pump(index);
        }
        self.starting = self.starting.max(end);
        self.starting < self.slots.len()
    }

    fn replace(&mut self, now: Ns) {
        for index in 0..self.slots.len() {
            if !self.slots[index].session.is_idle() {
                self.over(index, Over::Stopped, now);
            }
        }
    }

    fn open_books(&mut self) {
        // Those that are being replaced at this moment are on their way.
        let up = self.slots.iter().filter(|s| s.state != State::Down);
        self.up_at_open = up.count() as u32;
        self.desk.books.open();
        self.mark(WINDOW_OPEN);
        self.opened = clock::now();
        self.cpu_opened = clock::thread_cpu();
    }

    fn close(mut self) -> Tally {
        let closed = clock::now();
        let cpu = clock::thread_cpu();
        if self.desk.books.is_open() {
            self.mark(WINDOW_CLOSED);
        }
        let books = &mut self.desk.books;
        for slot in &mut self.slots {
            slot.session.end(Over::Stopped, closed, books);
        }
        Tally {
            right_by_slot: self.slots.iter().map(|s| s.session.right).collect(),
            used: ThreadUse {
                cpu_ns: cpu.saturating_sub(self.cpu_opened),
                wall_ns: closed.saturating_sub(self.opened),
            },
            books: self.desk.books,
            opened: self.opened,
            closed,
            up_at_open: self.up_at_open,
            varied: self.desk.check.varied,
            phase: self.phase,
            sockets: self.slots.into_iter().filter_map(|s| s.fd).collect(),
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
