//! A server under a test's control, and the real gun fired at it.

// Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod ws;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use profiles::data::Dataset;
use profiles::sample::{Failure, Sample, Shot};
use profiles::spec::Spec;

/// No shot of these tests takes longer, unless the gun hangs.
pub const HANG: Duration = Duration::from_secs(60);
pub const MS: u64 = 1_000_000;

pub const BASELINE: &str =
    include_str!("../../../../profiles/defs/baseline.toml");
pub const PIPELINED: &str =
    include_str!("../../../../profiles/defs/pipelined.toml");
pub const LIMITED: &str =
    include_str!("../../../../profiles/defs/limited-conn.toml");
pub const UPLOAD: &str = include_str!("../../../../profiles/defs/upload.toml");
pub const H2C: &str =
    include_str!("../../../../profiles/defs/baseline-h2c.toml");
pub const UNARY: &str =
    include_str!("../../../../profiles/defs/unary-grpc.toml");
pub const STREAM: &str =
    include_str!("../../../../profiles/defs/stream-grpc.toml");
pub const JSON: &str = include_str!("../../../../profiles/defs/json.toml");

/// One accepted connection, or what is spoken on it.
pub struct Conn<S = TcpStream> {
    pub stream: S,
    /// The number of the connection, in order of acceptance.
    pub number: u64,
    buffer: Vec<u8>,
    requests: Arc<AtomicU64>,
}

/// One request, read in full.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
    /// The number of the request over all connections.
    pub number: u64,
}

impl Request {
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or("")
    }

    /// The right body by the contract, worked out a second way.
    pub fn right(&self) -> String {
        let (path, query) =
            self.target().split_once('?').unwrap_or((self.target(), ""));
        match path {
            "/pipeline" => return "ok".into(),
            "/upload" => return self.body.len().to_string(),
            _ => {}
        }
        let value = |pair: &str| {
            pair.split_once('=').and_then(|(_, v)| v.parse::<i64>().ok())
        };
        let body = std::str::from_utf8(&self.body).ok();
        let third = body.and_then(|b| b.parse::<i64>().ok()).unwrap_or(0);
        (query.split('&').filter_map(value).sum::<i64>() + third).to_string()
    }
}

impl<S: Read + Write> Conn<S> {
    /// The same connection with another stream on top.
    pub fn wrapped<T>(&self, stream: T) -> Conn<T> {
        let (buffer, requests) = (Vec::new(), self.requests.clone());
        Conn { stream, number: self.number, buffer, requests }
    }

    fn more(&mut self) -> bool {
        let mut piece = [0; 65_536];
        match self.stream.read(&mut piece) {
            Ok(n) if n > 0 => {
                self.buffer.extend_from_slice(&piece[..n]);
                true
            }
            _ => false,
        }
    }

    fn line_end(&mut self, from: usize, mark: &[u8]) -> Option<usize> {
        loop {
            let rest = &self.buffer[from..];
            let found = rest.windows(mark.len()).position(|w| w == mark);
            if let Some(at) = found {
                return Some(from + at + mark.len());
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn upto(&mut self, end: usize) -> Option<()> {
        while self.buffer.len() < end {
            if !self.more() {
                return None;
            }
        }
        Some(())
    }

    /// Only the head of the next request.
    pub fn head(&mut self) -> Option<String> {
        let end = self.line_end(0, b"\r\n\r\n")?;
        let head = self.buffer.drain(..end).collect();
        String::from_utf8(head).ok()
    }

    /// The next request; `None` when the client is gone.
    pub fn request(&mut self) -> Option<Request> {
        let head = self.head()?;
        let lower = head.to_ascii_lowercase();
        let mut body = Vec::new();
        if lower.contains("transfer-encoding: chunked") {
            loop {
                let end = self.line_end(0, b"\r\n")?;
                let line = String::from_utf8(self.buffer[..end].into()).ok()?;
                let size = usize::from_str_radix(line.trim(), 16).ok()?;
                self.upto(end + size + 2)?;
                body.extend_from_slice(&self.buffer[end..end + size]);
                self.buffer.drain(..end + size + 2);
                if size == 0 {
                    break;
                }
            }
        } else if let Some((_, rest)) = lower.split_once("content-length: ") {
            let size: usize = rest.split("\r\n").next()?.parse().ok()?;
            self.upto(size)?;
            body = self.buffer.drain(..size).collect();
        }
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Some(Request { head, body, number })
    }

    /// Sends; whether the client still listens.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Answers `request` rightly.
    pub fn answer(&mut self, request: &Request) -> bool {
        self.send(ok(&request.right()))
    }

    /// Stays until the client closes.
    pub fn linger(&mut self) {
        while self.more() {
            self.buffer.clear();
        }
    }
}

/// A plain 200 with a length.
pub fn ok(body: &str) -> String {
    let n = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\
         Content-Length: {n}\r\n\r\n{body}"
    )
}

/// A server whose every connection is served by the same script.
pub struct Peer {
    pub addr: SocketAddr,
    accepted: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
}

impl Peer {
    pub fn new(script: impl Fn(&mut Conn) + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Peer::serve(listener, script)
    }

    /// A server whose kernel takes little that it has not read.
    pub fn narrow(script: impl Fn(&mut Conn) + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bytes = 64 * 1024;
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, bytes)
            .unwrap();
        Peer::serve(listener, script)
    }

    /// A right server on another address.
    pub fn on(addr: &str) -> std::io::Result<Peer> {
        Ok(Peer::serve(TcpListener::bind(addr)?, |conn| {
            while let Some(request) = conn.request() {
                conn.answer(&request);
            }
        }))
    }

    fn serve(
        listener: TcpListener,
        script: impl Fn(&mut Conn) + Send + Sync + 'static,
    ) -> Peer {
        let addr = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicU64::new(0));
        let requests = Arc::new(AtomicU64::new(0));
        let script = Arc::new(script);
        let (count, asked) = (accepted.clone(), requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let requests = asked.clone();
                let script = script.clone();
                thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let buffer = Vec::new();
                    script(&mut Conn { stream, number, buffer, requests });
                });
            }
        });
        Peer { addr, accepted, requests }
    }

    /// One answer a request, as `reply` writes it, until the client goes.
    pub fn replying(
        reply: impl Fn(&Request) -> String + Send + Sync + 'static,
    ) -> Peer {
        Peer::new(move |conn| {
            while let Some(request) = conn.request() {
                if !conn.send(reply(&request)) {
                    return;
                }
            }
        })
    }

    pub fn right() -> Peer {
        Peer::replying(|request| ok(&request.right()))
    }

    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// A spec with short phases: 50 ms warm-up, 50 ms gap, 300 ms window.
pub fn spec(definition: &str, target: SocketAddr, connections: u32) -> Spec {
    Spec {
        schema: 1,
        profile: "test".parse().unwrap(),
        definition: definition.into(),
        target,
        connections,
        threads: 2,
        cpus: None,
        seed: 7,
        connect_timeout_ns: 5_000 * MS,
        warmup_ns: 50 * MS,
        gap_ns: 50 * MS,
        window_ns: 300 * MS,
        timeout_ns: 5_000 * MS,
        data_dir: Default::default(),
        rate_per_s: None,
        engine: Default::default(),
        tokens: Vec::new(),
    }
}

/// A spec without a warm-up, so that the server's own counts are the window's.
pub fn bare(definition: &str, target: SocketAddr, connections: u32) -> Spec {
    let spec = spec(definition, target, connections);
    Spec { warmup_ns: 0, gap_ns: 0, ..spec }
}

/// A gun that was started and handed its spec.
pub struct Gun {
    child: Child,
    _data: tempfile::TempDir,
}

impl Gun {
    pub fn start(spec: &Spec) -> Gun {
        let (data, input) = on_disk(spec);
        let json = std::fs::read_to_string(input).unwrap();
        Gun { child: start(&json), _data: data }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn until_open(&mut self) {
        until_open(self.child.stderr.as_mut().unwrap());
    }

    pub fn shot(self) -> Shot {
        let Gun { child, _data } = self;
        let output = output(child);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.matches('\n').count(), 1, "one line: {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// A folder with the dataset, and in it the spec that names it, unless it
/// names a folder already.
pub fn on_disk(spec: &Spec) -> (tempfile::TempDir, PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let mut spec = spec.clone();
    if spec.data_dir.as_os_str().is_empty() {
        let dataset = Dataset::generate().to_bytes();
        std::fs::write(data.path().join("dataset.json"), dataset).unwrap();
        spec.data_dir = data.path().into();
    }
    let input = data.path().join("spec.json");
    std::fs::write(&input, serde_json::to_string(&spec).unwrap()).unwrap();
    (data, input)
}

/// Reads a gun's stderr until the window opens.
pub fn until_open(stderr: &mut impl Read) {
    let mut seen = Vec::new();
    while !seen.ends_with(profiles::spec::WINDOW_OPEN.as_bytes()) {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "no window");
        seen.push(byte[0]);
    }
}

/// The process itself, fed `stdin`.
pub fn start(stdin: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_loadgen"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    child
}

/// What it printed, or a panic when it hangs.
pub fn output(child: Child) -> Output {
    let pid = rustix::process::Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait_with_output()));
    match told.recv_timeout(HANG) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            let kill = rustix::process::Signal::KILL;
            let _ = rustix::process::kill_process(pid, kill);
            panic!("the gun hangs");
        }
    }
}

/// Fires and expects a window; its books close.
#[track_caller]
pub fn measured(spec: &Spec) -> Sample {
    match Gun::start(spec).shot() {
        Shot::Measured(sample) => {
            sample.check_books().unwrap();
            // It closes on time, but a busy machine may open it late.
            assert!(sample.window_ns >= spec.window_ns / 2);
            *sample
        }
        Shot::Failed(failure) => panic!("no window: {failure:?}"),
    }
}

/// Fires and expects none.
#[track_caller]
pub fn failed(spec: &Spec) -> Failure {
    match Gun::start(spec).shot() {
        Shot::Failed(failure) => failure,
        Shot::Measured(sample) => panic!("a window: {sample:?}"),
    }
}
