//! Known truth: the rate and the quantiles are decided by the server, so
//! that a right load generator can only find those.

mod peer;
#[path = "../benches/peers/tool/profile.rs"]
mod profile;
#[path = "../benches/peers/server/mod.rs"]
mod server;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use peer::{BASELINE, MS, Peer, bare, measured, ok};
use profile::{CALL, ECHO, SUM, SUM2, definition};
use profiles::sample::Sample;
use profiles::spec::Spec;
use server::{Pacing, Server, Speaks};

const DELAY: Duration = Duration::from_millis(100);
const DELAY_NS: u64 = 100 * MS;
const CONNECTIONS: u32 = 4;
const IN_FLIGHT: u32 = 2;
/// A clock may be late, on a busy machine much, but never early.
const LATE: f64 = 1.4;
const WINDOW_NS: u64 = 2_000 * MS;

/// Every protocol, as the server and as a definition name it.
const PROTOCOLS: &[(Speaks, &str, &str)] = &[
    (Speaks::Http1, "http1", SUM),
    (Speaks::Http1Tls, "http1-tls", SUM),
    (Speaks::WebSocket, "websocket", ECHO),
    (Speaks::Http2, "http2-cleartext", SUM2),
    (Speaks::Http2Tls, "http2-tls", SUM2),
    (Speaks::Http2, "grpc", CALL),
    (Speaks::Http3, "http3", SUM2),
];

/// Runs `check` on all protocols at once; they wait most of the time.
fn each(check: impl Fn(Speaks, &str, &Path) + Sync) {
    let data = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers-data");
    profiles::data::write(&data).unwrap();
    thread::scope(|scope| {
        for (speaks, protocol, class) in PROTOCOLS {
            let (check, data) = (&check, &data);
            scope.spawn(move || {
                let text = definition("Truth", protocol, IN_FLIGHT, class);
                check(*speaks, &text, data);
            });
        }
    });
}

fn held(speaks: Speaks, data: &Path) -> Server {
    let pacing = Pacing { delay: DELAY, gap: Duration::ZERO };
    Server::start(speaks, Some(data), Some(pacing)).unwrap()
}

fn shot(definition: &str, server: &Server, rate: Option<f64>) -> Sample {
    let spec = bare(definition, server.addr, CONNECTIONS);
    measured(&Spec { window_ns: WINDOW_NS, rate_per_s: rate, ..spec })
}

/// The histogram's own error is far below the slack here.
#[track_caller]
fn about(what: &str, found: Option<u64>, truth_ns: u64) {
    let found = found.unwrap() as f64;
    let truth = truth_ns as f64;
    let good = (truth * 0.99..truth * LATE).contains(&found);
    assert!(good, "{what}: {found} ns, the truth is {truth} ns");
}

#[test]
fn a_fixed_delay_gives_its_rate_and_its_quantiles() {
    each(|speaks, definition, data| {
        let server = held(speaks, data);
        let sample = shot(definition, &server, None);
        let rounds = WINDOW_NS / DELAY_NS;
        let most = rounds * u64::from(CONNECTIONS * IN_FLIGHT);
        assert!(sample.right <= most, "{speaks:?}: {}", sample.right);
        let least = (most as f64 / LATE) as u64;
        assert!(sample.right >= least, "{speaks:?}: {}", sample.right);
        assert_eq!(sample.sent, sample.right + sample.unanswered);
        for q in [0.01, 0.5, 0.75] {
            let found = sample.latency.quantile_ns(q);
            about(&format!("{speaks:?} q{q}"), found, DELAY_NS);
        }
        // What the server answered is what came, but for what was in flight.
        let answered = server.answered();
        let room = sample.right..=sample.right + sample.unanswered;
        assert!(room.contains(&answered), "{speaks:?}: {answered} {room:?}");
    });
}

#[test]
fn an_open_loop_below_the_limit_gives_its_own_rate_and_the_delay() {
    each(|speaks, definition, data| {
        let server = held(speaks, data);
        let sample = shot(definition, &server, Some(40.0));
        let open = sample.open_loop.as_ref().unwrap();
        assert!((79..=81).contains(&open.offered), "{}", open.offered);
        assert_eq!(open.offered, sample.sent + open.unsent);
        // Only the last 100 ms may be without an answer, or a bit more.
        assert!(sample.right >= 60, "{speaks:?}: {}", sample.right);
        let found = sample.latency.quantile_ns(0.5);
        about(&format!("{speaks:?} p50"), found, DELAY_NS);
    });
}

/// The server answers one request every 10 ms, whoever asks.
#[test]
fn a_rate_cap_is_the_rate_and_its_queue_the_latency() {
    let gap = Duration::from_millis(10);
    let pacing = Pacing { delay: Duration::ZERO, gap };
    let server = Server::start(Speaks::Http1, None, Some(pacing)).unwrap();
    let text = definition("Truth", "http1", 1, SUM);
    let mut spec = bare(&text, server.addr, 8);
    spec.window_ns = WINDOW_NS;
    let sample = measured(&spec);
    assert!(sample.right <= 201, "{}", sample.right);
    assert!(sample.right >= 140, "{}", sample.right);
    // Seven others are before it in the queue.
    about("p50", sample.latency.quantile_ns(0.5), 80 * MS);
}

/// Twice the rate the server can take: the queue grows all the time, and an
/// honest clock counts from the schedule.
#[test]
fn an_open_loop_above_the_limit_shows_the_queue() {
    let gap = Duration::from_millis(10);
    let pacing = Pacing { delay: Duration::ZERO, gap };
    let server = Server::start(Speaks::Http1, None, Some(pacing)).unwrap();
    let text = definition("Truth", "http1", 1, SUM);
    let mut spec = bare(&text, server.addr, 8);
    (spec.window_ns, spec.rate_per_s) = (WINDOW_NS, Some(200.0));
    let sample = measured(&spec);
    assert!((140..=201).contains(&sample.right), "{}", sample.right);
    let open = sample.open_loop.as_ref().unwrap();
    assert!((399..=401).contains(&open.offered), "{}", open.offered);
    assert_eq!(open.offered, sample.sent + open.unsent);
    assert!(open.unsent >= 180, "{}", open.unsent);
    // Request k is due at k/200 s and answered at k/100 s.
    let p50 = sample.latency.quantile_ns(0.5).unwrap() / MS;
    assert!((450..650).contains(&p50), "{p50} ms");
    let max = sample.latency.max_ns().unwrap() / MS;
    assert!((900..1300).contains(&max), "{max} ms");
}

/// BC-30: four numbers of one shot, each from its own statistic.
#[test]
fn a_slow_few_move_the_mean_and_the_tail_and_not_the_middle() {
    let peer = Peer::new(|conn| {
        while let Some(request) = conn.request() {
            // 15 of 1,000.
            let slow = request.number * 15 % 1000 < 15;
            let ms = if slow { 100 } else { 1 };
            thread::park_timeout(Duration::from_millis(ms));
            if !conn.send(ok(&request.right())) {
                return;
            }
        }
    });
    let mut spec = bare(BASELINE, peer.addr, 4);
    spec.window_ns = 3_000 * MS;
    let latency = measured(&spec).latency;
    let ms = |ns: u64| ns as f64 / MS as f64;
    let mean = latency.mean_ns().unwrap() / MS as f64;
    assert!((2.0..8.0).contains(&mean), "mean {mean} ms");
    let p50 = ms(latency.quantile_ns(0.5).unwrap());
    assert!((1.0..5.0).contains(&p50), "p50 {p50} ms");
    let p99 = ms(latency.quantile_ns(0.99).unwrap());
    assert!((99.0..140.0).contains(&p99), "p99 {p99} ms");
    assert!(ms(latency.max_ns().unwrap()) >= 100.0);
    assert!(p50 < mean && mean < p99);
}
