//! A host without processes, for tests of the order of things.
//!
//! Its servers live in this process: one thread that answers every request
//! with the same small page. Everything that happens is written to a shared
//! log of events, and failures are scripted by entry.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use profiles::entry::Entry;

use super::{Artifact, Exit, Host, HostError, Launch, Server, ServiceLaunch};
use crate::watch::Cgroup;

/// How an entry misbehaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flaw {
    /// Its build fails.
    Build,
    /// It does not start.
    Start,
    /// It starts and ends at once.
    EndsAtOnce,
    /// It answers, but not HTTP.
    OtherProtocol,
    /// It is gone when the shot is over.
    DiesInShot,
}

/// What happened, in order.
#[derive(Clone, Debug, Default)]
pub struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    /// Adds one.
    pub fn add(&self, event: impl Into<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(event.into());
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The host.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    /// The log.
    pub events: Events,
    /// Who misbehaves how.
    pub flaws: BTreeMap<String, Flaw>,
    /// Whether the ports of this machine are looked at as for a real host.
    pub real: bool,
}

impl Fake {
    fn flaw(&self, entry: &Entry) -> Option<Flaw> {
        self.flaws.get(entry.name.as_str()).copied()
    }
}

impl Host for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn pretends(&self) -> bool {
        !self.real
    }

    fn check(&self) -> Result<(), HostError> {
        Ok(())
    }

    fn build(
        &self,
        entry: &Entry,
        _dir: &Path,
        _progress: &mut dyn FnMut(&str),
    ) -> Result<Artifact, HostError> {
        self.events.add(format!("build {}", entry.name));
        if self.flaw(entry) == Some(Flaw::Build) {
            return Err(HostError::Entry {
                why: "does not build".into(),
                log_tail: "error: scripted".into(),
            });
        }
        let digest = format!("sha256:{}", entry.name);
        Ok(Artifact { digest, what: "fake".into() })
    }

    fn start(&self, launch: &Launch<'_>) -> Result<Box<dyn Server>, HostError> {
        let name = &launch.entry.name;
        self.events.add(format!("start {name} {}", launch.profile.name));
        let flaw = self.flaw(launch.entry);
        if flaw == Some(Flaw::Start) {
            return Err(HostError::entry("does not start"));
        }
        let server = FakeServer::start(name.to_string(), flaw, &self.events);
        Ok(Box::new(server.map_err(|e| HostError::Ours(e.to_string()))?))
    }

    fn start_service(
        &self,
        launch: &ServiceLaunch<'_>,
    ) -> Result<Box<dyn Server>, HostError> {
        let name = launch.service.name().to_string();
        self.events.add(format!("start service {name}"));
        let server = FakeServer::start(name, None, &self.events);
        Ok(Box::new(server.map_err(|e| HostError::Ours(e.to_string()))?))
    }

    fn clean(&self, _run: Option<&str>) -> Result<usize, HostError> {
        Ok(0)
    }
}

#[derive(Debug)]
struct FakeServer {
    name: String,
    flaw: Option<Flaw>,
    events: Events,
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    fn start(
        name: String,
        flaw: Option<Flaw>,
        events: &Events,
    ) -> std::io::Result<FakeServer> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let ending = Arc::<AtomicBool>::default();
        let end = Arc::clone(&ending);
        let answer: &[u8] = match flaw {
            Some(Flaw::OtherProtocol) => b"220 mail ready\r\n",
            _ => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        };
        let silent = flaw == Some(Flaw::EndsAtOnce);
        let thread = thread::spawn(move || {
            if silent {
                return;
            }
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let _ = stream.and_then(|s| answer_one(s, answer));
            }
        });
        Ok(FakeServer {
            name,
            flaw,
            events: events.clone(),
            address,
            ending,
            thread: Some(thread),
        })
    }
}

fn answer_one(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut seen = Vec::new();
    let mut piece = [0; 512];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            len => seen.extend(&piece[..len]),
        }
    }
    stream.write_all(answer)
}

impl Server for FakeServer {
    fn address(&self, _port: u16) -> SocketAddr {
        self.address
    }

    fn pids(&self) -> Vec<i32> {
        vec![std::process::id() as i32]
    }

    fn cgroup(&self) -> Option<&Cgroup> {
        None
    }

    fn exited(&mut self) -> Option<Exit> {
        // The ready check only looks at a server that does not answer.
        let gone =
            matches!(self.flaw, Some(Flaw::EndsAtOnce | Flaw::DiesInShot));
        gone.then_some(Exit { code: Some(1), ..Exit::default() })
    }

    fn log_tail(&self) -> String {
        "scripted last words\n".into()
    }

    fn stop(&mut self) -> Result<(), HostError> {
        if let Some(thread) = self.thread.take() {
            self.events.add(format!("stop {}", self.name));
            self.ending.store(true, Ordering::Relaxed);
            let _ = TcpStream::connect(self.address);
            let _ = thread.join();
        }
        Ok(())
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
