//! The seam to the kernel's readiness queue: one per thread.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::Token;
use crate::clock::{Ns, timespec};

/// Events taken in one go.
const BATCH: usize = 512;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(in super::super) enum Interest {
    /// Answers.
    #[default]
    Read,
    /// Answers, and room to send more.
    Both,
    /// The end of its handshake.
    Write,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Interest::Read => EventFlags::IN,
            Interest::Both => EventFlags::IN | EventFlags::OUT,
            Interest::Write => EventFlags::OUT,
        }
    }
}

/// One readiness queue.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").field("epoll", &self.epoll).finish()
    }
}

impl Poller {
    /// An empty queue.
    pub(super) fn new() -> Result<Poller, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Poller { epoll, events: Vec::with_capacity(BATCH) })
    }

    /// Watches `fd`; closing it ends that.
    pub(super) fn add(
        &self,
        fd: impl AsFd,
        token: Token,
        interest: Interest,
    ) -> Result<(), Errno> {
        let data = EventData::new_u64(packed(token));
        epoll::add(&self.epoll, fd, data, interest.flags())
    }

    /// Watches `fd` for something else.
    pub(super) fn set(
        &self,
        fd: impl AsFd,
        token: Token,
        interest: Interest,
    ) -> Result<(), Errno> {
        let data = EventData::new_u64(packed(token));
        epoll::modify(&self.epoll, fd, data, interest.flags())
    }

    /// Waits at most `ns` and returns how many events there are.
    pub(super) fn wait(&mut self, ns: Ns) -> Result<usize, Errno> {
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, Some(&timespec(ns))) {
            Ok(_) | Err(Errno::INTR) => Ok(self.events.len()),
            Err(errno) => Err(errno),
        }
    }

    /// The token of event `index` of the last wait.
    #[inline]
    pub(super) fn token(&self, index: usize) -> Token {
        let data = self.events[index].data.u64();
        Token { index: data as u32, generation: (data >> 32) as u32 }
    }

    /// Whether event `index` says that there may be something to read; an
    /// error or a hang-up is read, too.
    #[inline]
    pub(super) fn is_readable(&self, index: usize) -> bool {
        let flags = self.events[index].flags;
        flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP)
    }
}

fn packed(token: Token) -> u64 {
    u64::from(token.generation) << 32 | u64::from(token.index)
}
