//! The floor by completions.

use std::os::fd::AsRawFd as _;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::{Conn, Floor};

const INBOX_BYTES: usize = 64 * 1024;
/// Marks a send in the number of its connection.
const SEND: u64 = 1 << 63;

/// A connection and what the kernel may read and write at any moment.
struct Lane {
    conn: Conn,
    inbox: Vec<u8>,
    /// Whether the kernel still reads what is to be sent.
    sending: bool,
    /// Requests to be sent when it has.
    owed: usize,
}

/// Answers until the end.
pub fn fire(floor: Floor) -> anyhow::Result<u64> {
    let Floor { script, conns, answer_bytes, in_flight, end } = floor;
    let entries = (conns.len() as u32 * 2).next_power_of_two();
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .build(entries.clamp(64, 4096))
        .context("io_uring is not to be had here")?;
    let lane = |conn| Lane {
        conn,
        inbox: vec![0; INBOX_BYTES],
        sending: false,
        owed: in_flight,
    };
    // Never freed: the kernel may write to them until the process ends.
    let lanes = Vec::leak(conns.into_iter().map(lane).collect());
    let mut wanted = Vec::new();
    for (index, lane) in (0..).zip(lanes.iter_mut()) {
        wanted.push(lane.receive(index));
        wanted.extend(lane.send(index, &script));
    }
    let mut done = Vec::new();
    let mut answers = 0;
    while Instant::now() < end {
        for entry in wanted.drain(..) {
            // SAFETY: an entry names a buffer of its lane, which is never
            // freed; an inbox is never read, and what is sent is not touched
            // before the kernel has said that it was.
            while unsafe { ring.submission().push(&entry) }.is_err() {
                ring.submit()?;
            }
        }
        ring.submit_and_wait(1)?;
        let told = |c: cqueue::Entry| (c.user_data(), c.result());
        done.extend(ring.completion().map(told));
        for (data, result) in done.drain(..) {
            let index = data & !SEND;
            let lane = &mut lanes[index as usize];
            ensure!(result > 0, "connection {index}: result {result}");
            if data & SEND != 0 {
                let whole = result as usize == lane.conn.out.len();
                ensure!(whole, "a send of {result} bytes");
                lane.sending = false;
            } else {
                let whole = lane.conn.count(result as usize, answer_bytes);
                answers += whole as u64;
                lane.owed += whole;
                wanted.push(lane.receive(index));
            }
            wanted.extend(lane.send(index, &script));
        }
    }
    Ok(answers)
}

impl Lane {
    /// What is owed, if it can go now.
    fn send(
        &mut self,
        index: u64,
        script: &super::Script,
    ) -> Option<squeue::Entry> {
        if self.sending || self.owed == 0 {
            return None;
        }
        self.sending = true;
        self.conn.write(script, std::mem::take(&mut self.owed));
        let out = &self.conn.out;
        let fd = types::Fd(self.conn.stream.as_raw_fd());
        let send = opcode::Send::new(fd, out.as_ptr(), out.len() as u32)
            .flags(libc::MSG_WAITALL);
        Some(send.build().user_data(index | SEND))
    }

    fn receive(&mut self, index: u64) -> squeue::Entry {
        let (inbox, fd) = (&mut self.inbox, &self.conn.stream);
        let (at, len) = (inbox.as_mut_ptr(), inbox.len() as u32);
        let receive = opcode::Recv::new(types::Fd(fd.as_raw_fd()), at, len);
        receive.build().user_data(index)
    }
}
