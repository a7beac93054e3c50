//! Sockets by readiness: a system call for each read and each write.

mod poll;

use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, read, write, writev};

use super::driver::{Driver, Token};
use super::link::{Route, errno_name};
use super::worker::{State, Worker};
use crate::clock::{self, Ns};
use crate::session::{Over, SLICES, Session};
use poll::{Interest, Poller};

/// Reads of one connection before the others get their turn.
const READS: usize = 8;
/// Writes likewise.
const WRITES: usize = 8;

/// A readiness queue and the room its thread reads into.
#[derive(Debug)]
pub(super) struct Epoll {
    poller: Poller,
    inbox: Box<[u8]>,
}

/// What a read came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Got {
    /// All there was.
    All,
    /// There may be more.
    More,
    /// The connection is over, or the window is; nothing is left to do.
    Over,
}

impl Driver for Epoll {
    type Link = Interest;

    fn new(_: &Route) -> anyhow::Result<Epoll> {
        let inbox = vec![0; 128 * 1024].into_boxed_slice();
        Ok(Epoll { poller: Poller::new()?, inbox })
    }

    fn open(
        &mut self,
        interest: &mut Interest,
        token: Token,
        route: &Route,
        number: u32,
    ) -> Result<(OwnedFd, bool), Errno> {
        let (fd, made) = route.open(number)?;
        *interest = if made { Interest::Read } else { Interest::Write };
        self.poller.add(&fd, token, *interest)?;
        Ok((fd, made))
    }

    fn linked(
        &mut self,
        interest: &mut Interest,
        token: Token,
        fd: &OwnedFd,
    ) -> Result<(), Errno> {
        self.want(interest, token, fd, Interest::Read)
    }

    fn close(&mut self, _: &mut Interest, _: Token, fd: OwnedFd) {
        drop(fd);
    }

    #[inline]
    fn pump<S: Session>(worker: &mut Worker<S, Epoll>, index: usize) {
        for _ in 0..WRITES {
            if !worker.refill(index) {
                return;
            }
            // An answer that is there before its request is sent in full
            // must be caught before that, or it would look like a right one.
            if worker.slots[index].session.out().text().is_none()
                && read_once(worker, index) == Got::Over
            {
                return;
            }
            let slot = &mut worker.slots[index];
            let Some(fd) = &slot.fd else { return };
            let out = slot.session.out();
            if out.is_empty() {
                return wait_for(worker, index, Interest::Read);
            }
            let now = clock::now();
            if now >= worker.shift.until {
                return;
            }
            let wrote = match out.text() {
                Some(text) => write(fd, text),
                None => {
                    let block = worker.desk.block.as_ref();
                    let block = block.map_or(&[][..], |b| b.as_bytes());
                    let mut slices = [IoSlice::new(&[]); SLICES];
                    let n = out.slices(block, &mut slices);
                    writev(fd, &slices[..n])
                }
            };
            match wrote {
                Ok(n) => worker.wrote(index, n, now),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return wait_for(worker, index, Interest::Both);
                }
                Err(errno) => {
                    // Answers may have come before the connection broke.
                    slot.broken = Some(errno);
                    return readable(worker, index);
                }
            }
        }
        wait_for(worker, index, Interest::Both);
    }

    fn take_events<S: Session>(worker: &mut Worker<S, Epoll>, wait: Ns) {
        let events = worker.driver.poller.wait(wait);
        worker.now = clock::now();
        worker.agenda.begin_turn(worker.now, Ns::MAX);
        for event in 0..events.unwrap_or(0) {
            let token = worker.driver.poller.token(event);
            let index = token.index as usize;
            let slot = &worker.slots[index];
            if slot.generation != token.generation || slot.state == State::Stale
            {
                continue;
            }
            if slot.state == State::Connecting {
                handshake_done(worker, index);
            } else if worker.driver.poller.is_readable(event) {
                readable(worker, index);
            } else {
                worker.pump(index);
            }
            worker.pump_fresh();
        }
        worker.pump_fresh();
    }
}

impl Epoll {
    #[inline]
    fn want(
        &mut self,
        interest: &mut Interest,
        token: Token,
        fd: &OwnedFd,
        wanted: Interest,
    ) -> Result<(), Errno> {
        if *interest == wanted {
            return Ok(());
        }
        *interest = wanted;
        self.poller.set(fd, token, wanted)
    }
}

fn handshake_done<S: Session>(worker: &mut Worker<S, Epoll>, index: usize) {
    let Some(fd) = &worker.slots[index].fd else { return };
    match rustix::net::sockopt::socket_error(fd) {
        Ok(Ok(())) => worker.linked(index),
        Ok(Err(errno)) | Err(errno) => {
            worker.connect_failed(index, errno_name(errno));
        }
    }
}

/// Reads what came on `index` and sends what may follow.
#[inline]
fn readable<S: Session>(worker: &mut Worker<S, Epoll>, index: usize) {
    for _ in 0..READS {
        match read_once(worker, index) {
            Got::All => break,
            Got::More => {}
            Got::Over => return,
        }
    }
    worker.pump(index);
}

#[inline]
fn read_once<S: Session>(worker: &mut Worker<S, Epoll>, index: usize) -> Got {
    let slot = &mut worker.slots[index];
    let Some(fd) = &slot.fd else { return Got::Over };
    let got = read(fd, &mut worker.driver.inbox[..]);
    let now = clock::now();
    worker.now = now;
    if now >= worker.shift.until {
        return Got::Over;
    }
    let over = match got {
        Ok(0) => worker.closed(index, now),
        Ok(n) => {
            worker.desk.books.bytes(0, n);
            let input = &mut worker.driver.inbox[..n];
            let (desk, kit) = (&mut worker.desk, &mut worker.kit);
            match slot.session.received(input, now, desk, kit) {
                Some(over) => over,
                // A short read means that there is no more.
                None if n < worker.driver.inbox.len() => return Got::All,
                None => return Got::More,
            }
        }
        Err(Errno::INTR) => return Got::More,
        Err(Errno::AGAIN) => match slot.broken {
            Some(errno) => Over::Error(errno),
            None => return Got::All,
        },
        Err(errno) => Over::Error(errno),
    };
    worker.over(index, over, now);
    Got::Over
}

fn wait_for<S: Session>(
    worker: &mut Worker<S, Epoll>,
    index: usize,
    interest: Interest,
) {
    let slot = &mut worker.slots[index];
    let token = slot.token(index);
    let Some(fd) = &slot.fd else { return };
    let wanted = worker.driver.want(&mut slot.link, token, fd, interest);
    if let Err(errno) = wanted {
        worker.over(index, Over::Error(errno), clock::now());
    }
}
