//! The engine of HTTP/3: QUIC's state and UDP sockets are this thread's own.
//!
//! Each thread has a few UDP sockets with some connections behind each, so
//! that a server with several sockets on one port is fed on all of them. What
//! came is read in batches, sorted to its connections, and each of those then
//! has its turn once: events, new requests, and all it has to send in as few
//! and as full datagrams as the path takes.

mod end;
mod exchange;
mod link;
mod names;
mod port;
mod slots;
mod time;
mod tls;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quinn_proto::ClientConfig;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::agenda::{Agenda, LOOK_UP};
use super::phase::{Phase, Schedule};
use super::shift::Shift;
use super::slots::Connected;
use super::worker::Tally;
use crate::clock::{self, Ns, timespec};
use crate::desk::Desk;
use crate::plan::Plan;
use crate::wire::http3::{Memo, Requests};
use end::End;
use exchange::Pool;
use link::Kit;
use port::{Inbox, Port};
use slots::{Slot, State};
use time::Time;

/// Connections behind one UDP socket.
const PER_PORT: usize = 8;
/// Sockets of one thread, however many connections it has.
const MOST_PORTS: usize = 64;
/// Reads of one socket before the others get their turn.
const READS: usize = 4;
/// First requests sent between two looks at the sockets.
const STARTS: usize = 8;

/// One thread's share of a shot over HTTP/3.
pub struct Quic {
    slots: Vec<Slot>,
    ports: Vec<Port>,
    desk: Desk,
    kit: Kit,
    shift: Shift,
    time: Time,
    epoll: OwnedFd,
    events: Vec<Event>,
    inbox: Inbox,
    /// Only saves an allocation.
    packet: Vec<u8>,
    client: ClientConfig,
    target: SocketAddr,
    /// Slots that had datagrams and await their turn.
    touched: Vec<u32>,
    /// When QUIC wants to be woken for a slot.
    timers: BinaryHeap<Reverse<(Ns, u32)>>,
    /// What the slots are due for beside.
    agenda: Agenda,
    /// How connecting goes, before the shot.
    connecting: Option<Connected>,
    /// Handshakes under way.
    under_way: usize,
    connect_timeout: Ns,
    up_at_open: u32,
}

impl fmt::Debug for Quic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Quic");
        out.field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Quic {
    /// A thread that holds so many connections of each lane; `first` is the
    /// number of its first among all threads'.
    pub fn new(
        plan: &Plan,
        desk: Desk,
        first: u32,
        by_lane: &[u32],
    ) -> anyhow::Result<Quic> {
        let lanes = by_lane.iter().enumerate();
        let lanes =
            lanes.flat_map(|(lane, count)| (0..*count).map(move |_| lane));
        let slots: Vec<Slot> = lanes.map(Slot::new).collect();
        let agenda =
            Agenda::new(slots.len(), by_lane.len(), STARTS, desk.timeout);
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let target = plan.spec.target;
        let endpoint = Arc::new(tls::endpoint());
        let wanted = sockets(slots.len());
        let mut ports = Vec::new();
        for index in 0..wanted {
            let port = Port::new(target, endpoint.clone())?;
            let data = EventData::new_u64(index as u64);
            epoll::add(&epoll, &port, data, EventFlags::IN)?;
            ports.push(port);
        }
        let profile = &plan.profile;
        Ok(Quic {
            slots,
            ports,
            kit: Kit {
                requests: Requests::new(profile, &plan.spec.tokens),
                memo: Memo::default(),
                pool: Pool::default(),
                text: Vec::new(),
                indexes: Vec::new(),
            },
            shift: Shift::new(first == 0),
            time: Time::new(),
            epoll,
            events: Vec::with_capacity(wanted),
            inbox: Inbox::new(),
            packet: Vec::new(),
            client: tls::client()?,
            target,
            touched: Vec::new(),
            timers: BinaryHeap::new(),
            agenda,
            connecting: None,
            under_way: 0,
            connect_timeout: plan.spec.connect_timeout_ns,
            up_at_open: 0,
            desk,
        })
    }

    /// Fires, from warm-up to hard stop or until it is told to stop.
    pub fn fire(mut self, schedule: &Schedule, stop: &AtomicBool) -> Tally {
        self.shift.until = schedule.closed();
        loop {
            let now = clock::now();
            let edge = self.advance(now, schedule);
            let over = self.shift.phase == Phase::Closed;
            if over || stop.load(Ordering::Relaxed) {
                return self.close();
            }
            self.agenda.begin_turn(now, edge);
            let replacing = self.replace_some(now);
            let sweep = self.agenda.begin_sweep(now);
            let sweeping = self.sweep(now);
            let retry = self.retry(now);
            let timer = self.run_timers(now);
            let starting = self.start_some();
            let due = self.send_due(now);
            let busy = replacing || sweeping || starting;
            let idle = if busy { 0 } else { LOOK_UP };
            let wake = edge.min(retry).min(sweep).min(now + idle);
            self.take_events(wake.min(due).min(timer).saturating_sub(now));
        }
    }

    /// Waits at most `wait` and deals with all that happened.
    fn take_events(&mut self, wait: Ns) {
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        let _ = epoll::wait(&self.epoll, room, Some(&timespec(wait)));
        self.agenda.begin_turn(clock::now(), Ns::MAX);
        for event in 0..self.events.len() {
            let Event { flags, data } = self.events[event];
            let port = data.u64() as usize;
            if flags.contains(EventFlags::OUT) {
                self.writable(port);
            }
            if flags.intersects(EventFlags::IN | EventFlags::ERR) {
                self.readable(port);
            }
        }
        self.fail_ports(clock::now());
    }

    /// Reads what came on a socket; the connections it was for have their
    /// turn.
    fn readable(&mut self, index: usize) {
        for _ in 0..READS {
            let port = &mut self.ports[index];
            let read = port.read(&mut self.inbox);
            let now = clock::now();
            if now >= self.shift.until {
                return;
            }
            let batch = match read {
                Ok(batch) => batch,
                Err(Errno::AGAIN | Errno::INTR) => return,
                Err(errno) => {
                    port.failed = Some(errno);
                    return;
                }
            };
            self.desk.books.bytes(0, batch.bytes);
            let (slots, touched) = (&mut self.slots, &mut self.touched);
            let instant = self.time.instant(now);
            port.sort(&batch, &mut self.inbox, instant, |sorted| {
                let slot = sorted.slot;
                let Some(place) = slots.get_mut(slot as usize) else { return };
                if let Some(link) = &mut place.link {
                    link.unheard = None;
                    link.quic.handle_event(sorted.event);
                    if !std::mem::replace(&mut place.touched, true) {
                        touched.push(slot);
                    }
                }
            });
            while let Some(slot) = self.touched.pop() {
                self.slots[slot as usize].touched = false;
                self.turn(slot as usize, now);
            }
            if !batch.is_full() {
                return;
            }
        }
    }

    /// One connection's turn: what happened until `now`, new requests, and
    /// all there is to send.
    fn turn(&mut self, index: usize, now: Ns) {
        let slot = &mut self.slots[index];
        if slot.state == State::Stale {
            return;
        }
        let Some(link) = &mut slot.link else { return };
        let endpoint = self.ports[slot.port].endpoint();
        while let Some(event) = link.quic.poll_endpoint_events() {
            if event.is_drained() {
                continue;
            }
            if let Some(event) = endpoint.handle_event(link.handle, event) {
                link.quic.handle_event(event);
            }
        }
        if let Some(end) = link.events(now, &mut self.desk, &mut self.kit) {
            return self.over(index, end, now);
        }
        if slot.state == State::Greeting && link.is_ready() {
            self.up(index);
        }
        self.pump(index);
    }

    /// Draws what may be in flight and sends.
    fn pump(&mut self, index: usize) {
        let now = clock::now();
        if now >= self.shift.until {
            return;
        }
        let slot = &mut self.slots[index];
        let Some(link) = &mut slot.link else { return };
        if self.shift.draws && slot.state == State::Up {
            link.fill(now, &mut self.desk, &mut self.kit);
            // In an open loop, one with room is kept for what is due next.
            if self.desk.lanes[slot.lane].pace.is_open()
                && link.has_room(&self.desk)
            {
                self.agenda.offer(index, slot.lane);
            }
        }
        self.transmit(index, now);
        self.arm(index);
    }

    /// Sends all a connection has to send, as far as there is room.
    fn transmit(&mut self, index: usize, now: Ns) {
        let slot = &mut self.slots[index];
        let Some(link) = &mut slot.link else { return };
        let port = &mut self.ports[slot.port];
        let instant = self.time.instant(now);
        loop {
            if port.is_stuck() {
                if !port.waiting.contains(&(index as u32)) {
                    port.waiting.push(index as u32);
                }
                return;
            }
            self.packet.clear();
            let most = port.batch(link.quic.current_mtu());
            let next = link.quic.poll_transmit(instant, most, &mut self.packet);
            let Some(transmit) = next else { return };
            self.desk.books.bytes(transmit.size, 0);
            port.send(transmit, &self.packet);
            if port.is_stuck() {
                want(&self.epoll, port, slot.port, true);
            }
        }
    }

    /// A socket has room again.
    fn writable(&mut self, index: usize) {
        let port = &mut self.ports[index];
        if !port.unstick() {
            return;
        }
        want(&self.epoll, port, index, false);
        let waiting = std::mem::take(&mut port.waiting);
        for slot in waiting {
            self.pump(slot as usize);
        }
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

    /// Books what the warm-up left in flight. That is quick; its connections
    /// are replaced turn by turn, so that the window opens on time.
    fn give_up(&mut self, now: Ns) {
        for (index, slot) in self.slots.iter_mut().enumerate().rev() {
            let idle = slot.link.as_ref().is_none_or(|link| link.is_idle());
            if slot.state == State::Up && !idle {
                slot.end(&End::Stopped, now, &mut self.desk, &mut self.kit);
                slot.state = State::Stale;
                self.agenda.set_stale(index);
            }
        }
    }

    fn close(mut self) -> Tally {
        let desk = self.desk;
        let (slots, ports) = (&mut self.slots, &mut self.ports);
        let (kit, time) = (&mut self.kit, self.time);
        let mut tally = self.shift.close(desk, |desk, now| {
            for slot in slots {
                slot.end(&End::Stopped, now, desk, kit);
                // The window is marked as closed: now the server may know.
                slot.part(ports, time.instant(now), End::Stopped.code());
            }
        });
        if let Some(port) = self.ports.first() {
            tally.engine = format!("quic: epoll, {}", port.words());
        }
        tally.right_by_slot = self.slots.iter().map(|s| s.right).collect();
        tally.up_at_open = self.up_at_open;
        tally.sockets = self.ports.into_iter().map(Port::into_fd).collect();
        tally
    }
}

/// UDP sockets of a thread with so many connections.
pub fn sockets(connections: usize) -> usize {
    connections.div_ceil(PER_PORT).clamp(1, MOST_PORTS)
}

/// Watches a socket, for room to send as well if it is stuck.
fn want(epoll: &OwnedFd, port: &Port, index: usize, room: bool) {
    let mut flags = EventFlags::IN;
    flags.set(EventFlags::OUT, room);
    // It was added with the same call, so this cannot fail.
    let _ = epoll::modify(epoll, port, EventData::new_u64(index as u64), flags);
}
