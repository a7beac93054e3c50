//! Servers that are fast and keep the contract: right answers to whatever is
//! asked, worked out for every request. One thread each.

// The bench and each test use their own part of this.
#![allow(dead_code)]

mod answers;
mod epoll;
mod http1;
mod talk;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use answers::Answers;
use http1::Http1;

/// What a server speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Speaks {
    Http1,
}

impl Speaks {
    pub const ALL: [(&'static str, Speaks); 1] = [("http1", Speaks::Http1)];

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
    answered: AtomicU64,
}

/// A server on a thread of this process.
pub struct Server {
    pub addr: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Starts one on a free port. Static files are served when `data` is the
    /// folder of the generated data; TLS needs it.
    pub fn start(
        speaks: Speaks,
        data: Option<&Path>,
        pacing: Option<Pacing>,
    ) -> io::Result<Server> {
        let answers = Answers::new(data)?;
        let answered = AtomicU64::new(0);
        let shared = Arc::new(Shared { answers, pacing, answered });
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let given = shared.clone();
        thread::spawn(move || {
            let ended = match speaks {
                Speaks::Http1 => {
                    epoll::serve(&listener, &given, || Ok(Http1::default()))
                }
            };
            eprintln!("the server ended: {ended:?}");
        });
        Ok(Server { addr, shared })
    }

    /// Answers so far, over all connections.
    pub fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::Relaxed)
    }
}
