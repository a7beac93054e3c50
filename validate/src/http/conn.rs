//! One connection that HTTP/1.1 is spoken on.

use std::net::SocketAddr;
use std::time::Instant;

use profiles::oracle::clip;

use super::peer::Ends;
use super::request::Request;
use super::response::{Parsed, Response, parse};
use crate::link::Exchange;
use crate::stream::{Heard, Stream};
use crate::tape::{Said, Track};

const READ_BYTES: usize = 64 * 1024;
/// An answer, with all that is around its body, is never longer than this.
const ANSWER_LIMIT: usize = 8 << 20;

/// Why there is no complete response.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Fault {
    /// Nothing listens there.
    #[error("no connection: refused by {0}")]
    Refused(SocketAddr),
    /// No connection was made.
    #[error("no connection: {0}")]
    Connect(String),
    /// A connection, but no TLS or QUIC session on it.
    #[error("no handshake: {0}")]
    Handshake(String),
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
    #[error("not a valid answer: {0}")]
    Broken(String),
    /// The server reset the one stream.
    #[error("the stream was reset with error code {0:#x}")]
    Reset(u64),
    /// The server ended the whole connection and said why.
    #[error("the connection was ended with error code {0:#x}")]
    Goaway(u64),
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
    stream: Stream,
    bytes: Vec<u8>,
    ending: Option<Ending>,
    track: Track,
}

impl Conn {
    /// Connects, over TLS with ALPN `http/1.1` if asked to.
    pub(crate) fn open(
        address: SocketAddr,
        tls: bool,
        track: Track,
        deadline: Instant,
    ) -> Result<Conn, Fault> {
        let alpn: &[&[u8]] = &[b"http/1.1"];
        let alpn = tls.then_some(alpn);
        let stream = Stream::open(address, alpn, deadline)?;
        Ok(Conn::over(stream, track))
    }

    /// Speaks on a stream that is open already.
    pub(crate) fn over(stream: Stream, track: Track) -> Conn {
        Conn { stream, bytes: Vec::new(), ending: None, track }
    }

    /// Sends all of `bytes`, unless the server answers or ends first: both
    /// show when the answer is read, so there is nothing to return.
    pub(crate) fn send(&mut self, bytes: &[u8], deadline: Instant) {
        self.track.bytes(Said::Judge, bytes);
        self.stream.send(bytes, deadline);
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
        let old = self.bytes.len();
        self.bytes.resize(old + READ_BYTES, 0);
        let heard = self.stream.read(&mut self.bytes[old..], deadline);
        let n = if let Heard::Bytes(n) = heard { n } else { 0 };
        self.bytes.truncate(old + n);
        match heard {
            Heard::Bytes(_) => {
                self.track.bytes(Said::Entry, &self.bytes[old..]);
            }
            Heard::Over(how) => {
                let event = format!("the connection {how} by the entry");
                self.track.text(Said::Event, &event);
                self.ending = Some(how);
            }
            Heard::Nothing => return false,
        }
        true
    }

    /// Bytes that came without having been asked for, waiting until `until`
    /// for the first of them.
    pub(crate) fn more(&mut self, until: Instant) -> &[u8] {
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
        self.stream.ends()
    }

    /// Says that no more will be sent.
    pub(crate) fn finish(&mut self) {
        self.track.text(Said::Event, "the judge sends no more");
        self.stream.finish();
    }

    /// Ends the connection with RST, as the load does.
    pub(crate) fn reset(self) {
        self.track.text(Said::Event, "the judge resets the connection");
        self.stream.reset();
    }
}

impl Exchange for Conn {
    fn exchange(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Result<Response, Fault> {
        self.send(&request.bytes, by);
        self.receive(request.head, by)
    }

    fn surplus(&mut self, until: Instant) -> Option<String> {
        let more = self.more(until);
        (!more.is_empty()).then(|| {
            format!("{} bytes after the answer: `{}`", more.len(), clip(more))
        })
    }
}
