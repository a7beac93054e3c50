//! The floor by readiness.

use std::time::Instant;

use anyhow::ensure;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read, write};

use super::Floor;

/// Answers until the end.
pub fn fire(mut floor: Floor) -> anyhow::Result<u64> {
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, conn) in floor.conns.iter_mut().enumerate() {
        let data = EventData::new_u64(index as u64);
        epoll::add(&queue, &conn.stream, data, EventFlags::IN)?;
        conn.write(&floor.script, floor.in_flight);
        write(&conn.stream, &conn.out)?;
    }
    let mut events = Vec::with_capacity(512);
    let mut inbox = vec![0u8; 256 * 1024];
    let mut answers = 0;
    while Instant::now() < floor.end {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&queue, room, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in &events {
            let conn = &mut floor.conns[event.data.u64() as usize];
            let n = read(&conn.stream, &mut inbox[..])?;
            ensure!(n > 0, "the server closed");
            let whole = conn.count(n, floor.answer_bytes);
            if whole > 0 {
                answers += whole as u64;
                conn.write(&floor.script, whole);
                let sent = write(&conn.stream, &conn.out)?;
                ensure!(sent == conn.out.len(), "the socket is full");
            }
        }
    }
    Ok(answers)
}
