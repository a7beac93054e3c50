//! The judge's own HTTP/3 client: QUIC and the usual requests by the
//! libraries quinn and h3, and single bytes on single streams by hand.
//!
//! Each connection has a small runtime of its own, so that probes are plain
//! calls with deadlines, as they are everywhere else.

mod ask;
pub(crate) mod raw;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Endpoint, TransportConfig, VarInt};
use tokio::runtime::Runtime;

use crate::http::{Fault, Request, Response};
use crate::link::Exchange;
use crate::tape::{Said, Track};
use crate::tls;

/// A dead port says nothing over UDP: a handshake is not waited for longer.
const HANDSHAKE: Duration = Duration::from_secs(2);
/// What a server may send before it is given more.
const STREAM_WINDOW: u32 = 1 << 20;
const WINDOW: u32 = 16 << 20;
/// Heads are never longer.
pub(crate) const HEAD_LIMIT: u64 = 64 * 1024;
/// A connection brings more only when its head or body never ends: the library
/// keeps what it has not read to the end.
const MOST_BYTES: u64 = 16 << 20;
/// Between two looks at how much came.
const LOOK: Duration = Duration::from_millis(10);
/// H3_EXCESSIVE_LOAD.
const EXCESSIVE: u32 = 0x107;
/// H3_NO_ERROR.
const NO_ERROR: u32 = 0x100;

type Sender = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// How the judge's side behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) stream_window: u32,
    pub(crate) window: u32,
    /// What is offered in ALPN.
    pub(crate) alpn: &'static [u8],
}

impl Default for Settings {
    fn default() -> Settings {
        let (stream_window, window) = (STREAM_WINDOW, WINDOW);
        Settings { stream_window, window, alpn: b"h3" }
    }
}

/// A connection to the entry.
pub(crate) struct Conn {
    runtime: Runtime,
    endpoint: Endpoint,
    connection: quinn::Connection,
    sender: Sender,
    track: Track,
}

impl Conn {
    /// Connects and greets.
    pub(crate) fn open(
        address: SocketAddr,
        track: Track,
        by: Instant,
    ) -> Result<Conn, Fault> {
        Conn::with(address, track, Settings::default(), by)
    }

    /// The same with settings of one's own.
    pub(crate) fn with(
        address: SocketAddr,
        track: Track,
        settings: Settings,
        by: Instant,
    ) -> Result<Conn, Fault> {
        let ours = |e: std::io::Error| Fault::Connect(e.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ours)?;
        let connect = connect(address, settings);
        let limit = left(by).min(HANDSHAKE);
        let made = runtime
            .block_on(async { tokio::time::timeout(limit, connect).await });
        let (endpoint, connection, sender) = match made {
            Ok(made) => made?,
            Err(_) => {
                let why = format!("no QUIC answer from {address}");
                return Err(Fault::Connect(why));
            }
        };
        track.text(Said::Event, "a QUIC connection is made");
        Ok(Conn { runtime, endpoint, connection, sender, track })
    }

    /// Sends requests all at once and waits for all their answers.
    pub(crate) fn all(
        &mut self,
        requests: &[&Request],
        by: Instant,
    ) -> Vec<Result<Response, Fault>> {
        for request in requests {
            self.track.text(Said::Judge, &request.shown());
        }
        let asked = requests.iter().map(|request| {
            let sender = self.sender.clone();
            let connection = self.connection.clone();
            let request = (*request).clone();
            self.runtime.spawn(ask::ask(sender, connection, request))
        });
        let asked: Vec<_> = asked.collect();
        let limit = tokio::time::Instant::from_std(by);
        let found: Vec<_> = asked
            .into_iter()
            .map(|task| {
                let found = self.runtime.block_on(async {
                    tokio::time::timeout_at(limit, task).await
                });
                match found {
                    Ok(Ok(found)) => found,
                    Ok(Err(_)) => Err(Fault::Connect("its task died".into())),
                    Err(_) => Err(Fault::Late { got: 0 }),
                }
            })
            .collect();
        for one in &found {
            let text = match one {
                Ok(r) => format!(
                    "{} {:?} {}",
                    r.status,
                    r.headers,
                    crate::http::show(&r.body)
                ),
                Err(fault) => fault.to_string(),
            };
            self.track.text(Said::Entry, &text);
        }
        found
    }

    /// Begins a request and gives it up: the stream is reset, and no answer
    /// is wanted.
    pub(crate) fn abandon(&mut self, request: &Request, by: Instant) {
        self.track.text(Said::Judge, &request.shown());
        self.track.text(Said::Event, "the judge resets that stream");
        let (connection, request) = (&self.connection, request.clone());
        let limit = tokio::time::Instant::from_std(by);
        let _ = self.runtime.block_on(async {
            tokio::time::timeout_at(limit, raw::abandon(connection, &request))
                .await
        });
    }

    /// Works on the bare connection.
    pub(crate) fn run<T>(
        &mut self,
        by: Instant,
        work: impl AsyncFnOnce(&quinn::Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let limit = tokio::time::Instant::from_std(by);
        let connection = self.connection.clone();
        let found = self.runtime.block_on(async {
            tokio::time::timeout_at(limit, work(&connection)).await
        });
        found.unwrap_or(Err(Fault::Late { got: 0 }))
    }

    /// For whoever works on the bare connection.
    pub(crate) fn track(&self) -> &Track {
        &self.track
    }

    /// Leaves at once, with this error code.
    pub(crate) fn close(self, code: u32) {
        self.connection.close(VarInt::from_u32(code), b"");
        let limit = Duration::from_millis(100);
        let idle = self.endpoint.wait_idle();
        let _ = self
            .runtime
            .block_on(async { tokio::time::timeout(limit, idle).await });
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(NO_ERROR), b"");
        // Lets the farewell leave; what is in flight is not waited for.
        self.runtime.block_on(tokio::task::yield_now());
    }
}

async fn connect(
    address: SocketAddr,
    settings: Settings,
) -> Result<(Endpoint, quinn::Connection, Sender), Fault> {
    let ours = |why: String| Fault::Connect(why);
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let mut endpoint =
        Endpoint::client(any).map_err(|e| ours(e.to_string()))?;
    let crypto = QuicClientConfig::try_from(tls::config(&[settings.alpn]))
        .map_err(|e| ours(e.to_string()))?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(settings.stream_window.into());
    transport.receive_window(settings.window.into());
    config.transport_config(Arc::new(transport));
    endpoint.set_default_client_config(config);
    let connecting = endpoint
        .connect(address, tls::SERVER_NAME)
        .map_err(|e| ours(e.to_string()))?;
    let connection = connecting.await.map_err(ask::ended_by)?;
    let (mut driver, sender) = h3::client::builder()
        .max_field_section_size(HEAD_LIMIT)
        .send_grease(false)
        .build(h3_quinn::Connection::new(connection.clone()))
        .await
        .map_err(|e| Fault::Handshake(e.to_string()))?;
    // It reads the server's control stream for as long as there is one.
    tokio::spawn(async move {
        std::future::poll_fn(|cx| driver.poll_close(cx)).await
    });
    let watched = connection.clone();
    tokio::spawn(async move {
        while watched.close_reason().is_none() {
            if watched.stats().udp_rx.bytes > MOST_BYTES {
                watched.close(VarInt::from_u32(EXCESSIVE), b"too much");
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Ok((endpoint, connection, sender))
}

impl Exchange for Conn {
    fn exchange(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Result<Response, Fault> {
        let mut found = self.all(&[request], by);
        found.pop().unwrap_or(Err(Fault::Late { got: 0 }))
    }

    fn surplus(&mut self, _: Instant) -> Option<String> {
        // A stream that has ended brings nothing more: QUIC sees to it.
        None
    }
}

fn left(by: Instant) -> Duration {
    by.saturating_duration_since(Instant::now())
}
