//! The seam between what connections do and how their bytes come and go.

use std::fmt::Debug;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::link::Route;
use super::worker::Worker;
use crate::clock::Ns;
use crate::session::Session;

/// A connection's place and how many sockets were in it, so that news of a
/// socket that is gone is never taken for its heir's.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Token {
    /// The place.
    pub(super) index: u32,
    /// Its sockets so far.
    pub(super) generation: u32,
}

/// A queue of the kernel's, and the I/O it asks for. Slots, phases, retries
/// and sessions are the worker's and the same under each.
pub(super) trait Driver: Debug + Sized {
    /// What it keeps for each connection.
    type Link: Debug + Default;

    /// A queue for one thread, made on that thread.
    fn new(route: &Route) -> anyhow::Result<Self>;

    /// Begins the socket of connection `number`, counted over all threads;
    /// whether it is made already.
    fn open(
        &mut self,
        link: &mut Self::Link,
        token: Token,
        route: &Route,
        number: u32,
    ) -> Result<(OwnedFd, bool), Errno>;

    /// The socket is connected: from now on it is read.
    fn linked(
        &mut self,
        link: &mut Self::Link,
        token: Token,
        fd: &OwnedFd,
    ) -> Result<(), Errno>;

    /// Forgets and closes the socket.
    fn close(&mut self, link: &mut Self::Link, token: Token, fd: OwnedFd);

    /// Nothing more will happen on the socket, which stays open.
    fn forget(&mut self, _link: &mut Self::Link, _token: Token) {}

    /// Draws what may be in flight on `index` and sends it, now or with the
    /// next wait.
    fn pump<S: Session>(worker: &mut Worker<S, Self>, index: usize);

    /// Waits at most `wait` and deals with all that happened.
    fn take_events<S: Session>(worker: &mut Worker<S, Self>, wait: Ns);

    /// Nothing more will be waited for: what the kernel took must be in the
    /// books.
    fn settle<S: Session>(_worker: &mut Worker<S, Self>) {}
}
