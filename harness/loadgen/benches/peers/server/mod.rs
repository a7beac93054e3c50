//! Servers that are fast and keep the contract: right answers to whatever is
//! asked, worked out for every request. One thread each.

// The bench and each test use their own part of this.
#![allow(dead_code)]

mod answers;
mod epoll;
mod grpc;
mod http1;
mod http2;
mod http3;
mod talk;
mod tls;
mod websocket;

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use answers::Answers;
use http1::Http1;
use tls::Tls;
use websocket::WebSocket;

/// What a server speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Speaks {
    Http1,
    Http1Tls,
    /// HTTP/2 with prior knowledge, and gRPC.
    Http2,
    Http2Tls,
    Http3,
    WebSocket,
}

impl Speaks {
    pub const ALL: [(&'static str, Speaks); 6] = [
        ("http1", Speaks::Http1),
        ("http1-tls", Speaks::Http1Tls),
        ("http2", Speaks::Http2),
        ("http2-tls", Speaks::Http2Tls),
        ("http3", Speaks::Http3),
        ("websocket", Speaks::WebSocket),
    ];

    /// By its name on the command line.
    pub fn named(name: &str) -> Option<Speaks> {
        let found = Speaks::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, speaks)| *speaks)
    }

    pub fn name(self) -> &'static str {
        let found = Speaks::ALL.iter().find(|(_, known)| *known == self);
        found.map_or("", |(name, _)| name)
    }
}

/// A known truth: each answer is held back for `delay`, and answers of all
/// connections together are at least `gap` apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacing {
    pub delay: Duration,
    pub gap: Duration,
}

/// What all connections of a server share.
pub struct Shared {
    answers: Answers,
    pacing: Option<Pacing>,
    /// When the last answer that was promised is due.
    last_due: Mutex<Option<Instant>>,
    answered: AtomicU64,
}

impl Shared {
    fn count(&self, answers: u32) {
        self.answered.fetch_add(answers.into(), Ordering::Relaxed);
    }

    /// When what was asked now may be answered; `None` is at once.
    fn due(&self, answers: u32) -> Option<Instant> {
        let pacing = self.pacing?;
        let mut due = Instant::now() + pacing.delay;
        let mut last = self.last_due.lock().ok()?;
        if let Some(last) = *last {
            due = due.max(last + pacing.gap * answers);
        }
        *last = Some(due);
        Some(due)
    }
}

/// A server on a thread of this process.
pub struct Server {
    pub addr: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Starts one on a free port. `data` is the folder of the generated
    /// data; static files and TLS need it.
    pub fn start(
        speaks: Speaks,
        data: Option<&Path>,
        pacing: Option<Pacing>,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            answers: Answers::new(data)?,
            pacing,
            last_due: Mutex::new(None),
            answered: AtomicU64::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut addr = listener.local_addr()?;
        let given = shared.clone();
        let tls = |alpn: &[u8]| {
            let none = || io::Error::other("TLS needs the folder of the data");
            tls::config(data.ok_or_else(none)?, alpn)
        };
        let end = |ended: io::Result<()>| {
            // Nothing else tells why a client finds nobody.
            eprintln!("the server ended: {ended:?}");
        };
        match speaks {
            Speaks::Http1 => {
                let talk = || Ok(Http1::default());
                thread::spawn(move || {
                    end(epoll::serve(&listener, &given, talk));
                });
            }
            Speaks::Http1Tls => {
                let tls = Arc::new(tls(b"http/1.1")?);
                let talk = move || Tls::new(&tls, Http1::default());
                thread::spawn(move || {
                    end(epoll::serve(&listener, &given, talk));
                });
            }
            Speaks::WebSocket => {
                let talk = || Ok(WebSocket::default());
                thread::spawn(move || {
                    end(epoll::serve(&listener, &given, talk));
                });
            }
            Speaks::Http2 => {
                let serve = http2::serve(listener, None, given);
                thread::spawn(move || end(block_on(serve)));
            }
            Speaks::Http2Tls => {
                let tls = Some(Arc::new(tls(b"h2")?).into());
                let serve = http2::serve(listener, tls, given);
                thread::spawn(move || end(block_on(serve)));
            }
            Speaks::Http3 => {
                let config = http3::config(tls(b"h3")?)?;
                let socket = UdpSocket::bind("127.0.0.1:0")?;
                addr = socket.local_addr()?;
                let serve = http3::serve(socket, config, given);
                thread::spawn(move || end(block_on(serve)));
            }
        }
        Ok(Server { addr, shared })
    }

    /// Answers so far, over all connections.
    pub fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::Relaxed)
    }
}

fn block_on(serve: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let mut one = tokio::runtime::Builder::new_current_thread();
    one.enable_all().build()?.block_on(serve)
}
