//! One thread's connections, on epoll.

use std::{
    collections::VecDeque,
    io::IoSlice,
    mem,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::{
        Timespec,
        epoll::{self, CreateFlags, EventData, EventFlags},
    },
    io::{self, Errno},
    net::{self, RecvFlags, SendFlags, Shutdown, SocketFlags},
};
use slab::Slab;

use crate::{
    output::{Output, PARTS},
    reply::Writer,
    routes::Site,
    session::Session,
};

/// The listener's number, which no connection has.
const LISTENER: u64 = u64::MAX;

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// Connections accepted before the others are heard again.
const ACCEPTS: usize = 64;

const EVENTS: usize = 512;

/// How long a connection that is at its end may take to be read off, so that
/// the client sees the last answer instead of a reset.
const LINGER: Duration = Duration::from_secs(2);

/// While connections linger, and after a want of descriptors.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

struct Connection {
    socket: OwnedFd,
    session: Session,
    /// What has come of a request that has not come whole.
    rest: Vec<u8>,
    /// What could not be sent at once. While there is any nothing is read.
    unsent: Option<Box<Output>>,
    interest: EventFlags,
    /// The number of this connection's time among those that linger.
    lingers: Option<u64>,
}

pub struct Worker {
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Slab<Connection>,
    writer: Writer,
    input: Vec<u8>,
    output: Output,
    lingering: VecDeque<(Instant, usize, u64)>,
    lingered: u64,
    /// Accepting failed and is tried again after a pause.
    starved: bool,
}

/// Whether a connection is to be kept.
type Kept = Result<(), Gone>;

struct Gone;

impl From<Errno> for Gone {
    fn from(_: Errno) -> Self {
        Self
    }
}

impl Worker {
    pub fn new(site: &'static Site, listener: OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let data = EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            connections: Slab::new(),
            writer: Writer::new(site),
            input: Vec::with_capacity(READ_BYTES),
            output: Output::default(),
            lingering: VecDeque::new(),
            lingered: 0,
            starved: false,
        })
    }

    pub fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            let busy = self.starved || !self.lingering.is_empty();
            let pause = busy.then_some(&PAUSE);
            events.clear();
            let room = spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, pause) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    eprintln!("cannot wait for connections: {error}");
                    return;
                }
            }
            self.writer.tick();
            for event in &events {
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    LISTENER => self.accept(),
                    number => self.serve(number as usize, flags),
                }
            }
            if mem::take(&mut self.starved) {
                self.accept();
            }
            self.end_lingering();
        }
    }

    fn accept(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        for _ in 0..ACCEPTS {
            match net::accept_with(&self.listener, flags) {
                Ok(socket) => self.add(socket),
                Err(Errno::WOULDBLOCK) => return,
                // A client that left while waiting is no concern of others.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                // A lack of descriptors or memory, which may pass. Asked for
                // at each event it would take all the time there is.
                Err(error) => {
                    if !self.starved {
                        eprintln!("cannot accept a connection: {error}");
                    }
                    self.starved = true;
                    return;
                }
            }
        }
    }

    fn add(&mut self, socket: OwnedFd) {
        let entry = self.connections.vacant_entry();
        let data = EventData::new_u64(entry.key() as u64);
        let interest = EventFlags::IN;
        if epoll::add(&self.epoll, &socket, data, interest).is_ok() {
            entry.insert(Connection {
                socket,
                session: Session::default(),
                rest: Vec::new(),
                unsent: None,
                interest,
                lingers: None,
            });
        }
    }

    fn serve(&mut self, number: usize, flags: EventFlags) {
        // Closed by an earlier event of the same batch.
        if !self.connections.contains(number) {
            return;
        }
        if self.advance(number, flags).is_err() {
            // To close the socket is to take it out of the epoll instance.
            self.connections.remove(number);
        }
    }

    fn advance(&mut self, number: usize, flags: EventFlags) -> Kept {
        let connection = &mut self.connections[number];
        if connection.unsent.is_some() {
            let lost = EventFlags::ERR | EventFlags::HUP;
            if flags.intersects(lost) {
                return Err(Gone);
            }
            if !connection.flush()? {
                return Ok(());
            }
            // What had come before was not answered for want of room.
            self.answer(number, 0)
        } else {
            self.input.clear();
            let room = spare_capacity(&mut self.input);
            let socket = &connection.socket;
            match net::recv(socket, room, RecvFlags::empty()) {
                Ok((0, _)) => Err(Gone),
                Ok((count, _)) => self.answer(number, count),
                Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(()),
                Err(_) => Err(Gone),
            }
        }
    }

    /// Answers what is in `input`, behind what is left from before.
    fn answer(&mut self, number: usize, count: usize) -> Kept {
        let connection = &mut self.connections[number];
        if connection.lingers.is_some() {
            return Ok(());
        }
        let fresh = &self.input[..count];
        let output = &mut self.output;
        output.clear();
        if connection.rest.is_empty() {
            let writer = &mut self.writer;
            let used = connection.session.feed(writer, fresh, output);
            connection.rest.extend_from_slice(&fresh[used..]);
        } else {
            connection.rest.extend_from_slice(fresh);
            connection.again(&mut self.writer, output);
        }
        loop {
            // Where it is full, what is left may be whole requests.
            let full = output.is_full();
            if !connection.send(output)? {
                return connection.watch(&self.epoll, number, EventFlags::OUT);
            }
            if !full || connection.rest.is_empty() {
                break;
            }
            output.clear();
            connection.again(&mut self.writer, output);
        }
        if connection.session.is_ended() {
            // Half a close, and then what the client still sends is read, so
            // that no reset overtakes the answer.
            net::shutdown(&connection.socket, Shutdown::Write)?;
            self.lingered += 1;
            connection.lingers = Some(self.lingered);
            let until = Instant::now() + LINGER;
            self.lingering.push_back((until, number, self.lingered));
        }
        connection.watch(&self.epoll, number, EventFlags::IN)?;
        Ok(())
    }

    fn end_lingering(&mut self) {
        while let Some((until, number, time)) = self.lingering.front() {
            if *until > Instant::now() {
                let connection = self.connections.get(*number);
                let lingers = connection.and_then(|one| one.lingers);
                if lingers == Some(*time) {
                    return;
                }
            } else if let Some(connection) = self.connections.get(*number)
                && connection.lingers == Some(*time)
            {
                self.connections.remove(*number);
            }
            self.lingering.pop_front();
        }
    }
}

impl Connection {
    /// Feeds what is left from before.
    fn again(&mut self, writer: &mut Writer, output: &mut Output) {
        let used = self.session.feed(writer, &self.rest, output);
        if used == self.rest.len() {
            // Most connections never need it again.
            self.rest = Vec::new();
        } else {
            self.rest.drain(..used);
        }
    }

    /// Sends what can be sent and keeps the rest; whether that is nothing.
    fn send(&mut self, output: &mut Output) -> Result<bool, Gone> {
        if output.len() == 0 || send(&self.socket, output)? {
            return Ok(true);
        }
        self.unsent = Some(Box::new(mem::take(output)));
        Ok(false)
    }

    /// Sends what was kept; whether nothing is left of it.
    fn flush(&mut self) -> Result<bool, Gone> {
        let Some(unsent) = &mut self.unsent else { return Ok(true) };
        let done = send(&self.socket, unsent)?;
        if done {
            self.unsent = None;
        }
        Ok(done)
    }

    fn watch(
        &mut self,
        epoll: &OwnedFd,
        number: usize,
        interest: EventFlags,
    ) -> Kept {
        if self.interest != interest {
            self.interest = interest;
            let data = EventData::new_u64(number as u64);
            epoll::modify(epoll, &self.socket, data, interest)?;
        }
        Ok(())
    }
}

/// Sends until all is sent or the socket is full; whether all is.
fn send(socket: &OwnedFd, output: &mut Output) -> Result<bool, Gone> {
    loop {
        let sent = match output.single() {
            Some(bytes) => net::send(socket, bytes, SendFlags::NOSIGNAL),
            None => {
                let mut parts = [IoSlice::new(&[]); PARTS];
                let count = output.parts(&mut parts);
                // SIGPIPE is ignored, as in every Rust program.
                io::writev(socket, &parts[..count])
            }
        };
        match sent {
            Ok(sent) if output.sent(sent) => return Ok(true),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(_) => return Err(Gone),
        }
    }
}
