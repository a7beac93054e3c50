//! The hot path: bytes in, answers checked, requests out.

use std::io::IoSlice;

use rustix::io::{Errno, read, write, writev};

use super::poll::Interest;
use super::worker::{State, Worker};
use crate::clock;
use crate::session::{Over, SLICES, Session};

/// Reads of one connection before the others get their turn.
const READS: usize = 8;
/// Writes likewise.
const WRITES: usize = 8;

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

impl<S: Session> Worker<S> {
    /// Reads what came on `index` and sends what may follow.
    #[inline]
    pub(super) fn readable(&mut self, index: usize) {
        for _ in 0..READS {
            match self.read_once(index) {
                Got::All => break,
                Got::More => {}
                Got::Over => return,
            }
        }
        self.pump(index);
    }

    #[inline]
    fn read_once(&mut self, index: usize) -> Got {
        let slot = &mut self.slots[index];
        let Some(fd) = &slot.fd else { return Got::Over };
        let got = read(fd, &mut self.inbox[..]);
        let now = clock::now();
        if now >= self.shift.until {
            return Got::Over;
        }
        let over = match got {
            Ok(0) => match slot.broken {
                Some(errno) => Over::Error(errno),
                None => slot.session.closed(now, &mut self.desk, &mut self.kit),
            },
            Ok(n) => {
                self.desk.books.bytes(0, n);
                let input = &mut self.inbox[..n];
                let (desk, kit) = (&mut self.desk, &mut self.kit);
                match slot.session.received(input, now, desk, kit) {
                    Some(over) => over,
                    // A short read means that there is no more.
                    None if n < self.inbox.len() => return Got::All,
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
        self.over(index, over, now);
        Got::Over
    }

    /// Draws what may be in flight and sends what the kernel takes.
    #[inline]
    pub(super) fn pump(&mut self, index: usize) {
        for _ in 0..WRITES {
            let slot = &mut self.slots[index];
            let linked = matches!(slot.state, State::Greeting | State::Up);
            if !linked || slot.broken.is_some() {
                return;
            }
            if slot.state == State::Greeting && slot.session.is_ready() {
                self.up(index);
            }
            let slot = &mut self.slots[index];
            if self.shift.draws && slot.state == State::Up {
                let (desk, kit) = (&mut self.desk, &mut self.kit);
                slot.session.fill(clock::now(), desk, kit);
                self.offer(index);
            }
            let slot = &mut self.slots[index];
            // An answer that is there before its request is sent in full
            // must be caught before that, or it would look like a right one.
            if slot.session.out().text().is_none()
                && self.read_once(index) == Got::Over
            {
                return;
            }
            let slot = &mut self.slots[index];
            let Some(fd) = &slot.fd else { return };
            let out = slot.session.out();
            if out.is_empty() {
                return self.wait_for(index, Interest::Read);
            }
            let now = clock::now();
            if now >= self.shift.until {
                return;
            }
            let wrote = match out.text() {
                Some(text) => write(fd, text),
                None => {
                    let block = self.desk.block.as_ref();
                    let block = block.map_or(&[][..], |b| b.as_bytes());
                    let mut slices = [IoSlice::new(&[]); SLICES];
                    let n = out.slices(block, &mut slices);
                    writev(fd, &slices[..n])
                }
            };
            match wrote {
                Ok(n) => {
                    slot.session.wrote(n, now, &mut self.desk);
                    self.desk.books.bytes(n, 0);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return self.wait_for(index, Interest::Both);
                }
                Err(errno) => {
                    // Answers may have come before the connection broke.
                    slot.broken = Some(errno);
                    return self.readable(index);
                }
            }
        }
        self.wait_for(index, Interest::Both);
    }

    /// In an open loop, a connection with room is kept for what is due next.
    #[inline]
    fn offer(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if !slot.spare
            && self.desk.lanes[slot.lane].pace.is_open()
            && slot.session.has_room(&self.desk)
        {
            slot.spare = true;
            self.spare[slot.lane].push_back(index as u32);
        }
    }

    fn wait_for(&mut self, index: usize, interest: Interest) {
        if let Err(errno) = self.want(index, interest) {
            self.over(index, Over::Error(errno), clock::now());
        }
    }
}
