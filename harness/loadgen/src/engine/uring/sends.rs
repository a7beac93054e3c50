//! What is sent: copied into parcels, and handed to the kernel.

use std::io::IoSlice;
use std::os::fd::{AsRawFd as _, OwnedFd};

use io_uring::{opcode, types};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv};

use super::Uring;
use super::parcels::MOST;
use super::ring::{Event, Kind, Tag};
use crate::clock::{self, Ns};
use crate::engine::driver::Token;
use crate::engine::worker::{State, Worker};
use crate::session::{SLICES, Session};

/// What a send is known by.
pub(super) fn parcel_tag(number: u32) -> Tag {
    Tag::new(Kind::Send, Token { index: number, generation: 0 })
}

/// Copies what is ready to be sent and asks the kernel to send it.
pub(super) fn flush<S: Session>(worker: &mut Worker<S, Uring>) {
    if worker.driver.queued.is_empty() {
        return;
    }
    let now = clock::now();
    if now >= worker.shift.until {
        return;
    }
    let mut queued = std::mem::take(&mut worker.driver.queued);
    let mut kept = 0;
    for at in 0..queued.len() {
        let index = queued[at];
        if !send(worker, index as usize, now) {
            queued[kept] = index;
            kept += 1;
        }
    }
    queued.truncate(kept);
    worker.driver.queued = queued;
}

/// False when the connection must wait for its turn.
#[inline]
fn send<S: Session>(
    worker: &mut Worker<S, Uring>,
    index: usize,
    now: Ns,
) -> bool {
    let slot = &mut worker.slots[index];
    if !slot.link.queued {
        return true;
    }
    slot.link.queued = false;
    let token = slot.token(index);
    let Some(fd) = &slot.fd else { return true };
    let out = slot.session.out();
    let linked = matches!(slot.state, State::Greeting | State::Up);
    let idle = slot.link.parcel.is_none() && slot.broken.is_none();
    if !linked || !idle || out.is_empty() {
        return true;
    }
    // An answer that is there before its request is sent in full must be
    // caught before that, or it would look like a right one.
    if out.text().is_none() && has_news(fd) {
        slot.link.queued = true;
        return false;
    }
    let (number, parcel) = worker.driver.lent.parcels.take(token);
    parcel.at = now;
    match out.text() {
        Some(text) => {
            parcel.bytes.extend_from_slice(&text[..text.len().min(MOST)]);
        }
        None => {
            let block = worker.desk.block.as_ref();
            let block = block.map_or(&[][..], |b| b.as_bytes());
            let mut slices = [IoSlice::new(&[]); SLICES];
            let n = out.slices(block, &mut slices);
            for slice in &slices[..n] {
                let room = MOST - parcel.bytes.len();
                let part = &slice[..slice.len().min(room)];
                parcel.bytes.extend_from_slice(part);
            }
        }
    }
    slot.link.parcel = Some(number);
    let (fd, bytes) = (types::Fd(fd.as_raw_fd()), &parcel.bytes);
    let entry = opcode::Send::new(fd, bytes.as_ptr(), bytes.len() as u32)
        .flags(SendFlags::NOSIGNAL.bits() as i32)
        .build();
    // SAFETY: nobody touches the parcel before its completion, and it stays
    // as long as the ring has requests.
    unsafe { worker.driver.ring.push(entry, parcel_tag(number)) };
    true
}

/// Whether something came that is not received yet.
fn has_news(fd: &OwnedFd) -> bool {
    let mut byte = [0];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    !matches!(recv(fd, &mut byte, flags), Err(Errno::AGAIN))
}

#[inline]
pub(super) fn sent<S: Session>(worker: &mut Worker<S, Uring>, event: &Event) {
    let number = event.tag.index() as u32;
    let parcel = worker.driver.lent.parcels.get(number);
    let (token, at) = (parcel.token, parcel.at);
    worker.driver.lent.parcels.put(number);
    let index = token.index as usize;
    let slot = &mut worker.slots[index];
    if slot.token(index) != token || slot.fd.is_none() {
        return;
    }
    slot.link.parcel = None;
    if slot.state == State::Stale {
        return;
    }
    match event.errno() {
        None => worker.wrote(index, event.result as usize, at),
        Some(Errno::INTR | Errno::AGAIN | Errno::CANCELED) => {}
        Some(errno) => {
            // Answers may have come before the connection broke.
            slot.broken = Some(errno);
            worker.driver.broken.push(token);
        }
    }
    worker.pump(index);
}
