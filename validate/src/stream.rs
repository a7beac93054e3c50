//! A byte stream to the entry, over TCP or over TLS. Every call ends by an
//! absolute deadline, so neither a silent server nor one that sends a byte a
//! second can hold the judge.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::http::{Ending, Ends, Fault};
use crate::tls;

/// Large bodies are written in pieces, looking for an early answer between.
const WRITE_BYTES: usize = 256 * 1024;
const WRITE_PATIENCE: Duration = Duration::from_millis(100);

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream {
    tcp: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

/// What one read came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Heard {
    /// So many bytes, at least one.
    Bytes(usize),
    /// The stream ended.
    Over(Ending),
    /// Nothing, by the deadline.
    Nothing,
}

impl Stream {
    /// Connects, without Nagle: every write is to leave at once. With `alpn`
    /// it is TLS, offering these protocols; the handshake is made at once.
    pub(crate) fn open(
        address: SocketAddr,
        alpn: Option<&[&[u8]]>,
        by: Instant,
    ) -> Result<Stream, Fault> {
        let config = alpn.map(tls::config);
        Stream::with(address, config, by)
    }

    /// The same with any TLS configuration.
    pub(crate) fn with(
        address: SocketAddr,
        config: Option<std::sync::Arc<ClientConfig>>,
        by: Instant,
    ) -> Result<Stream, Fault> {
        let refused = |e: std::io::Error| match e.kind() {
            ErrorKind::ConnectionRefused => Fault::Refused(address),
            _ => Fault::Connect(format!("{e} ({address})")),
        };
        let tcp =
            TcpStream::connect_timeout(&address, left(by)).map_err(refused)?;
        tcp.set_nodelay(true).map_err(refused)?;
        let mut stream = Stream { tcp, tls: None };
        if let Some(config) = config {
            let name = ServerName::try_from(tls::SERVER_NAME)
                .map_err(|e| Fault::Connect(e.to_string()))?;
            let session = ClientConnection::new(config, name)
                .map_err(|e| Fault::Handshake(e.to_string()))?;
            stream.tls = Some(Box::new(session));
            stream.handshake(by)?;
        }
        Ok(stream)
    }

    fn handshake(&mut self, by: Instant) -> Result<(), Fault> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.is_handshaking() {
            if Instant::now() >= by {
                return Err(Fault::Handshake("not done in time".into()));
            }
            let patience = Some(left(by));
            // Only a zero time-out is refused, and `left` is never zero.
            let _ = self.tcp.set_read_timeout(patience);
            let _ = self.tcp.set_write_timeout(patience);
            match tls.complete_io(&mut self.tcp) {
                Ok(_) => {}
                Err(e) if is_late(&e) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Fault::Handshake(e.to_string())),
            }
        }
        Ok(())
    }

    /// The TLS session, if it is one.
    pub(crate) fn tls(&self) -> Option<&ClientConnection> {
        self.tls.as_deref()
    }

    /// Sends all of `bytes`, unless the server answers or ends first: both
    /// show when the answer is read, so there is nothing to return.
    pub(crate) fn send(&mut self, bytes: &[u8], by: Instant) {
        let mut rest = bytes;
        while !rest.is_empty() && Instant::now() < by {
            let patience = Some(left(by).min(WRITE_PATIENCE));
            let _ = self.tcp.set_write_timeout(patience);
            let _ = self.tcp.set_read_timeout(patience);
            let piece = &rest[..rest.len().min(WRITE_BYTES)];
            let wrote = match &mut self.tls {
                None => self.tcp.write(piece),
                Some(tls) => {
                    rustls::Stream::new(&mut **tls, &mut self.tcp).write(piece)
                }
            };
            match wrote {
                // A full TLS buffer is a full socket.
                Ok(0) if self.has_answered() => return,
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if is_late(&e) && !self.has_answered() => {}
                Err(_) => return,
            }
        }
        self.flush(by);
    }

    /// What `bytes` are on the wire with each `size` of them in a record of
    /// its own. They count as sent: pass them on with `send_raw`.
    pub(crate) fn sealed(&mut self, bytes: &[u8], size: usize) -> Vec<u8> {
        let Some(tls) = &mut self.tls else { return bytes.to_vec() };
        let mut out = Vec::new();
        for piece in bytes.chunks(size.max(1)) {
            // Both go to memory, which does not fail.
            let _ = tls.writer().write_all(piece);
            while tls.wants_write() && tls.write_tls(&mut out).is_ok() {}
        }
        out
    }

    /// Sends bytes past TLS.
    pub(crate) fn send_raw(&mut self, bytes: &[u8], by: Instant) {
        let tls = self.tls.take();
        self.send(bytes, by);
        self.tls = tls;
    }

    /// What TLS still holds back of what was sent.
    fn flush(&mut self, by: Instant) {
        let Some(tls) = &mut self.tls else { return };
        while tls.wants_write() && Instant::now() < by {
            let patience = Some(left(by).min(WRITE_PATIENCE));
            let _ = self.tcp.set_write_timeout(patience);
            match tls.write_tls(&mut self.tcp) {
                Ok(_) => {}
                Err(e) if is_late(&e) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn has_answered(&self) -> bool {
        let _ = self.tcp.set_nonblocking(true);
        let found = self.tcp.peek(&mut [0]);
        let _ = self.tcp.set_nonblocking(false);
        !matches!(found, Err(e) if is_late(&e))
    }

    /// Reads once into `room`.
    pub(crate) fn read(&mut self, room: &mut [u8], by: Instant) -> Heard {
        loop {
            if Instant::now() >= by {
                return Heard::Nothing;
            }
            let _ = self.tcp.set_read_timeout(Some(left(by)));
            let found = match &mut self.tls {
                None => self.tcp.read(room),
                Some(tls) => {
                    rustls::Stream::new(&mut **tls, &mut self.tcp).read(room)
                }
            };
            return match found {
                Ok(0) => Heard::Over(Ending::Closed),
                Ok(n) => Heard::Bytes(n),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if is_late(&e) => Heard::Nothing,
                // TLS without a farewell: many servers do it.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                    Heard::Over(Ending::Closed)
                }
                Err(_) => Heard::Over(Ending::Reset),
            };
        }
    }

    /// Both ends: the server's, then ours.
    pub(crate) fn ends(&self) -> Option<Ends> {
        let server = self.tcp.peer_addr().ok()?;
        Some((server, self.tcp.local_addr().ok()?))
    }

    /// Says that no more will be sent.
    pub(crate) fn finish(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // A connection that is gone already shows when it is read.
            let _ = tls.write_tls(&mut self.tcp);
        }
        let _ = self.tcp.shutdown(Shutdown::Write);
    }

    /// Ends the connection with RST, as the load does.
    pub(crate) fn reset(self) {
        // Without the option the drop sends FIN, and the probe asks less.
        let _ = rustix::net::sockopt::set_socket_linger(
            &self.tcp,
            Some(Duration::ZERO),
        );
    }
}

fn is_late(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// What is left of the time, never zero: a zero time-out is refused.
fn left(by: Instant) -> Duration {
    let left = by.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}
