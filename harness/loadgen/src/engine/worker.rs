//! One thread of the gun: its own queue, connections, randomness and books.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use profiles::sample::ThreadUse;
use profiles::spec::{WINDOW_CLOSED, WINDOW_OPEN};
use rustix::io::Errno;

use super::link::{Route, errno_name};
use super::phase::{Phase, Schedule};
use super::poll::{Interest, Poller};
use crate::books::Books;
use crate::clock::{self, Ns};
use crate::desk::Desk;
use crate::session::{Over, Session};

/// How often a thread looks up from its queue for a signal.
const LOOK_UP: Ns = 50_000_000;
/// Handshakes a thread has under way at a time.
const HANDSHAKES: usize = 256;
const MS: Ns = 1_000_000;

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
    generation: u32,
    /// When its handshake began.
    since: Ns,
    /// How long it waited before its last attempt.
    backoff: Ns,
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
    fresh: Vec<u32>,
    /// When a slot that is down is tried again.
    retries: BinaryHeap<Reverse<(Ns, u32)>>,
    phase: Phase,
    route: Route,
    /// The number of its first connection among all threads'.
    first: u32,
    /// The thread that marks the window for the rig.
    leads: bool,
    connect_timeout: Ns,
    sweep: Ns,
    next_sweep: Ns,
    opened: Ns,
    cpu_opened: Ns,
    up_at_open: u32,
}

/// How a thread's connecting went.
#[derive(Clone, Debug, Default)]
pub struct Connected {
    /// Connections made.
    pub made: u32,
    /// Those that were not, by errno name.
    pub errors: BTreeMap<String, u64>,
}

impl Connected {
    /// Adds another thread's.
    pub fn add(&mut self, other: Connected) {
        self.made += other.made;
        for (errno, n) in other.errors {
            *self.errors.entry(errno).or_default() += n;
        }
    }
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
    /// Answers the oracle judged in full.
    pub judged: u64,
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

    /// Makes all connections, each tried once.
    pub fn connect(&mut self, stop: &AtomicBool) -> Connected {
        let deadline = clock::now().saturating_add(self.connect_timeout);
        let mut report = Connected::default();
        let fail = |report: &mut Connected, errno| {
            *report.errors.entry(errno_name(errno)).or_default() += 1;
        };
        let (mut next, mut pending) = (0, 0);
        while next < self.slots.len() || pending > 0 {
            while next < self.slots.len() && pending < HANDSHAKES {
                match self.open(next) {
                    Ok(true) => report.made += 1,
                    Ok(false) => pending += 1,
                    Err(errno) => fail(&mut report, errno),
                }
                next += 1;
            }
            let now = clock::now();
            if now >= deadline || stop.load(Ordering::Relaxed) {
                let left = self.slots.len() - next + pending;
                for _ in 0..left {
                    fail(&mut report, Errno::TIMEDOUT);
                }
                break;
            }
            if pending == 0 {
                continue;
            }
            let wait = LOOK_UP.min(deadline - now);
            let events = self.poller.wait(wait).unwrap_or(0);
            for event in 0..events {
                let index = self.poller.token(event) as u32 as usize;
                if self.slots[index].state != State::Connecting {
                    continue;
                }
                pending -= 1;
                match self.handshake_done(index) {
                    Ok(()) => report.made += 1,
                    Err(errno) => {
                        self.drop_socket(index);
                        fail(&mut report, errno);
                    }
                }
            }
        }
        self.fresh.clear();
        report
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
            let wake = edge.min(retry).min(self.next_sweep).min(now + LOOK_UP);
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
        for index in 0..self.slots.len() {
            self.pump(index);
        }
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
            judged: self.desk.check.judged,
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

    /// A connection is over: books what was in flight and opens it again.
    /// One that never got an answer is tried again later and later, so that
    /// a server that hangs up on everyone is not called in a tight loop.
    pub(super) fn over(&mut self, index: usize, over: Over, now: Ns) {
        let slot = &mut self.slots[index];
        let answered = slot.session.has_answered();
        slot.session.end(over, now, &mut self.desk.books);
        self.drop_socket(index);
        if answered || over == Over::Stopped {
            self.slots[index].backoff = 0;
            self.reopen(index);
        } else {
            self.back_off(index, now);
        }
    }

    fn reopen(&mut self, index: usize) {
        if let Err(errno) = self.open(index) {
            self.connect_failed(index, errno);
        }
    }

    fn connect_failed(&mut self, index: usize, errno: Errno) {
        self.drop_socket(index);
        self.desk.books.connect_error(errno_name(errno));
        self.back_off(index, clock::now());
    }

    fn back_off(&mut self, index: usize, now: Ns) {
        let slot = &mut self.slots[index];
        slot.backoff = (slot.backoff * 2).clamp(MS, 100 * MS);
        self.retries.push(Reverse((now + slot.backoff, index as u32)));
    }

    /// Tries what is due; returns when the next one is.
    fn retry(&mut self, now: Ns) -> Ns {
        while let Some(&Reverse((at, index))) = self.retries.peek() {
            if at > now {
                return at;
            }
            self.retries.pop();
            self.reopen(index as usize);
        }
        Ns::MAX
    }

    /// Finds requests and handshakes that waited too long. An answer that
    /// comes late is told by its own time; this is for those that never come.
    fn sweep(&mut self, now: Ns) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            let waited =
                |since: Ns, limit: Ns| now.saturating_sub(since) > limit;
            match slot.state {
                State::Connecting
                    if waited(slot.since, self.connect_timeout) =>
                {
                    self.connect_failed(index, Errno::TIMEDOUT);
                }
                State::Up => {
                    let oldest = slot.session.oldest();
                    if oldest.is_some_and(|at| waited(at, self.desk.timeout)) {
                        self.over(index, Over::TimedOut, now);
                    }
                }
                _ => {}
            }
        }
    }

    /// Begins a handshake; whether it is done already.
    fn open(&mut self, index: usize) -> Result<bool, Errno> {
        let (fd, made) = self.route.open(self.first + index as u32)?;
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.interest = if made { Interest::Read } else { Interest::Write };
        let token = u64::from(slot.generation) << 32 | index as u64;
        self.poller.add(&fd, token, slot.interest)?;
        slot.fd = Some(fd);
        slot.since = clock::now();
        slot.state = State::Connecting;
        if made {
            self.up(index);
        }
        Ok(made)
    }

    fn handshake_done(&mut self, index: usize) -> Result<(), Errno> {
        let Some(fd) = &self.slots[index].fd else { return Ok(()) };
        rustix::net::sockopt::socket_error(fd)??;
        self.up(index);
        self.want(index, Interest::Read)
    }

    fn up(&mut self, index: usize) {
        self.slots[index].state = State::Up;
        self.slots[index].broken = None;
        if self.desk.books.is_open() {
            self.desk.books.reconnects += 1;
        }
        self.fresh.push(index as u32);
    }

    /// Sends on connections that were just made, and on those made in turn.
    fn pump_fresh(&mut self) {
        while let Some(index) = self.fresh.pop() {
            self.pump(index as usize);
        }
    }

    fn drop_socket(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.fd = None;
        slot.state = State::Down;
    }

    pub(super) fn want(
        &mut self,
        index: usize,
        interest: Interest,
    ) -> Result<(), Errno> {
        let slot = &mut self.slots[index];
        if slot.interest == interest {
            return Ok(());
        }
        slot.interest = interest;
        let token = u64::from(slot.generation) << 32 | index as u64;
        match &slot.fd {
            Some(fd) => self.poller.set(fd, token, interest),
            None => Ok(()),
        }
    }
}
