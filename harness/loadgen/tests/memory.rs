//! The real engine against a real server: what a connection and a request
//! cost in memory, under both queues.

mod peer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use loadgen::engine;
use loadgen::plan::Plan;
use profiles::sample::{Sample, Shot};
use profiles::spec::{Engine, Spec};
use rustix::event::epoll;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes live now and at most, and calls for more.
static LIVE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);
/// One shot at a time.
static TURN: Mutex<()> = Mutex::new(());

struct Counting;

// SAFETY: every call is handed to the system allocator as it came; the
// counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let size = layout.size() as i64;
        let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SERVE: &str = "LOADGEN_TEST_SERVES";

/// Not a test of its own: the server of the others, in a process of its own
/// so that neither its memory nor its files count.
#[test]
fn the_server_of_the_tests_below() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("\nport {}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    listener.set_nonblocking(true).unwrap();
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    let data = epoll::EventData::new_u64(u64::MAX);
    epoll::add(&queue, &listener, data, epoll::EventFlags::IN).unwrap();
    let mut clients: Vec<Option<OwnedFd>> = Vec::new();
    let mut events = Vec::with_capacity(512);
    let mut inbox = [0; 4096];
    loop {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        let _ = epoll::wait(&queue, room, None);
        for event in &events {
            let data: epoll::Event = *event;
            let number = data.data.u64();
            if number == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nodelay(true).unwrap();
                    let fd = OwnedFd::from(stream);
                    let number = fd.as_raw_fd() as usize;
                    let data = epoll::EventData::new_u64(number as u64);
                    epoll::add(&queue, &fd, data, epoll::EventFlags::IN)
                        .unwrap();
                    clients.resize_with(clients.len().max(number + 1), || None);
                    clients[number] = Some(fd);
                }
                continue;
            }
            let Some(fd) = &clients[number as usize] else { continue };
            match rustix::io::read(fd, &mut inbox) {
                Ok(n) if n > 0 => {
                    let reply = peer::ok("ok");
                    let _ = rustix::io::write(fd, reply.as_bytes());
                }
                _ => clients[number as usize] = None,
            }
        }
    }
}

struct Server {
    child: Child,
    addr: SocketAddr,
}

impl Server {
    fn start() -> Server {
        raise_files();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_server_of_the_tests_below", "--nocapture"])
            .env(SERVE, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("port ")?.parse().ok())
            .unwrap();
        Server { child, addr: SocketAddr::from(([127, 0, 0, 1], port)) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn raise_files() {
    let limit = getrlimit(Resource::Nofile);
    let limit = Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, limit).unwrap();
}

const PIPELINE: &str = include_str!("../../../profiles/defs/pipelined.toml");

fn fire(spec: &Spec) -> Sample {
    let (_data, input) = peer::on_disk(spec);
    let json = std::fs::read_to_string(input).unwrap();
    let plan = Arc::new(Plan::new(&json).unwrap());
    LIVE.store(0, Ordering::Relaxed);
    MOST.store(0, Ordering::Relaxed);
    CALLS.store(0, Ordering::Relaxed);
    let stop = Arc::new(AtomicBool::new(false));
    match engine::run(&plan, &stop).unwrap() {
        Shot::Measured(sample) => {
            let bad = sample.wrong + sample.faulted() + sample.timed_out;
            assert_eq!(bad, 0, "{:?}", sample.examples);
            *sample
        }
        Shot::Failed(failure) => panic!("no window: {failure:?}"),
    }
}

fn queues() -> Vec<Engine> {
    match engine::refusal() {
        None => vec![Engine::Epoll, Engine::IoUring],
        Some(why) => {
            println!("skipped: {why}");
            vec![Engine::Epoll]
        }
    }
}

fn one_in_flight() -> String {
    PIPELINE.replace("in_flight = 16", "in_flight = 1")
}

#[test]
fn a_connection_takes_less_than_four_kibibytes() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let server = Server::start();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = 16_384.min(files.saturating_sub(200) as u32);
    if connections < 16_384 {
        println!("only {connections} connections: {files} files allowed");
    }
    for engine in queues() {
        let definition = one_in_flight();
        let mut spec = peer::spec(&definition, server.addr, connections);
        (spec.engine, spec.threads) = (engine, 1);
        spec.window_ns = 1000 * peer::MS;
        (spec.timeout_ns, spec.connect_timeout_ns) =
            (60_000 * peer::MS, 60_000 * peer::MS);
        let sample = fire(&spec);
        assert!(sample.right > 0);
        let each = MOST.load(Ordering::Relaxed) / i64::from(connections);
        println!("{engine:?}: {each} bytes a connection");
        assert!(each < 4096, "{each} bytes a connection");
    }
}

/// Longer shots answer more and allocate no more.
#[test]
fn requests_allocate_nothing_in_the_whole_engine() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let server = Server::start();
    for engine in queues() {
        let definition = one_in_flight();
        let mut spec = peer::bare(&definition, server.addr, 8);
        (spec.engine, spec.threads) = (engine, 1);
        let mut counted = |ms| {
            spec.window_ns = ms * peer::MS;
            let right = fire(&spec).right;
            (right, CALLS.load(Ordering::Relaxed))
        };
        counted(100);
        let (few, base) = counted(100);
        let (many, calls) = counted(1200);
        let more = many.saturating_sub(few);
        assert!(more > 500, "{few} and {many} answers");
        let grown = calls.saturating_sub(base);
        assert!(grown * 20 < more, "{grown} calls for {more} answers");
    }
}
