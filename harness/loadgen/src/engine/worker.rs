//! One thread of the gun: its own queue, connections, randomness and books.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use profiles::sample::ThreadUse;
use rustix::io::Errno;

use super::agenda::{Agenda, LOOK_UP};
use super::driver::{Driver, Token};
use super::link::Route;
use super::phase::{Phase, Schedule};
use super::shift::Shift;
use super::slots::Connected;
use crate::books::Books;
use crate::clock::{self, Ns};
use crate::desk::Desk;
use crate::session::{Over, Session};

/// First requests sent between two looks at the queue.
const STARTS: usize = 64;

/// How a slot stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Down,
    /// What was in flight is given up; the socket waits to be replaced and
    /// is not listened to.
    Stale,
    /// The socket's handshake is under way.
    Connecting,
    /// The socket is there, the protocol's handshake is under way.
    Greeting,
    Up,
}

/// One connection's place. It keeps its number and its counts while the
/// sockets in it come and go.
#[derive(Debug)]
pub(super) struct Slot<S, L> {
    pub(super) fd: Option<OwnedFd>,
    pub(super) state: State,
    /// What the driver keeps of it.
    pub(super) link: L,
    pub(super) session: S,
    pub(super) lane: usize,
    /// The error a write met; what can still be read is read first.
    pub(super) broken: Option<Errno>,
    pub(super) generation: u32,
    /// When its handshake began.
    pub(super) since: Ns,
    /// How long it waited before its last attempt.
    pub(super) backoff: Ns,
}

impl<S, L> Slot<S, L> {
    /// The name of the socket that is in it, at `index`.
    #[inline]
    pub(super) fn token(&self, index: usize) -> Token {
        Token { index: index as u32, generation: self.generation }
    }
}

/// One thread's share of a shot.
#[derive(Debug)]
pub(super) struct Worker<S: Session, D: Driver> {
    pub(super) slots: Vec<Slot<S, D::Link>>,
    pub(super) desk: Desk,
    pub(super) kit: S::Kit,
    pub(super) driver: D,
    pub(super) shift: Shift,
    /// The last look at the clock.
    pub(super) now: Ns,
    /// How connecting goes, before the shot.
    pub(super) connecting: Option<Connected>,
    /// Handshakes under way.
    pub(super) under_way: usize,
    /// Connections that were just made and have not sent yet.
    pub(super) fresh: Vec<u32>,
    /// What the slots are due for.
    pub(super) agenda: Agenda,
    pub(super) route: Route,
    /// The number of its first connection among all threads'.
    pub(super) first: u32,
    pub(super) connect_timeout: Ns,
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
    /// The queue it waited on, and why that one.
    pub engine: String,
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
    /// Requests of an open loop that were due in the window.
    pub offered: u64,
    /// Whether it came to its window only when that was over.
    pub missed: bool,
    /// Nobody reads them: they are only kept open.
    pub(super) sockets: Vec<OwnedFd>,
}

impl<S: Session, D: Driver> Worker<S, D> {
    /// A thread that holds the connections from `first` on, so many of each
    /// lane.
    pub(super) fn new(
        desk: Desk,
        kit: S::Kit,
        route: Route,
        first: u32,
        by_lane: &[u32],
        connect_timeout: Ns,
    ) -> anyhow::Result<Worker<S, D>> {
        let slot = |lane| Slot {
            fd: None,
            state: State::Down,
            link: D::Link::default(),
            session: S::new(lane),
            lane,
            broken: None,
            generation: 0,
            since: 0,
            backoff: 0,
        };
        let lanes = by_lane.iter().enumerate();
        let slots: Vec<_> = lanes
            .flat_map(|(lane, count)| (0..*count).map(move |_| lane))
            .map(slot)
            .collect();
        let agenda =
            Agenda::new(slots.len(), by_lane.len(), STARTS, desk.timeout);
        Ok(Worker {
            slots,
            desk,
            kit,
            driver: D::new(&route)?,
            shift: Shift::new(first == 0),
            now: clock::now(),
            connecting: None,
            under_way: 0,
            fresh: Vec::new(),
            agenda,
            route,
            first,
            connect_timeout,
            up_at_open: 0,
        })
    }

    /// Fires, from warm-up to hard stop or until it is told to stop. The
    /// driver is handed back since taking it down may take its time.
    pub(super) fn fire(
        mut self,
        schedule: &Schedule,
        stop: &AtomicBool,
    ) -> (Tally, D) {
        self.shift.until = schedule.closed();
        loop {
            let now = clock::now();
            self.now = now;
            let edge = self.advance(now, schedule);
            let over = self.shift.phase == Phase::Closed;
            if over || stop.load(Ordering::Relaxed) {
                return self.close();
            }
            self.agenda.begin_turn(now, edge);
            let replacing = self.replace_some();
            let sweep = self.agenda.begin_sweep(now);
            let sweeping = self.sweep(now);
            let mut retry = self.retry(now);
            // What was opened by a timer has its first words to say now: no
            // event will come of it before.
            self.pump_fresh();
            let starting = self.start_some();
            let due = self.send_due(now);
            if replacing || sweeping || starting || !self.fresh.is_empty() {
                retry = now;
            }
            let wake = edge.min(retry).min(sweep).min(due);
            self.take_events(wake.min(now + LOOK_UP).saturating_sub(now));
        }
    }

    /// Waits at most `wait` and deals with all that happened.
    pub(super) fn take_events(&mut self, wait: Ns) {
        D::take_events(self, wait);
    }

    /// Draws what may be in flight on `index` and sends it.
    #[inline]
    pub(super) fn pump(&mut self, index: usize) {
        D::pump(self, index);
    }

    /// Enters every phase that is due; returns when the next one is.
    fn advance(&mut self, now: Ns, schedule: &Schedule) -> Ns {
        loop {
            match self.shift.next(now, schedule, &mut self.desk) {
                Err(at) => return at,
                Ok(Phase::Replace) => self.give_up(now),
                Ok(Phase::Window) => {
                    // Handshakes under way count, and so does what is still
                    // to be replaced: neither is the server's doing.
                    let up = self.slots.iter();
                    let up = up.filter(|s| s.state != State::Down);
                    self.up_at_open = up.count() as u32;
                    self.agenda.start();
                }
                Ok(Phase::Warmup) if self.shift.draws => self.agenda.start(),
                Ok(_) => {}
            }
        }
    }

    /// Sends first requests of a phase; whether there are more.
    fn start_some(&mut self) -> bool {
        for index in self.agenda.starts() {
            self.pump(index);
        }
        self.agenda.is_starting()
    }

    /// In an open loop: sends what is due; returns when the next request is
    /// that a connection could take.
    fn send_due(&mut self, now: Ns) -> Ns {
        if !self.shift.draws {
            return Ns::MAX;
        }
        loop {
            match self.agenda.due(&self.desk, now) {
                Ok(index) => self.pump(index),
                Err(next) => return next,
            }
        }
    }

    /// Books what the warm-up left in flight. That is quick; its sockets are
    /// replaced turn by turn, so that the window opens on time.
    fn give_up(&mut self, now: Ns) {
        for (index, slot) in self.slots.iter_mut().enumerate().rev() {
            if slot.state == State::Up && !slot.session.is_idle() {
                slot.session.end(Over::Stopped, now, &mut self.desk);
                slot.state = State::Stale;
                self.agenda.set_stale(index);
            }
        }
    }

    fn close(mut self) -> (Tally, D) {
        D::settle(&mut self);
        let Worker { mut slots, desk, mut shift, mut driver, .. } = self;
        let mut tally = shift.close(desk, |desk, now| {
            for slot in &mut slots {
                slot.session.end(Over::Stopped, now, desk);
            }
        });
        for (index, slot) in slots.iter_mut().enumerate() {
            let token = slot.token(index);
            driver.forget(&mut slot.link, token);
        }
        tally.right_by_slot = slots.iter().map(|s| s.session.right()).collect();
        tally.up_at_open = self.up_at_open;
        tally.sockets = slots.into_iter().filter_map(|s| s.fd).collect();
        (tally, driver)
    }
}
