//! Servers that stop: what it does to the figures, and that nothing of it is
//! lost or keeps the gun.

mod peer;
#[path = "../benches/peers/tool/profile.rs"]
mod profile;
#[path = "../benches/peers/server/mod.rs"]
mod server;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use peer::{Gun, Peer, bare, ok};
use profile::{CALL, ECHO, SUM, SUM2, definition};
use profiles::hist::Hist;
use profiles::sample::{Sample, Shot};
use rustix::process::{Pid, Signal, kill_process};
use server::{Pacing, Server, Speaks};

const S: u64 = 1_000_000_000;
const CHILD: &str = "ARENA_TEST_SERVES";

/// Not a test but the child of those below: only a process can be stopped.
#[test]
fn a_server_in_a_process_of_its_own() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    loadgen::life::die_with_parent();
    let delay = Duration::from_millis(1);
    let pacing = Pacing { delay, gap: Duration::ZERO };
    let server = Server::start(Speaks::Http1, None, Some(pacing)).unwrap();
    println!("\naddr {}", server.addr);
    loop {
        thread::park();
    }
}

/// The child: answers after 1 ms, until it is stopped.
struct Process {
    child: Child,
    addr: SocketAddr,
}

impl Process {
    fn start() -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_server_in_a_process_of_its_own"])
            .arg("--nocapture")
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut lines = out.lines().map_while(Result::ok);
        let addr =
            lines.find_map(|line| line.strip_prefix("addr ")?.parse().ok());
        Process { child, addr: addr.unwrap() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ten seconds on one connection; the server is stopped in the 4 s from the
/// third on, if `stop` says so.
fn ten_seconds(rate: Option<f64>, stop: bool) -> Sample {
    let server = Process::start();
    let text = definition("A pause", "http1", 1, SUM);
    let mut spec = bare(&text, server.addr, 1);
    spec.window_ns = 10 * S;
    spec.timeout_ns = 30 * S;
    spec.rate_per_s = rate;
    let mut gun = Gun::start(&spec);
    gun.until_open();
    let opened = Instant::now();
    for (second, signal) in [(3, Signal::STOP), (7, Signal::CONT)] {
        let until = opened + Duration::from_secs(second);
        while let left @ 1.. =
            until.saturating_duration_since(Instant::now()).as_micros() as u64
        {
            thread::park_timeout(Duration::from_micros(left));
        }
        if stop {
            server.signal(signal);
        }
    }
    let Shot::Measured(sample) = gun.shot() else { panic!("no window") };
    sample.check_books().unwrap();
    *sample
}

/// A quantile, however few samples there are: the true ones are known here,
/// so a shot need not be long enough to publish them.
fn quantile(hist: &Hist, q: f64) -> u64 {
    let mut many = hist.clone();
    while many.quantile_ns(q).is_none() && q < 1.0 {
        many.merge(&many.clone());
    }
    many.quantile_ns(q).or(hist.max_ns()).unwrap()
}

#[track_caller]
fn near(sample: &Sample, q: f64, truth_s: f64) {
    let found = quantile(&sample.latency, q) as f64 / S as f64;
    let good = (found - truth_s).abs() < 0.15;
    assert!(good, "q{q}: {found:.3} s, the truth is {truth_s} s");
}

/// BC-27, closed loop: one answer was slow, and only the longest says so.
#[test]
fn a_stopped_server_is_one_slow_answer_of_a_closed_loop() {
    let (stopped, usual) = thread::scope(|scope| {
        let usual = scope.spawn(|| ten_seconds(None, false));
        (ten_seconds(None, true), usual.join().unwrap())
    });
    for q in [0.5, 0.99, 0.999] {
        near(&stopped, q, 0.001);
    }
    near(&stopped, 1.0, 4.0);
    let slow = stopped.right as f64 * 0.5;
    assert!(slow > 500.0, "too few answers to tell: {}", stopped.right);
    let share = stopped.right as f64 / usual.right as f64;
    assert!((0.45..0.75).contains(&share), "{share:.2} of the usual count");
}

/// BC-27, open loop: two fifths of the sends wait, each from its own moment.
#[test]
fn a_stopped_server_is_many_slow_answers_of_an_open_loop() {
    let sample = ten_seconds(Some(20.0), true);
    let open = sample.open_loop.as_ref().unwrap();
    assert!((199..=201).contains(&open.offered), "{}", open.offered);
    for (q, truth_s) in
        [(0.5, 0.001), (0.75, 1.55), (0.9, 3.0), (0.99, 3.9), (1.0, 4.0)]
    {
        near(&sample, q, truth_s);
    }
}

/// BC-28, first part: one in 200 hangs for 8 s of a run of 10 s.
#[test]
fn answers_that_hang_come_late_or_are_in_flight_with_their_age() {
    let hung = Arc::new(AtomicU64::new(0));
    let count = hung.clone();
    let peer = Peer::new(move |conn| {
        while let Some(request) = conn.request() {
            let mut ms = 50;
            if request.number % 200 == 199 {
                count.fetch_add(1, Ordering::Relaxed);
                ms = 8_000;
            }
            thread::park_timeout(Duration::from_millis(ms));
            if !conn.send(ok(&request.right())) {
                return;
            }
        }
    });
    let mut spec = bare(peer::BASELINE, peer.addr, 40);
    spec.window_ns = 10 * S;
    spec.timeout_ns = 30 * S;
    let mut gun = Gun::start(&spec);
    gun.until_open();
    let opened = Instant::now();
    let Shot::Measured(sample) = gun.shot() else { panic!("no window") };
    let took = opened.elapsed();
    sample.check_books().unwrap();
    assert!(took < Duration::from_secs(13), "{took:?}");
    let window = sample.window_ns as f64 / S as f64;
    assert!((9.9..11.0).contains(&window), "the divisor is {window} s");
    assert_eq!(sample.sent, sample.right + sample.unanswered);
    // The server's own count of those that hung, but for the last moment.
    let late = above(&sample.latency, S) + above(&sample.unanswered_age, S);
    let hung = hung.load(Ordering::Relaxed);
    assert!(hung >= 5 && late <= hung, "{late} of {hung}");
    assert!(late + 10 >= hung, "{late} of {hung}");
    let oldest = sample.unanswered_age.max_ns().unwrap();
    assert!(oldest < 8 * S + S, "{oldest}");
    assert!(sample.latency.max_ns().unwrap() >= 8 * S - S / 10);
}

/// How many of a histogram are longer than `ns`.
fn above(hist: &Hist, ns: u64) -> u64 {
    let count = hist.count();
    let longer =
        |rank: u64| quantile(hist, (rank as f64 + 0.5) / count as f64) > ns;
    let ranks: Vec<u64> = (0..count).collect();
    count - ranks.partition_point(|rank| !longer(*rank)) as u64
}

/// BC-28, second and third part: whoever is slow at the end, on whatever
/// protocol, is in the books and does not hold the gun.
#[test]
fn answers_that_are_due_after_the_end_are_unanswered_on_every_protocol() {
    let data = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers-data");
    profiles::data::write(&data).unwrap();
    let pacing = Pacing { delay: Duration::from_secs(60), gap: Duration::ZERO };
    thread::scope(|scope| {
        for (speaks, protocol, class) in SLOW {
            let data = &data;
            scope.spawn(move || {
                let server =
                    Server::start(*speaks, Some(data), Some(pacing)).unwrap();
                let text = definition("Slow", protocol, 2, class);
                let mut spec = bare(&text, server.addr, 3);
                spec.window_ns = S;
                spec.timeout_ns = 100 * S;
                let mut gun = Gun::start(&spec);
                gun.until_open();
                let opened = Instant::now();
                let Shot::Measured(sample) = gun.shot() else {
                    panic!("{protocol}: no window")
                };
                let took = opened.elapsed();
                sample.check_books().unwrap();
                assert!(took < Duration::from_secs(5), "{protocol}: {took:?}");
                let ends = (sample.sent, sample.unanswered);
                assert_eq!(ends, (6, 6), "{protocol}: {sample:?}");
                let age = sample.unanswered_age.max_ns().unwrap();
                assert!(age > S / 2 && age < 2 * S, "{protocol}: {age}");
                let window = sample.window_ns;
                assert!((S / 2..2 * S).contains(&window), "{window}");
            });
        }
    });
}

const SLOW: &[(Speaks, &str, &str)] = &[
    (Speaks::Http1, "http1", SUM),
    (Speaks::Http1Tls, "http1-tls", SUM),
    (Speaks::WebSocket, "websocket", ECHO),
    (Speaks::Http2, "http2-cleartext", SUM2),
    (Speaks::Http2Tls, "http2-tls", SUM2),
    (Speaks::Http2, "grpc", CALL),
    (Speaks::Http3, "http3", SUM2),
];
