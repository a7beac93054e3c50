//! Connections that come and go: opened, lost, given up, opened again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::link::errno_name;
use super::poll::Interest;
use super::worker::{LOOK_UP, MS, State, Worker};
use crate::clock::{self, Ns};
use crate::session::Over;

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

impl Worker {
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

    /// A connection is over: books what was in flight and opens it again.
    /// One that let its requests down is tried again later and later, so
    /// that a server that hangs up on everyone is not called in a tight loop.
    pub(super) fn over(&mut self, index: usize, over: Over, now: Ns) {
        let slot = &mut self.slots[index];
        let served = slot.session.has_answered();
        let rested = slot.session.is_idle() && now >= slot.since + MS;
        slot.session.end(over, now, &mut self.desk.books);
        self.drop_socket(index);
        if served || rested || over == Over::Stopped {
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

    pub(super) fn connect_failed(&mut self, index: usize, errno: Errno) {
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
    pub(super) fn retry(&mut self, now: Ns) -> Ns {
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
    pub(super) fn sweep(&mut self, now: Ns) {
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

    pub(super) fn handshake_done(&mut self, index: usize) -> Result<(), Errno> {
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
    pub(super) fn pump_fresh(&mut self) {
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
