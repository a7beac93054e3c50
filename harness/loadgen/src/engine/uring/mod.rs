//! Sockets by completion: one system call hands over all sends that are
//! ready and fetches all answers that came.
//!
//! A receive is asked for once per connection and goes on until the socket
//! ends. Sends are copied first. Nothing the kernel may still write to or
//! read from is freed: a ring that is dropped gives up its requests and
//! waits until the last of them is over.

mod buffers;
mod parcels;
mod ring;
mod sends;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use io_uring::{opcode, types};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg as _;
use rustix::net::{RecvFlags, recv};

use super::agenda::MS;
use super::driver::{Driver, Token};
use super::link::{Route, errno_name};
use super::worker::{State, Worker};
use crate::clock::{self, Ns};
use crate::session::{Over, Session};
use buffers::{Buffers, GROUP};
use parcels::Parcels;
use ring::{Event, Kind, Ring, Tag};
use sends::{flush, parcel_tag, sent};

/// How long sends may take to be given up.
const SETTLES: Ns = 50 * MS;
/// How long all requests may, once nobody waits for them.
const ENDS: Ns = 2_000 * MS;

/// A completion queue and what the kernel was lent with it.
#[derive(Debug)]
pub(super) struct Uring {
    ring: Ring,
    lent: Lent,
    /// Connections with something to send.
    queued: Vec<u32>,
    /// Sockets a send met an error on.
    broken: Vec<Token>,
    batch: Vec<Event>,
}

/// What the kernel reads and writes while requests are on their way.
#[derive(Debug)]
struct Lent {
    buffers: Buffers,
    parcels: Parcels,
    target: Box<Address>,
}

/// An address as the kernel takes it.
#[derive(Debug)]
struct Address {
    bytes: [u64; 16],
    len: u32,
}

/// How a connection stands with the kernel.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// The request that waits on the socket, but for sends.
    asked: Option<Kind>,
    /// The parcel that is on its way.
    parcel: Option<u32>,
    /// Whether it is among those with something to send.
    queued: bool,
}

impl Address {
    fn new(target: SocketAddr) -> Address {
        let mut address = Address { bytes: [0; 16], len: 0 };
        // SAFETY: the pointer is good for that many bytes during the call.
        unsafe {
            target.with_sockaddr(|from, len| {
                let room = size_of_val(&address.bytes);
                let n = (len as usize).min(room);
                let to = address.bytes.as_mut_ptr().cast::<u8>();
                to.copy_from_nonoverlapping(from.cast(), n);
                address.len = n as u32;
            });
        }
        address
    }
}

impl Driver for Uring {
    type Link = Link;

    fn new(route: &Route) -> anyhow::Result<Uring> {
        let ring = Ring::new()?;
        let lent = Lent {
            buffers: Buffers::new(ring.get())?,
            parcels: Parcels::default(),
            target: Box::new(Address::new(route.target)),
        };
        Ok(Uring::over(ring, lent))
    }

    fn open(
        &mut self,
        link: &mut Link,
        token: Token,
        route: &Route,
        number: u32,
    ) -> Result<(OwnedFd, bool), Errno> {
        // The ring answers for a non-blocking socket at once, ready or not.
        let fd = route.socket(number, false)?;
        let address = &self.lent.target;
        let entry = opcode::Connect::new(
            types::Fd(fd.as_raw_fd()),
            address.bytes.as_ptr().cast(),
            address.len,
        );
        let tag = Tag::new(Kind::Connect, token);
        // SAFETY: the address stays as long as the ring has requests.
        unsafe { self.ring.push(entry.build(), tag) };
        *link = Link { asked: Some(Kind::Connect), ..Link::default() };
        Ok((fd, false))
    }

    fn linked(
        &mut self,
        link: &mut Link,
        token: Token,
        fd: &OwnedFd,
    ) -> Result<(), Errno> {
        self.receive(link, token, fd);
        Ok(())
    }

    fn close(&mut self, link: &mut Link, token: Token, fd: OwnedFd) {
        self.forget(link, token);
        // The socket itself goes with the last request that holds it.
        drop(fd);
    }

    #[inline]
    fn pump<S: Session>(worker: &mut Worker<S, Uring>, index: usize) {
        if !worker.refill(index) {
            return;
        }
        let slot = &mut worker.slots[index];
        let link = &mut slot.link;
        let idle = link.parcel.is_none() && !link.queued;
        if idle && !slot.session.out().is_empty() {
            link.queued = true;
            worker.driver.queued.push(index as u32);
        }
    }

    fn take_events<S: Session>(worker: &mut Worker<S, Uring>, wait: Ns) {
        flush(worker);
        worker.driver.ring.enter(wait);
        let now = clock::now();
        worker.now = now;
        worker.agenda.begin_turn(now, Ns::MAX);
        let driver = &mut worker.driver;
        let mut batch = std::mem::take(&mut driver.batch);
        driver.ring.reap(&mut batch);
        let mut memory = std::mem::take(&mut driver.lent.buffers.memory);
        for event in &batch {
            match event.tag.kind() {
                Kind::Receive => received(worker, event, &mut memory, now),
                Kind::Send => sent(worker, event),
                Kind::Connect => connected(worker, event),
                Kind::Cancel => {}
            }
            worker.pump_fresh();
        }
        worker.driver.lent.buffers.memory = memory;
        worker.driver.lent.buffers.commit();
        batch.clear();
        worker.driver.batch = batch;
        while let Some(token) = worker.driver.broken.pop() {
            drain(worker, token);
        }
        worker.pump_fresh();
    }

    /// Sends the kernel has but did not finish are given up, so that what it
    /// took of them is known.
    fn settle<S: Session>(worker: &mut Worker<S, Uring>) {
        for number in worker.driver.lent.parcels.out() {
            worker.driver.give_up(parcel_tag(number));
        }
        let patience = clock::now() + SETTLES;
        while !worker.driver.lent.parcels.out().is_empty()
            && clock::now() < patience
        {
            let mut batch = Vec::new();
            worker.driver.ring.enter(MS);
            worker.driver.ring.reap(&mut batch);
            for event in &batch {
                if event.tag.kind() == Kind::Send {
                    sent(worker, event);
                }
            }
        }
    }

    fn forget(&mut self, link: &mut Link, token: Token) {
        let link = std::mem::take(link);
        if let Some(kind) = link.asked {
            self.give_up(Tag::new(kind, token));
        }
        if let Some(number) = link.parcel {
            self.give_up(parcel_tag(number));
        }
    }
}

impl Uring {
    fn over(ring: Ring, lent: Lent) -> Uring {
        Uring {
            ring,
            lent,
            queued: Vec::new(),
            broken: Vec::new(),
            batch: Vec::new(),
        }
    }

    fn receive(&mut self, link: &mut Link, token: Token, fd: &OwnedFd) {
        let fd = types::Fd(fd.as_raw_fd());
        let entry = opcode::RecvMulti::new(fd, GROUP).build();
        link.asked = Some(Kind::Receive);
        // SAFETY: the buffers stay as long as the ring has requests.
        unsafe { self.ring.push(entry, Tag::new(Kind::Receive, token)) };
    }

    fn give_up(&mut self, tag: Tag) {
        let entry = opcode::AsyncCancel::new(tag.0).build();
        let token = Token { index: 0, generation: 0 };
        // SAFETY: it points to nothing.
        unsafe { self.ring.push(entry, Tag::new(Kind::Cancel, token)) };
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let mut batch = Vec::new();
        self.ring.enter(0);
        let patience = clock::now() + ENDS;
        let mut last = usize::MAX;
        while clock::now() < patience {
            self.ring.reap(&mut batch);
            batch.clear();
            let left = self.ring.flying();
            if left == 0 {
                return;
            }
            // What nobody gave up by name is given up wholesale, which takes
            // the kernel longer.
            if left == last {
                let all = types::CancelBuilder::any().all();
                let limit = types::Timespec::new().nsec(MS as u32);
                let submitter = self.ring.get().submitter();
                let _ = submitter.register_sync_cancel(Some(limit), all);
            }
            last = left;
            self.ring.enter(MS);
        }
        // Lost rather than freed under the kernel's hands.
        eprintln!("loadgen: requests of a ring would not end");
        let buffers = Box::new([0; 0]);
        std::mem::forget(std::mem::replace(
            &mut self.lent.buffers.memory,
            buffers,
        ));
        std::mem::forget(std::mem::take(&mut self.lent.parcels));
    }
}

fn connected<S: Session>(worker: &mut Worker<S, Uring>, event: &Event) {
    let index = event.tag.index();
    let slot = &mut worker.slots[index];
    if !event.tag.is(slot.token(index)) || slot.fd.is_none() {
        return;
    }
    slot.link.asked = None;
    match event.errno() {
        None => worker.linked(index),
        Some(errno) => worker.connect_failed(index, errno_name(errno)),
    }
}

#[inline]
fn received<S: Session>(
    worker: &mut Worker<S, Uring>,
    event: &Event,
    memory: &mut [u8],
    now: Ns,
) {
    let n = event.result.max(0) as usize;
    let range = worker.driver.lent.buffers.take(event.flags, n);
    let index = event.tag.index();
    let slot = &mut worker.slots[index];
    let token = slot.token(index);
    if !event.tag.is(token) || now >= worker.shift.until {
        return;
    }
    let Some(fd) = &slot.fd else { return };
    if !event.more() {
        slot.link.asked = None;
    }
    if slot.state == State::Stale {
        return;
    }
    let over = match event.errno() {
        None if n == 0 => worker.closed(index, now),
        None => {
            worker.desk.books.bytes(0, n);
            let (desk, kit) = (&mut worker.desk, &mut worker.kit);
            let input = &mut memory[range];
            match slot.session.received(input, now, desk, kit) {
                Some(over) => over,
                None => {
                    if slot.link.asked.is_none() {
                        worker.driver.receive(&mut slot.link, token, fd);
                    }
                    return worker.pump(index);
                }
            }
        }
        // All buffers were in use; they are given back before this is asked.
        Some(Errno::NOBUFS | Errno::INTR | Errno::AGAIN) => {
            return worker.driver.receive(&mut slot.link, token, fd);
        }
        Some(errno) => Over::Error(slot.broken.unwrap_or(errno)),
    };
    worker.over(index, over, now);
}

/// Reads what is left on a socket that cannot be written to, and ends it.
#[cold]
fn drain<S: Session>(worker: &mut Worker<S, Uring>, token: Token) {
    let index = token.index as usize;
    let mut inbox = Vec::with_capacity(16 * 1024);
    loop {
        let slot = &mut worker.slots[index];
        let (Some(fd), Some(errno)) = (&slot.fd, slot.broken) else { return };
        if slot.token(index) != token || slot.state == State::Stale {
            return;
        }
        inbox.clear();
        let room = spare_capacity(&mut inbox);
        let got = recv(fd, room, RecvFlags::DONTWAIT);
        let now = clock::now();
        if now >= worker.shift.until {
            return;
        }
        let over = match got {
            Err(Errno::INTR) => continue,
            Ok((_, n)) if n > 0 => {
                worker.desk.books.bytes(0, n);
                let (desk, kit) = (&mut worker.desk, &mut worker.kit);
                match slot.session.received(&mut inbox, now, desk, kit) {
                    None => continue,
                    Some(over) => over,
                }
            }
            Ok(_) | Err(Errno::AGAIN) => Over::Error(errno),
            Err(errno) => Over::Error(errno),
        };
        return worker.over(index, over, now);
    }
}

/// Tries all that the driver needs of the system, in a round of one byte;
/// else what was refused.
pub(super) fn probe() -> Result<(), (&'static str, io::Error)> {
    let ring = Ring::new().map_err(|e| ("io_uring_setup", e))?;
    let buffers = Buffers::new(ring.get())
        .map_err(|e| ("io_uring_register buffers", e))?;
    let (mut near, far) = UnixStream::pair().map_err(|e| ("socketpair", e))?;
    near.write_all(b"x").map_err(|e| ("write", e))?;
    let lent = Lent {
        buffers,
        parcels: Parcels::default(),
        target: Box::new(Address { bytes: [0; 16], len: 0 }),
    };
    let mut uring = Uring::over(ring, lent);
    let far = OwnedFd::from(far);
    uring.receive(&mut Link::default(), Token::default(), &far);
    uring.ring.enter(100 * MS);
    let mut events = Vec::new();
    uring.ring.reap(&mut events);
    let refused = |errno| Err(("io_uring receive", io::Error::from(errno)));
    match events.first() {
        Some(event) => match event.errno() {
            None if event.result == 1 && event.more() => Ok(()),
            None => refused(Errno::OPNOTSUPP),
            Some(errno) => refused(errno),
        },
        None => refused(Errno::TIMEDOUT),
    }
}
