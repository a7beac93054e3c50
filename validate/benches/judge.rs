//! How long the judge takes: every probe of every protocol against the honest
//! twins of the tests, and the sweeps of split connections alone.
//!
//! `cargo bench -p validate --bench judge` judges seven times, each with its
//! own seed, and prints the median with least and most. A line's seconds are
//! those of a whole judgement once the server is up.

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "the gallery uses all of it")]
mod support;
#[path = "../tests/support/tls.rs"]
#[allow(dead_code, reason = "the gallery uses all of it")]
mod tls_front;
#[path = "../tests/support/tls_identity.rs"]
#[allow(dead_code, reason = "the gallery uses all of it")]
mod tls_identity;

use std::time::Instant;

use profiles::profile::Profile;
use support::cheat::Cheat;
use support::http2::{GrpcCheat, Http2Cheat, Http2Twin};
use support::http3::{Http3Cheat, Http3Twin};
use support::websocket::{WsCheat, WsTwin};
use support::{SEVEN, Twin, data, profiles};
use tls_front::{Front, Habit};
use validate::{Options, Target, validate};

const SEEDS: u64 = 7;
const CALLS: [&str; 4] =
    ["unary-grpc", "unary-grpc-tls", "stream-grpc", "stream-grpc-tls"];

/// Seconds of one judgement, and how many probes it asked.
fn judged(
    target: &Target,
    names: &[&str],
    only: Option<&str>,
    seed: u64,
) -> (f64, u32) {
    let all = profiles(names);
    let all: Vec<&Profile> = all.iter().collect();
    let name = "twin".parse().unwrap();
    let options = Options { only, ..Options::new(seed) };
    let began = Instant::now();
    let verdicts =
        validate(&name, "sha256:0", target, &all, data::oracle(), &options);
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(verdicts.failed, 0, "{verdicts:#?}");
    (seconds, verdicts.passed)
}

/// TCP connections that this machine has taken so far.
fn taken() -> u64 {
    let text = std::fs::read_to_string("/proc/net/snmp").unwrap();
    let mut lines = text.lines().filter(|l| l.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split(' ').position(|n| n == "PassiveOpens").unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

/// Prints a line; gives the median of its seconds.
fn line(
    what: &str,
    target: &Target,
    names: &[&str],
    only: Option<&str>,
) -> f64 {
    let before = taken();
    let runs = (1..=SEEDS).map(|seed| judged(target, names, only, seed));
    let (mut seconds, probes): (Vec<f64>, Vec<u32>) = runs.unzip();
    let connections = (taken() - before) / SEEDS;
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    println!(
        "{what:<28} {median:>6.2} s ({:.2} to {:.2}), {} probes, {connections} \
         TCP connections",
        seconds[0],
        seconds[seconds.len() - 1],
        probes[0],
    );
    median
}

fn main() {
    let http1 = Twin::start(Cheat::Honest);
    let http1 = Target::local(http1.address);
    let front = Front::start(Habit::Usual, Cheat::Honest);
    let http2 = Http2Twin::start(Http2Cheat::Honest, Cheat::Honest);
    let http3 = Http3Twin::start(Http3Cheat::Honest, Cheat::Honest);
    let http3 = Target::default().with(8443, http3.address);
    let grpc = Http2Twin::calls(Http2Cheat::Honest, GrpcCheat::Honest);
    let socket = WsTwin::start(WsCheat::Honest);
    let all = [
        line("HTTP/1.1", &http1, &SEVEN, None),
        line("HTTP/1.1 over TLS", &front.target(), &["json-tls"], None),
        line(
            "HTTP/2, TLS and cleartext",
            &http2.target(),
            &["baseline-h2", "static-h2", "baseline-h2c", "json-h2c"],
            None,
        ),
        line("HTTP/3", &http3, &["baseline-h3", "static-h3"], None),
        line("gRPC, TLS and cleartext", &grpc.target(), &CALLS, None),
        line(
            "WebSocket",
            &socket.target(),
            &["echo-ws", "echo-ws-pipeline"],
            None,
        ),
    ];
    println!("all, one after the other     {:>6.2} s", all.iter().sum::<f64>());
    for probe in ["sum.split", "json.split", "upload.split", "static.split"] {
        line(probe, &http1, &SEVEN, Some(probe));
    }
}
