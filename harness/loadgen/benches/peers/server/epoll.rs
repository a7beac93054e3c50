//! One thread, one readiness queue, any protocol over TCP.

use std::collections::VecDeque;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read, write};

use super::Shared;
use super::talk::{Heard, Talk};

/// The number of the listener in the queue; connections count up from 0.
const LISTENER: u64 = u64::MAX;
const INBOX_BYTES: usize = 64 * 1024;

struct Conn<T> {
    stream: TcpStream,
    talk: T,
    /// What the socket has not taken yet.
    out: Vec<u8>,
    sent: usize,
    /// Whether the queue tells when it takes more.
    waits: bool,
    closing: bool,
}

/// An answer that waits for its moment.
struct Held {
    due: Instant,
    conn: u64,
    bytes: Vec<u8>,
    answers: u32,
}

struct Loop<'a, T> {
    queue: rustix::fd::OwnedFd,
    conns: Vec<Option<Conn<T>>>,
    held: VecDeque<Held>,
    shared: &'a Shared,
}

/// Serves `listener` for ever.
pub fn serve<T: Talk>(
    listener: &TcpListener,
    shared: &Shared,
    mut talk: impl FnMut() -> io::Result<T>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&queue, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let (conns, held) = (Vec::new(), VecDeque::new());
    let mut all = Loop { queue, conns, held, shared };
    let mut events = Vec::with_capacity(512);
    let mut inbox = vec![0; INBOX_BYTES];
    loop {
        let wait = all.release();
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&all.queue, room, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => all.accept(listener, &mut talk)?,
                conn => all.ready(conn, event.flags, &mut inbox),
            }
        }
    }
}

impl<T: Talk> Loop<'_, T> {
    fn accept(
        &mut self,
        listener: &TcpListener,
        talk: &mut impl FnMut() -> io::Result<T>,
    ) -> io::Result<()> {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let id = EventData::new_u64(self.conns.len() as u64);
            epoll::add(&self.queue, &stream, id, EventFlags::IN)?;
            self.conns.push(Some(Conn {
                stream,
                talk: talk()?,
                out: Vec::new(),
                sent: 0,
                waits: false,
                closing: false,
            }));
        }
        Ok(())
    }

    fn ready(&mut self, id: u64, flags: EventFlags, inbox: &mut [u8]) {
        let slot = &mut self.conns[id as usize];
        let Some(conn) = slot else { return };
        let mut alive = true;
        if flags.contains(EventFlags::OUT) {
            alive = conn.flush(&self.queue, id);
        }
        if alive && flags.intersects(EventFlags::IN | EventFlags::HUP) {
            alive = match read(&conn.stream, &mut *inbox) {
                Ok(n) if n > 0 => self.heard(id, &inbox[..n]),
                Err(Errno::AGAIN | Errno::INTR) => true,
                _ => false,
            };
        }
        if !alive {
            self.conns[id as usize] = None;
        }
    }

    fn heard(&mut self, id: u64, bytes: &[u8]) -> bool {
        let Some(conn) = &mut self.conns[id as usize] else { return false };
        let answers = &self.shared.answers;
        if self.shared.pacing.is_none() {
            let heard = conn.talk.hear(bytes, answers, &mut conn.out);
            match heard {
                Heard::Answered(n) => self.shared.count(n),
                Heard::HangUp => conn.closing = true,
            }
            return conn.flush(&self.queue, id);
        }
        let mut bytes_out = Vec::new();
        match conn.talk.hear(bytes, answers, &mut bytes_out) {
            // Handshakes are not held back.
            Heard::Answered(0) => {
                conn.out.extend_from_slice(&bytes_out);
                conn.flush(&self.queue, id)
            }
            Heard::Answered(answers) => {
                let due = self.shared.due(answers);
                let due = due.unwrap_or_else(Instant::now);
                let bytes = bytes_out;
                self.held.push_back(Held { due, conn: id, bytes, answers });
                true
            }
            Heard::HangUp => false,
        }
    }

    /// Sends what is due; how long until the next is.
    fn release(&mut self) -> Option<Timespec> {
        while let Some(first) = self.held.front() {
            let left = first.due.saturating_duration_since(Instant::now());
            if left > Duration::ZERO {
                return Some(Timespec {
                    tv_sec: left.as_secs() as i64,
                    tv_nsec: left.subsec_nanos().into(),
                });
            }
            let Some(held) = self.held.pop_front() else { break };
            if let Some(conn) = &mut self.conns[held.conn as usize] {
                conn.out.extend_from_slice(&held.bytes);
                self.shared.count(held.answers);
                if !conn.flush(&self.queue, held.conn) {
                    self.conns[held.conn as usize] = None;
                }
            }
        }
        None
    }
}

impl<T> Conn<T> {
    /// Sends what the socket takes; whether the connection lives on.
    fn flush(&mut self, queue: &rustix::fd::OwnedFd, id: u64) -> bool {
        while self.sent < self.out.len() {
            match write(&self.stream, &self.out[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        let left = self.sent < self.out.len();
        if !left {
            self.out.clear();
            self.sent = 0;
        }
        if left != self.waits {
            self.waits = left;
            let flags = if left { EventFlags::OUT } else { EventFlags::IN };
            let id = EventData::new_u64(id);
            if epoll::modify(queue, &self.stream, id, flags).is_err() {
                return false;
            }
        }
        left || !self.closing
    }
}
