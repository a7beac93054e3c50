//! Room for what comes: buffers the kernel picks from when bytes are there,
//! so that a connection that waits holds none.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::{IoUring, cqueue};

/// Buffers, a power of two, and the bytes of each.
const COUNT: u16 = 16;
const BYTES: usize = 64 * 1024;
/// The group's number; there is but one.
pub(super) const GROUP: u16 = 0;
/// Answers are laid into a buffer one behind the other until it is full.
const INCREMENTAL: u16 = 2;
const PAGE: usize = 4096;

/// The buffers of one ring.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The kernel's list of free buffers, page-aligned.
    list: NonNull<BufRingEntry>,
    /// Where it ends; the kernel sees it after [`Buffers::commit`].
    tail: u16,
    /// All buffers, one behind the other. Taken out while a batch is read.
    pub(super) memory: Box<[u8]>,
    base: u64,
    /// How far each is filled.
    filled: [u32; COUNT as usize],
}

fn layout() -> Layout {
    let bytes = usize::from(COUNT) * size_of::<BufRingEntry>();
    Layout::from_size_align(bytes.next_multiple_of(PAGE), PAGE)
        .unwrap_or(Layout::new::<u128>())
}

impl Buffers {
    /// Buffers, registered with `ring`. They must outlive its requests.
    pub(super) fn new(ring: &IoUring) -> io::Result<Buffers> {
        let layout = layout();
        // SAFETY: the layout is not empty.
        let list = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        let Some(list) = NonNull::new(list) else { handle_alloc_error(layout) };
        let mut memory = vec![0; usize::from(COUNT) * BYTES].into_boxed_slice();
        let mut buffers = Buffers {
            list,
            tail: 0,
            base: memory.as_mut_ptr() as u64,
            memory,
            filled: [0; COUNT as usize],
        };
        let register = |flags| {
            let at = list.as_ptr() as u64;
            let submitter = ring.submitter();
            // SAFETY: the list is of that length, aligned to a page, and
            // freed by the owner of both only after the ring is idle.
            unsafe {
                submitter.register_buf_ring_with_flags(at, COUNT, GROUP, flags)
            }
        };
        // Before 6.12 a buffer holds the bytes of one receive.
        match register(INCREMENTAL) {
            Err(e) if e.raw_os_error() == Some(22) => register(0)?,
            other => other?,
        }
        for buffer in 0..COUNT {
            buffers.give(buffer);
        }
        buffers.commit();
        Ok(buffers)
    }

    /// Where in [`Buffers::memory`] the `n` bytes of a completion are. The
    /// buffer goes back when that was its last.
    #[inline]
    pub(super) fn take(&mut self, flags: u32, n: usize) -> Range<usize> {
        let Some(buffer) = cqueue::buffer_select(flags) else { return 0..0 };
        let filled = &mut self.filled[usize::from(buffer)];
        let from = usize::from(buffer) * BYTES + *filled as usize;
        if cqueue::buffer_more(flags) {
            *filled += n as u32;
        } else {
            *filled = 0;
            self.give(buffer);
        }
        from..from + n
    }

    #[inline]
    fn give(&mut self, buffer: u16) {
        let at = usize::from(self.tail & (COUNT - 1));
        // SAFETY: `at` is within the list, and the kernel does not read the
        // entry before the tail has passed it. Address, length and number
        // are written one by one: in the first entry, what follows them is
        // the tail.
        unsafe {
            let entry = &mut *self.list.as_ptr().add(at);
            entry.set_addr(self.base + (usize::from(buffer) * BYTES) as u64);
            entry.set_len(BYTES as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Hands the kernel all that were given back. Their bytes must have been
    /// read by then.
    #[inline]
    pub(super) fn commit(&mut self) {
        // SAFETY: the tail lies in the first entry of the list, which is
        // aligned for it; both sides only touch it as an atomic.
        unsafe {
            let tail = BufRingEntry::tail(self.list.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: made in `new` with the same layout.
        unsafe { dealloc(self.list.as_ptr().cast(), layout()) };
    }
}
