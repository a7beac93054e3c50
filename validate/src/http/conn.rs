//! One connection. Every call ends by an absolute deadline, so neither a
//! silent server nor one that sends a byte a second can hold the judge.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::peer::Ends;
use super::response::{Parsed, Response, parse};

const READ_BYTES: usize = 64 * 1024;
/// An answer, with all that is around its body, is never longer than this.
const ANSWER_LIMIT: usize = 8 << 20;
/// Large bodies are written in pieces, looking for an early answer between.
const WRITE_BYTES: usize = 256 * 1024;
const WRITE_PATIENCE: Duration = Duration::from_millis(100);

/// Why there is no complete response.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Fault {
    /// No connection was made.
    #[error("no connection: {0}")]
    Connect(String),
    /// The time was up.
    #[error("no complete answer in time; {got} bytes had come")]
    Late {
        /// Bytes that had come.
        got: usize,
    },
    /// The connection ended before or within the answer.
    #[error("the connection {how} after {got} bytes of the answer")]
    Ended {
        /// How it ended.
        how: Ending,
        /// Bytes that had come.
        got: usize,
    },
    /// The bytes are no valid response.
    #[error("not a valid HTTP/1.1 answer: {0}")]
    Broken(String),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// The server sent FIN.
    Closed,
    /// The server sent RST.
    Reset,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Ending::Closed => "was closed",
            Ending::Reset => "was reset",
        })
    }
}

/// A connection to the entry.
#[derive(Debug)]
pub(crate) struct Conn {
    stream: TcpStream,
    bytes: Vec<u8>,
    ending: Option<Ending>,
}

impl Conn {
    /// Connects, without Nagle: every write is to leave at once.
    pub(crate) fn open(
        address: SocketAddr,
        deadline: Instant,
    ) -> Result<Conn, Fault> {
        let stream = TcpStream::connect_timeout(&address, left(deadline))
            .map_err(|e| Fault::Connect(format!("{e} ({address})")))?;
        stream.set_nodelay(true).map_err(|e| Fault::Connect(e.to_string()))?;
        Ok(Conn { stream, bytes: Vec::new(), ending: None })
    }

    /// Sends all of `bytes`, unless the server answers or ends first: both
    /// show when the answer is read, so there is nothing to return.
    pub(crate) fn send(&mut self, bytes: &[u8], deadline: Instant) {
        let mut rest = bytes;
        while !rest.is_empty() && Instant::now() < deadline {
            let patience = left(deadline).min(WRITE_PATIENCE);
            // Only a zero time-out is refused, and `left` is never zero.
            let _ = self.stream.set_write_timeout(Some(patience));
            match self.stream.write(&rest[..rest.len().min(WRITE_BYTES)]) {
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if is_late(&e) && !self.has_answered() => {}
                Err(_) => return,
            }
        }
    }

    fn has_answered(&self) -> bool {
        let _ = self.stream.set_nonblocking(true);
        let found = self.stream.peek(&mut [0]);
        let _ = self.stream.set_nonblocking(false);
        !matches!(found, Err(e) if is_late(&e))
    }

    /// Reads the next response. `head` is whether HEAD was asked.
    pub(crate) fn receive(
        &mut self,
        head: bool,
        deadline: Instant,
    ) -> Result<Response, Fault> {
        loop {
            match parse(&self.bytes, head, self.ending == Some(Ending::Closed))
            {
                Parsed::Done(response, used) => {
                    self.bytes.drain(..used);
                    return Ok(*response);
                }
                Parsed::Broken(why) => return Err(Fault::Broken(why)),
                Parsed::More => {}
            }
            let got = self.bytes.len();
            if got > ANSWER_LIMIT {
                let why = format!("more than {ANSWER_LIMIT} bytes, no end");
                return Err(Fault::Broken(why));
            }
            if let Some(how) = self.ending {
                return Err(Fault::Ended { how, got });
            }
            if !self.fill(deadline) {
                return Err(Fault::Late { got });
            }
        }
    }

    /// Reads once; false when the deadline passed without a byte or an end.
    fn fill(&mut self, deadline: Instant) -> bool {
        if Instant::now() >= deadline {
            return false;
        }
        let _ = self.stream.set_read_timeout(Some(left(deadline)));
        let old = self.bytes.len();
        self.bytes.resize(old + READ_BYTES, 0);
        let found = self.stream.read(&mut self.bytes[old..]);
        self.bytes.truncate(old + found.as_ref().map_or(0, |n| *n));
        match found {
            Ok(0) => self.ending = Some(Ending::Closed),
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if is_late(&e) => return false,
            Err(_) => self.ending = Some(Ending::Reset),
        }
        true
    }

    /// Bytes that came without having been asked for, waiting until `until`
    /// for the first of them.
    pub(crate) fn surplus(&mut self, until: Instant) -> &[u8] {
        while self.bytes.is_empty() && self.ending.is_none() {
            if !self.fill(until) {
                break;
            }
        }
        &self.bytes
    }

    /// Waits for the server to end the connection.
    pub(crate) fn wait_end(&mut self, deadline: Instant) -> Option<Ending> {
        while self.ending.is_none() && self.bytes.len() < READ_BYTES {
            if !self.fill(deadline) {
                break;
            }
        }
        self.ending
    }

    /// Both ends: the server's, then ours.
    pub(crate) fn ends(&self) -> Option<Ends> {
        let server = self.stream.peer_addr().ok()?;
        Some((server, self.stream.local_addr().ok()?))
    }

    /// Says that no more will be sent.
    pub(crate) fn finish(&mut self) {
        // A connection that is gone already shows when it is read.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Ends the connection with RST, as the load does.
    pub(crate) fn reset(self) {
        // Without the option the drop sends FIN, and the probe asks less.
        let _ = rustix::net::sockopt::set_socket_linger(
            &self.stream,
            Some(Duration::ZERO),
        );
    }
}

fn is_late(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// What is left of the time, never zero: a zero time-out is refused.
fn left(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}
