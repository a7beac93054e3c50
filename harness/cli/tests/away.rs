//! Every entry that asks a database bears that it is away, at the start and
//! in between: it serves the rest, says so as the contract has it, and finds
//! back. The real servers before the real PostgreSQL, with a door between.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{contract_ports, root};
use harness::host::{Host, HostError, Local};
use harness::interrupt::Interrupt;
use harness::sidecar::Sidecars;
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use rustix::process::{Pid, Signal, kill_process_group};

/// An answer that takes longer is a hang.
const PATIENCE: Duration = Duration::from_secs(10);
/// What changes does so by then, on any machine.
const AT_LAST: Duration = Duration::from_secs(60);

/// Past the test runner's capture, so that it is never silent.
fn say(text: &str) {
    let _ = fs::write("/dev/stderr", format!("{text}\n"));
}

/// A way to the database that can be shut.
struct Door {
    address: SocketAddr,
    /// The connections through it, while it is open.
    open: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Door {
    fn shut() -> Door {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new(Mutex::new(None));
        let through: Arc<Mutex<Option<Vec<TcpStream>>>> = open.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Shut, it is closed at once, like the port of a dead server.
                let mut open = through.lock().unwrap();
                let Some(known) = &mut *open else { continue };
                let Ok(behind) = TcpStream::connect("127.0.0.1:5432") else {
                    continue;
                };
                for (from, to) in [(&stream, &behind), (&behind, &stream)] {
                    let mut from = from.try_clone().unwrap();
                    let mut to = to.try_clone().unwrap();
                    known.push(from.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Door { address, open }
    }

    fn set(&self, open: bool) {
        let mut now = self.open.lock().unwrap();
        for stream in now.take().into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        *now = open.then(Vec::new);
    }
}

/// Not every server says which one it was given for 0.
fn free_port() -> u16 {
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    any.local_addr().unwrap().port()
}

/// A running entry; dropped, it is gone.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(command: &mut Command, database: SocketAddr, data: &Path) -> Self {
        let port = free_port();
        let database = format!(
            "postgres://bench:bench@127.0.0.1:{}/benchmark",
            database.port()
        );
        command
            .env("ARENA_HTTP_PORT", port.to_string())
            .env("DATABASE_URL", database)
            .env("DATASET_PATH", data.join("dataset.json"))
            .env("STATIC_DIR", data.join("static"))
            .env("TLS_CERT", "/nowhere")
            .env("TLS_KEY", "/nowhere")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        for other in ["HTTPS", "TLS", "H2C", "H2"] {
            let port = free_port().to_string();
            command.env(format!("ARENA_{other}_PORT"), port);
        }
        Server { child: command.spawn().unwrap(), port }
    }

    /// Status and body of a GET.
    fn get(&self, target: &str) -> std::io::Result<(u16, String)> {
        let address = (Ipv4Addr::LOCALHOST, self.port);
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "GET {target} HTTP/1.1\r\nHost: localhost\r\n\
             Connection: close\r\n\r\n"
        )?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let status = text.split(' ').nth(1).and_then(|s| s.parse().ok());
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((status.unwrap_or(0), body.replace(' ', "")))
    }

    /// Asks until the answer is as it must become. Until then it may be as it
    /// was, and nothing else.
    #[track_caller]
    fn becomes(
        &self,
        target: &str,
        right: impl Fn(u16, &str) -> bool,
        before: impl Fn(u16, &str) -> bool,
    ) {
        let began = Instant::now();
        loop {
            let asked = self.get(target);
            let (status, body) =
                asked.unwrap_or_else(|e| panic!("{target}: {e}"));
            if right(status, &body) {
                return;
            }
            assert!(before(status, &body), "{target}: {status} {body}");
            assert!(began.elapsed() < AT_LAST, "{target}: {status} {body}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // With its workers, if it has any.
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

const SEARCH: &str = "/async-db?min=10&max=50&limit=5";
const ITEM: &str = "/crud/items/7";

fn nothing(status: u16, body: &str) -> bool {
    (status == 200 && body.contains("\"count\":0")) || status == 503
}

fn found(status: u16, body: &str) -> bool {
    status == 200 && body.contains("\"count\":5")
}

#[track_caller]
fn serves_the_rest(server: &Server) {
    let (status, body) = server.get("/baseline11?a=13&b=42").unwrap();
    assert_eq!((status, body.contains("55")), (200, true), "{body}");
}

fn bears_it(name: &str, server: &Server, door: &Door, crud: bool) {
    let began = Instant::now();
    while server.get("/pipeline").is_err() {
        assert!(began.elapsed() < AT_LAST, "{name} does not start");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let item = |right: fn(u16) -> bool| {
        if crud {
            let known = |status, _: &str| matches!(status, 200 | 503);
            server.becomes(ITEM, |status, _| right(status), known);
        }
    };
    for _ in 0..2 {
        server.becomes(SEARCH, nothing, found);
        item(|status| status == 503);
        serves_the_rest(server);
        door.set(true);
        server.becomes(SEARCH, found, nothing);
        item(|status| status == 200);
        serves_the_rest(server);
        door.set(false);
    }
    server.becomes(SEARCH, nothing, found);
    serves_the_rest(server);
}

fn command(entry: &Entry, dir: &Path, what: &str) -> Command {
    match &entry.local {
        None => Command::new(what),
        Some(local) => {
            let mut command = Command::new(dir.join(&local.run[0]));
            command.args(&local.run[1..]).current_dir(dir);
            command
        }
    }
}

#[test]
fn entries_bear_that_the_database_is_away() {
    let dirs = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    if !dirs.flatten().any(|v| v.path().join("bin/initdb").is_file()) {
        return say("skipped: no PostgreSQL: apt-get install postgresql");
    }
    let _ports = contract_ports();
    let cache = match std::env::var_os("ARENA_CACHE") {
        Some(cache) => cache.into(),
        None => common::cache(),
    };
    let data = tempfile::tempdir().unwrap();
    profiles::data::write(data.path()).unwrap();
    let host = Local::with_cache(&cache, Interrupt::default());
    let catalog = Catalog::load(&root()).unwrap();
    let logs = tempfile::tempdir().unwrap();
    let mut sidecars = Sidecars::new("away", None, logs.path().into());
    let profile = catalog.profile("async-db").unwrap();
    sidecars.ready(&host, &[profile]).unwrap();
    let asks = |e: &&Entry| e.profiles.iter().any(|p| p.as_str() == "async-db");
    let mut tried = 0;
    for entry in catalog.entries.iter().filter(asks) {
        let dir = catalog.entry_dir(entry);
        let artifact = match host.build(entry, &dir, &mut |_| {}) {
            Ok(artifact) => artifact,
            Err(HostError::Entry { why, .. })
                if why.contains("is missing: apt-get install") =>
            {
                say(&format!("skipped: {}: {why}", entry.name));
                continue;
            }
            Err(other) => panic!("{}: {other}", entry.name),
        };
        let door = Door::shut();
        let mut command = command(entry, &dir, &artifact.what);
        let server = Server::start(&mut command, door.address, data.path());
        let crud = entry.profiles.iter().any(|p| p.as_str() == "crud");
        let began = Instant::now();
        bears_it(entry.name.as_str(), &server, &door, crud);
        say(&format!("{}: found back in {:.1?}", entry.name, began.elapsed()));
        tried += 1;
    }
    assert!(tried > 0);
}
