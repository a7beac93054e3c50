//! Connections that come and go: opened, lost, given up, opened again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::agenda::{LOOK_UP, MS, OPENS};
use super::driver::Driver;
use super::link::errno_name;
use super::worker::{State, Worker};
use crate::clock::{self, Ns};
use crate::session::{Over, Session};

/// Handshakes a thread has under way at a time.
const HANDSHAKES: usize = 256;
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

impl<S: Session, D: Driver> Worker<S, D> {
    /// Makes all connections, each tried once: the socket's handshake and the
    /// protocol's.
    pub fn connect(&mut self, stop: &AtomicBool) -> Connected {
        let deadline = clock::now().saturating_add(self.connect_timeout);
        self.connecting = Some(Connected::default());
        let mut next = 0;
        while next < self.slots.len() || self.under_way > 0 {
            while next < self.slots.len() && self.under_way < HANDSHAKES {
                self.reopen(next);
                self.pump_fresh();
                next += 1;
            }
            let now = clock::now();
            self.now = now;
            if now >= deadline || stop.load(Ordering::Relaxed) {
                break;
            }
            if self.under_way > 0 {
                let wait = LOOK_UP.min(deadline - now);
                self.take_events(wait);
            }
        }
        let up = self.slots.iter().filter(|s| s.state == State::Up).count();
        let mut connected = self.connecting.take().unwrap_or_default();
        connected.made = up as u32;
        let named: u64 = connected.errors.values().sum();
        let missing = (self.slots.len() - up) as u64;
        if missing > named {
            let why = unfinished(stop);
            *connected.errors.entry(why).or_default() += missing - named;
        }
        connected
    }

    /// A connection is over: books what was in flight and opens it again.
    /// One that let its requests down is tried again later and later, so
    /// that a server that hangs up on everyone is not called in a tight loop.
    pub(super) fn over(&mut self, index: usize, over: Over, now: Ns) {
        let slot = &mut self.slots[index];
        if slot.state == State::Greeting {
            let said = slot.session.parting();
            let why = match over {
                Over::Announced | Over::Closed => said,
                _ => None,
            };
            let why = why.unwrap_or_else(|| why_no_greeting(over));
            return self.connect_failed(index, why);
        }
        let served = slot.session.has_answered();
        let rested = slot.session.is_idle() && now >= slot.since + MS;
        slot.session.end(over, now, &mut self.desk);
        self.drop_socket(index);
        if served || rested || over == Over::Stopped {
            self.slots[index].backoff = 0;
            if self.agenda.has_time(now) || self.connecting.is_some() {
                self.reopen(index);
            } else {
                self.agenda.again(index, now);
            }
        } else {
            self.back_off(index, now);
        }
    }

    fn reopen(&mut self, index: usize) {
        if let Err(errno) = self.open(index) {
            self.connect_failed(index, errno_name(errno));
        }
    }

    /// A handshake came to nothing: the socket's or the protocol's. Before
    /// the shot that is for good.
    pub(super) fn connect_failed(&mut self, index: usize, why: String) {
        let now = clock::now();
        self.slots[index].session.end(Over::Stopped, now, &mut self.desk);
        self.drop_socket(index);
        if let Some(connected) = &mut self.connecting {
            *connected.errors.entry(why).or_default() += 1;
            return;
        }
        self.desk.books.connect_error(why);
        self.back_off(index, now);
    }

    fn back_off(&mut self, index: usize, now: Ns) {
        let slot = &mut self.slots[index];
        self.agenda.back_off(index, &mut slot.backoff, now);
    }

    /// Opens stale slots again, while this turn has time; whether there are
    /// more that could be.
    pub(super) fn replace_some(&mut self) -> bool {
        for _ in 0..OPENS {
            if self.under_way >= HANDSHAKES {
                break;
            }
            let Some(index) = self.agenda.stale() else { break };
            self.drop_socket(index);
            self.slots[index].backoff = 0;
            self.reopen(index);
        }
        self.under_way < HANDSHAKES && self.agenda.has_stale()
    }

    /// Tries what is due, while this turn has time; returns when the next
    /// one is.
    pub(super) fn retry(&mut self, now: Ns) -> Ns {
        let mut opened = 0;
        loop {
            match self.agenda.retry(now, opened) {
                Ok(index) => self.reopen(index),
                Err(next) => return next,
            }
            opened += 1;
        }
    }

    /// Finds requests and handshakes that waited too long. An answer that
    /// comes late is told by its own time; this is for those that never come.
    /// Whether this turn's time was over before it was done.
    pub(super) fn sweep(&mut self, now: Ns) -> bool {
        while let Some(index) = self.agenda.next_swept() {
            let slot = &mut self.slots[index];
            match slot.state {
                State::Connecting | State::Greeting
                    if now.saturating_sub(slot.since)
                        > self.connect_timeout =>
                {
                    self.connect_failed(index, errno_name(Errno::TIMEDOUT));
                }
                State::Up => {
                    let (desk, kit) = (&mut self.desk, &mut self.kit);
                    match slot.session.expire(now, desk, kit) {
                        Some(over) => {
                            let at = clock::now();
                            self.over(index, over, at);
                            if !self.agenda.has_time(at) {
                                return self.agenda.is_sweeping();
                            }
                        }
                        // Giving up may have something to say.
                        None if !slot.session.out().is_empty() => {
                            self.pump(index);
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Begins a handshake.
    fn open(&mut self, index: usize) -> Result<(), Errno> {
        let number = self.first + index as u32;
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        let (token, route) = (slot.token(index), &self.route);
        let (fd, made) =
            self.driver.open(&mut slot.link, token, route, number)?;
        slot.fd = Some(fd);
        slot.since = clock::now();
        slot.state = State::Connecting;
        self.under_way += 1;
        if made {
            self.linked(index);
        }
        Ok(())
    }

    /// The socket is connected; the protocol begins.
    pub(super) fn linked(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let token = slot.token(index);
        let Some(fd) = &slot.fd else { return };
        if let Err(errno) = self.driver.linked(&mut slot.link, token, fd) {
            return self.connect_failed(index, errno_name(errno));
        }
        slot.state = State::Greeting;
        slot.broken = None;
        let (desk, kit) = (&mut self.desk, &mut self.kit);
        match slot.session.open(clock::now(), desk, kit) {
            Ok(()) if slot.session.is_ready() => self.up(index),
            Ok(()) => {}
            Err(over) => {
                return self.connect_failed(index, why_no_greeting(over));
            }
        }
        self.fresh.push(index as u32);
    }

    /// The protocol's handshake is done, too.
    pub(super) fn up(&mut self, index: usize) {
        self.slots[index].state = State::Up;
        self.under_way -= 1;
        if self.desk.books.is_open() {
            self.desk.books.reconnects += 1;
        }
    }

    /// Sends on connections that were just made, and on those made in turn.
    pub(super) fn pump_fresh(&mut self) {
        while let Some(index) = self.fresh.pop() {
            self.pump(index as usize);
        }
    }

    fn drop_socket(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if matches!(slot.state, State::Connecting | State::Greeting) {
            self.under_way -= 1;
        }
        let token = slot.token(index);
        if let Some(fd) = slot.fd.take() {
            self.driver.close(&mut slot.link, token, fd);
        }
        slot.state = State::Down;
    }
}

/// What to call handshakes that were under way when connecting ended.
pub(super) fn unfinished(stop: &AtomicBool) -> String {
    if stop.load(Ordering::Relaxed) {
        return "interrupted".into();
    }
    errno_name(Errno::TIMEDOUT)
}

/// Why a connection ended before it could be used.
fn why_no_greeting(over: Over) -> String {
    match over {
        Over::Error(errno) => errno_name(errno),
        Over::Broken(why) => why.to_string(),
        Over::TimedOut => errno_name(Errno::TIMEDOUT),
        Over::Surplus => "bytes came that nothing had asked for".into(),
        _ => "closed in the handshake".into(),
    }
}
