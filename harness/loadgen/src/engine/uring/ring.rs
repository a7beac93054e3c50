//! One ring: requests in, completions out, one system call for both.

use std::io;

use io_uring::EnterFlags;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, squeue};
use rustix::io::Errno;

use super::super::driver::Token;
use crate::clock::Ns;

/// Requests handed over in one call. More of them go in more calls.
const SUBMISSIONS: u32 = 256;
/// Completions the kernel has room for before it keeps a list of its own.
const COMPLETIONS: u32 = 2048;

/// What a completion is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum Kind {
    /// The socket's handshake.
    Connect,
    /// Bytes that came.
    Receive,
    /// A send; its token is not a connection's but a parcel's.
    Send,
    /// A request to give up another.
    Cancel,
}

/// What the kernel hands back with a completion: 8 bits of kind, 24 of
/// generation, 32 of index. A connection's place is not taken 16 million
/// times between a request and its completion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Tag(pub(super) u64);

impl Tag {
    #[inline]
    pub(super) fn new(kind: Kind, token: Token) -> Tag {
        let generation = u64::from(token.generation & 0xff_ffff) << 32;
        Tag((kind as u64) << 56 | generation | u64::from(token.index))
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match self.0 >> 56 {
            0 => Kind::Connect,
            1 => Kind::Receive,
            2 => Kind::Send,
            _ => Kind::Cancel,
        }
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as u32 as usize
    }

    /// Whether it names the socket `token` names.
    #[inline]
    pub(super) fn is(self, token: Token) -> bool {
        self == Tag::new(self.kind(), token)
    }
}

/// A completion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) tag: Tag,
    pub(super) result: i32,
    pub(super) flags: u32,
}

impl Event {
    /// Whether the request goes on.
    #[inline]
    pub(super) fn more(&self) -> bool {
        cqueue::more(self.flags)
    }

    /// The errno of a failed request.
    #[inline]
    pub(super) fn errno(&self) -> Option<Errno> {
        (self.result < 0).then(|| Errno::from_raw_os_error(-self.result))
    }
}

/// A ring of the thread that made it.
pub(super) struct Ring {
    ring: IoUring,
    /// Requests whose last completion is not seen yet.
    flying: usize,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("flying", &self.flying).finish()
    }
}

impl Ring {
    /// A ring whose kernel work is done only when its thread asks for
    /// completions. Kernels without that (before 6.1) have no ring for us.
    pub(super) fn new() -> io::Result<Ring> {
        let build = |no_array: bool| {
            let mut builder = IoUring::builder();
            builder
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_submit_all()
                .setup_cqsize(COMPLETIONS);
            if no_array {
                builder.setup_no_sqarray();
            }
            builder.build(SUBMISSIONS)
        };
        // One look-up less per request, since 6.6.
        let ring = match build(true) {
            Err(e) if e.raw_os_error() == Some(22) => build(false)?,
            other => other?,
        };
        Ok(Ring { ring, flying: 0 })
    }

    pub(super) fn get(&self) -> &IoUring {
        &self.ring
    }

    /// Requests that are not over.
    pub(super) fn flying(&self) -> usize {
        self.flying
    }

    /// Queues a request for the next [`Ring::enter`].
    ///
    /// # Safety
    ///
    /// What `entry` points to must stay until its last completion was
    /// reaped.
    #[inline]
    pub(super) unsafe fn push(&mut self, entry: squeue::Entry, tag: Tag) {
        let entry = entry.user_data(tag.0);
        self.flying += 1;
        // SAFETY: handed on to the caller.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // The queue is full; hand over what is in it. It is emptied even
            // when this fails for want of memory, or not at all and tried
            // again.
            let _ = self.ring.submit();
        }
    }

    /// Hands over what is queued and waits at most `wait` for a completion.
    #[inline]
    pub(super) fn enter(&mut self, wait: Ns) {
        let wait = if self.ring.completion().is_empty() { wait } else { 0 };
        let time = Timespec::new()
            .sec(wait / 1_000_000_000)
            .nsec((wait % 1_000_000_000) as u32);
        let args = SubmitArgs::new().timespec(&time);
        let queued = self.ring.submission().len() as u32;
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        let (want, flags) = (u32::from(wait > 0), flags.bits());
        let submitter = self.ring.submitter();
        // SAFETY: the argument is what these flags announce. Time is up, a
        // signal came, or memory is short: all of them show in what can be
        // reaped, so the outcome tells nothing.
        let _ = unsafe { submitter.enter(queued, want, flags, Some(&args)) };
    }

    /// Moves all completions to `events`.
    #[inline]
    pub(super) fn reap(&mut self, events: &mut Vec<Event>) {
        let mut over = 0;
        for entry in self.ring.completion() {
            let event = Event {
                tag: Tag(entry.user_data()),
                result: entry.result(),
                flags: entry.flags(),
            };
            over += usize::from(!event.more());
            events.push(event);
        }
        self.flying -= over;
    }
}
