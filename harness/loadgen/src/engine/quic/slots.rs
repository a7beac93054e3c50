//! Connections that come and go: opened, lost, given up, opened again.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{DEFAULT_SUPPORTED_VERSIONS as VERSIONS, VarInt};
use rustix::io::Errno;

use super::Quic;
use super::end::End;
use super::link::{Kit, Link};
use super::port::Port;
use crate::clock::{self, Ns};
use crate::desk::Desk;
use crate::engine::agenda::{LOOK_UP, MS, OPENS};
use crate::engine::slots::{Connected, unfinished};
use crate::trust::SERVER_NAME;
use crate::wire::http3::Code;

/// Handshakes a thread has under way at a time.
const HANDSHAKES: usize = 32;

/// How a slot stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Down,
    /// What was in flight is given up; the connection waits to be replaced
    /// and is not listened to.
    Stale,
    /// The handshake is under way, or the server's settings have not come.
    Greeting,
    Up,
}

/// One connection's place. It keeps its number and its counts while the
/// connections in it come and go.
pub(super) struct Slot {
    pub(super) link: Option<Box<Link>>,
    pub(super) state: State,
    pub(super) lane: usize,
    pub(super) port: usize,
    /// Whether it awaits its turn.
    pub(super) touched: bool,
    /// Right answers of the connections that were in it.
    pub(super) right: u64,
    /// When the timer of it that counts is due.
    armed: Ns,
    /// When its handshake began.
    since: Ns,
    /// How long it waited before its last attempt.
    backoff: Ns,
    /// The version it offers, by its place in [`VERSIONS`].
    version: usize,
}

impl Slot {
    pub(super) fn new(lane: usize) -> Slot {
        Slot {
            link: None,
            state: State::Down,
            lane,
            port: 0,
            touched: false,
            right: 0,
            armed: Ns::MAX,
            since: 0,
            backoff: 0,
            version: 0,
        }
    }

    /// Books what was in flight.
    pub(super) fn end(
        &mut self,
        end: &End,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Kit,
    ) {
        if let Some(link) = &mut self.link {
            link.end(end, now, desk, kit);
            self.right += std::mem::take(&mut link.right);
        }
    }

    /// Tells the server, as far as the kernel has room, and forgets the
    /// connection.
    pub(super) fn part(
        &mut self,
        ports: &mut [Port],
        now: Instant,
        code: Code,
    ) {
        self.state = State::Down;
        let Some(mut link) = self.link.take() else { return };
        let port = &mut ports[self.port];
        let code = VarInt::from_u64(code.0).unwrap_or(VarInt::MAX);
        link.quic.close(now, code, Bytes::new());
        let mut packet = Vec::new();
        if !port.is_stuck()
            && let Some(last) = link.quic.poll_transmit(now, 1, &mut packet)
        {
            port.send(last, &packet);
        }
        port.forget(link.handle);
    }
}

impl Quic {
    /// Makes all connections, each tried once: QUIC's handshake and HTTP/3's
    /// settings.
    pub fn connect(&mut self, stop: &AtomicBool) -> Connected {
        let deadline = clock::now().saturating_add(self.connect_timeout);
        self.connecting = Some(Connected::default());
        let mut next = 0;
        while next < self.slots.len() || self.under_way > 0 {
            while next < self.slots.len() && self.under_way < HANDSHAKES {
                self.reopen(next, clock::now());
                next += 1;
            }
            let now = clock::now();
            if now >= deadline || stop.load(Ordering::Relaxed) {
                break;
            }
            if self.under_way > 0 {
                let timer = self.run_timers(now).saturating_sub(now);
                self.take_events(LOOK_UP.min(deadline - now).min(timer));
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

    /// The handshake is done.
    pub(super) fn up(&mut self, index: usize) {
        self.slots[index].state = State::Up;
        self.under_way -= 1;
        if self.desk.books.is_open() {
            self.desk.books.reconnects += 1;
        }
    }

    /// A connection is over: books what was in flight and opens it again.
    /// One that let its requests down is tried again later and later, so
    /// that a server that hangs up on everyone is not called in a tight loop.
    pub(super) fn over(&mut self, index: usize, end: End, now: Ns) {
        let slot = &mut self.slots[index];
        let Some(link) = &slot.link else { return };
        if slot.state == State::Stale {
            return;
        }
        let served = link.has_answered();
        let rested = link.is_idle() && now >= slot.since + MS;
        let greeting = slot.state == State::Greeting;
        self.drop_link(index, &end, now);
        let slot = &mut self.slots[index];
        if greeting {
            if matches!(end, End::Version) && slot.version + 1 < VERSIONS.len()
            {
                slot.version += 1;
                return self.reopen(index, now);
            }
            self.connect_failed(index, end.name(), now);
        } else if served || rested || matches!(end, End::Stopped) {
            slot.backoff = 0;
            if self.agenda.has_time(now) || self.connecting.is_some() {
                self.reopen(index, now);
            } else {
                self.agenda.again(index, now);
            }
        } else {
            self.back_off(index, now);
        }
    }

    fn drop_link(&mut self, index: usize, end: &End, now: Ns) {
        let slot = &mut self.slots[index];
        if slot.state == State::Greeting {
            self.under_way -= 1;
        }
        slot.end(end, now, &mut self.desk, &mut self.kit);
        slot.part(&mut self.ports, self.time.instant(now), end.code());
    }

    /// A socket said that the path is broken: so are all connections on it.
    pub(super) fn fail_ports(&mut self, now: Ns) {
        for port in 0..self.ports.len() {
            if let Some(errno) = self.ports[port].failed.take() {
                self.port_failed(port, errno, now);
            }
        }
    }

    #[cold]
    fn port_failed(&mut self, port: usize, errno: Errno, now: Ns) {
        for index in 0..self.slots.len() {
            if self.slots[index].port == port {
                self.over(index, End::errno(errno), now);
            }
        }
    }

    /// A handshake came to nothing. Before the shot that is for good.
    fn connect_failed(&mut self, index: usize, why: String, now: Ns) {
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
    pub(super) fn replace_some(&mut self, now: Ns) -> bool {
        for _ in 0..OPENS {
            if self.under_way >= HANDSHAKES {
                break;
            }
            let Some(index) = self.agenda.stale() else { break };
            self.drop_link(index, &End::Stopped, now);
            self.slots[index].backoff = 0;
            self.reopen(index, clock::now());
        }
        self.under_way < HANDSHAKES && self.agenda.has_stale()
    }

    /// Tries what is due, while this turn has time; returns when the next
    /// one is.
    pub(super) fn retry(&mut self, now: Ns) -> Ns {
        let mut opened = 0;
        loop {
            match self.agenda.retry(now, opened) {
                Ok(index) => self.reopen(index, now),
                Err(next) => return next,
            }
            opened += 1;
        }
    }

    /// Begins a handshake.
    fn reopen(&mut self, index: usize, now: Ns) {
        let slot = &mut self.slots[index];
        slot.port = index % self.ports.len();
        slot.since = now;
        let mut client = self.client.clone();
        client.version(VERSIONS[slot.version]);
        let port = &mut self.ports[slot.port];
        let instant = self.time.instant(now);
        let made =
            port.endpoint().connect(instant, client, self.target, SERVER_NAME);
        match made {
            Ok((handle, quic)) => {
                port.route(handle, index as u32);
                let link = Link::new(quic, handle, slot.lane);
                slot.link = Some(Box::new(link));
                slot.state = State::Greeting;
                self.under_way += 1;
                self.pump(index);
            }
            Err(why) => self.connect_failed(index, why.to_string(), now),
        }
    }

    /// Finds requests and handshakes that waited too long. Whether this
    /// turn's time was over before it was done.
    pub(super) fn sweep(&mut self, now: Ns) -> bool {
        while let Some(index) = self.agenda.next_swept() {
            let slot = &mut self.slots[index];
            let Some(link) = &mut slot.link else { continue };
            match slot.state {
                State::Greeting
                    if now.saturating_sub(slot.since)
                        > self.connect_timeout =>
                {
                    self.over(index, End::errno(Errno::TIMEDOUT), now);
                }
                State::Up => {
                    let (desk, kit) = (&mut self.desk, &mut self.kit);
                    match link.expire(now, desk, kit) {
                        Some(end) => {
                            let at = clock::now();
                            self.over(index, end, at);
                            if !self.agenda.has_time(at) {
                                return self.agenda.is_sweeping();
                            }
                        }
                        // Giving up has something to say.
                        None => self.pump(index),
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Sets the timer of a connection to what QUIC wants. One that is due
    /// before is left: when it comes it finds that there is nothing to do.
    #[inline]
    pub(super) fn arm(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(link) = &mut slot.link else { return };
        let Some(at) = link.quic.poll_timeout() else { return };
        let at = self.time.ns(at);
        if at < slot.armed {
            slot.armed = at;
            self.timers.push(Reverse((at, index as u32)));
        }
    }

    /// Wakes what is due; returns when the next one is.
    pub(super) fn run_timers(&mut self, now: Ns) -> Ns {
        while let Some(&Reverse((at, index))) = self.timers.peek() {
            if at > now {
                return at;
            }
            self.timers.pop();
            let index = index as usize;
            let slot = &mut self.slots[index];
            if slot.armed != at {
                continue;
            }
            slot.armed = Ns::MAX;
            let Some(link) = &mut slot.link else { continue };
            let due = link.quic.poll_timeout();
            if due.is_some_and(|due| self.time.ns(due) <= now) {
                link.quic.handle_timeout(self.time.instant(now));
                self.turn(index, now);
            } else {
                self.arm(index);
            }
        }
        Ns::MAX
    }
}
