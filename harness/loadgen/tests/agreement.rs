//! Agreement: fired at the same server, loadgen counts what its peers count.
//!
//! The server holds every answer back for the same time, so the rate of all
//! of them is known beforehand and does not depend on the machine. A peer
//! that is missing is named, and its test says nothing.

#[path = "../benches/peers/pairs.rs"]
#[allow(dead_code)]
mod pairs;
#[path = "../benches/peers/server/mod.rs"]
mod server;
#[path = "../benches/peers/tool/mod.rs"]
mod tool;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairs::{Spread, alternate};
use server::{Pacing, Server, Speaks};
use tool::profile::{CALL, SUM, SUM2, definition};
use tool::{Gun, Load, Outcome, Peer};

const DELAY: Duration = Duration::from_millis(50);
const CONNECTIONS: u32 = 10;
const PAIRS: u32 = 3;
/// How far apart two tools may be: the rounds that a window cuts at its ends,
/// and what a busy machine does to one and not to the other.
const BAND: f64 = 0.15;

/// The folder of the generated data, for its certificate.
fn data() -> PathBuf {
    let data = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers-data");
    profiles::data::write(&data).unwrap();
    data
}

struct Case {
    peer: Peer,
    speaks: Speaks,
    protocol: &'static str,
    in_flight: u32,
    class: &'static str,
    target: &'static str,
}

fn agree(case: &Case) {
    let Case { peer, speaks, protocol, in_flight, class, target } = *case;
    let Some(program) = peer.find() else {
        println!("skipped: {} is missing; {}", peer.name(), peer.remedy());
        return;
    };
    let data = data();
    let pacing = Pacing { delay: DELAY, gap: Duration::ZERO };
    let server = Server::start(speaks, Some(&data), Some(pacing)).unwrap();
    let load = Load {
        addr: server.addr,
        connections: CONNECTIONS,
        in_flight,
        window_s: 2,
        target,
        cpu: None,
    };
    let definition = definition("Agreement", protocol, in_flight, class);
    let gun = Gun {
        program: Path::new(env!("CARGO_BIN_EXE_loadgen")),
        data: &data,
        definition: &definition,
        engine: Default::default(),
        seed: 1,
    };
    let gun = || Ok(gun.fire(&load)?.0);
    let other = || peer.fire(&program, &load);
    let pairs = alternate(PAIRS, gun, other).unwrap();
    assert_eq!(pairs.invalid, [""; 0]);
    let middle = |outcome: fn(&pairs::Pair) -> Outcome| {
        let rates = pairs.valid.iter().map(|pair| outcome(pair).rate());
        Spread::of(rates).unwrap().median
    };
    let (ours, theirs) = (middle(|p| p.gun), middle(|p| p.other));
    let apart = (ours / theirs - 1.0).abs();
    assert!(apart < BAND, "loadgen {ours:.1}/s, {} {theirs:.1}/s", peer.name());
    // No tool can be faster than the server, but for what its clock cuts off.
    let truth = f64::from(CONNECTIONS * in_flight) / DELAY.as_secs_f64();
    for rate in [ours, theirs] {
        assert!(rate < truth * 1.05, "{rate:.1}/s, at most {truth:.1}/s");
        assert!(rate > truth * 0.6, "{rate:.1}/s, about {truth:.1}/s");
    }
}

const H1: Case = Case {
    peer: Peer::Wrk,
    speaks: Speaks::Http1,
    protocol: "http1",
    in_flight: 1,
    class: SUM,
    target: "/baseline11?a=1234&b=4321",
};

const H2: Case = Case {
    peer: Peer::H2load,
    speaks: Speaks::Http2,
    protocol: "http2-cleartext",
    in_flight: 4,
    class: SUM2,
    target: "/baseline2?a=1234&b=4321",
};

#[test]
fn wrk_and_loadgen_count_the_same() {
    agree(&H1);
}

#[test]
fn wrk_and_loadgen_count_the_same_over_tls() {
    let (speaks, protocol) = (Speaks::Http1Tls, "http1-tls");
    agree(&Case { peer: Peer::WrkTls, speaks, protocol, ..H1 });
}

#[test]
fn oha_and_loadgen_count_the_same() {
    agree(&Case { peer: Peer::Oha, ..H1 });
}

#[test]
fn h2load_and_loadgen_count_the_same() {
    agree(&H2);
}

#[test]
fn h2load_and_loadgen_count_the_same_over_tls() {
    let (speaks, protocol) = (Speaks::Http2Tls, "http2-tls");
    agree(&Case { peer: Peer::H2loadTls, speaks, protocol, ..H2 });
}

#[test]
fn h2load_and_loadgen_count_the_same_calls() {
    agree(&Case {
        peer: Peer::H2loadGrpc,
        protocol: "grpc",
        class: CALL,
        target: "/benchmark.BenchmarkService/GetSum",
        ..H2
    });
}

#[test]
fn oha_and_loadgen_count_the_same_over_quic() {
    let (speaks, protocol) = (Speaks::Http3, "http3");
    agree(&Case { peer: Peer::OhaHttp3, speaks, protocol, ..H2 });
}
