//! How fast the gun fires: checked answers per second against the server of
//! `benches/peers`, and what one answer costs the gun.
//!
//! `cargo bench -p loadgen` runs all cases; a word after `--` picks those
//! whose name contains it. The second number is the one to watch: on a small
//! machine the server and the kernel take most of the first.

#[path = "peers/server/mod.rs"]
mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use loadgen::engine;
use loadgen::plan::Plan;
use profiles::cpuset::CpuSet;
use profiles::data::Dataset;
use profiles::sample::Shot;
use profiles::spec::{SPEC_SCHEMA, Spec};
use server::{Server, Speaks};

const MS: u64 = 1_000_000;

const HEAD: &str = r#"
title = "t"
summary = "s"
family = "h1-core"
scored = true
leagues = ["engine"]
metric = "answers"
protocol = "http1"
port = 8080
endpoints = ["/"]
[server]
cpus = "pool"
reference_cpus = "0"
"#;

struct Case {
    name: &'static str,
    load: &'static str,
    class: &'static str,
    connections: u32,
}

const CASES: &[Case] = &[
    Case {
        name: "pipeline, 1 in flight",
        load: "in_flight = 1",
        class: "ask = \"pipeline\"",
        connections: 64,
    },
    Case {
        name: "pipeline, 16 in flight",
        load: "in_flight = 16",
        class: "ask = \"pipeline\"",
        connections: 64,
    },
    Case {
        name: "pipeline, 10 a connection",
        load: "in_flight = 1\nrequests_per_connection = 10",
        class: "ask = \"pipeline\"",
        connections: 64,
    },
    Case {
        name: "sum, 1 in flight",
        load: "in_flight = 1",
        class: "ask = \"sum\"\npath = \"/baseline11\"\noperands = \"1-9999\"",
        connections: 64,
    },
    Case {
        name: "sum, 1 in flight, 4096 connections",
        load: "in_flight = 1",
        class: "ask = \"sum\"\npath = \"/baseline11\"\noperands = \"1-9999\"",
        connections: 4096,
    },
    Case {
        name: "json of 50 items",
        load: "in_flight = 1",
        class: "ask = \"json\"\npath = \"/json/\"\ncounts = [\"50\"]\n\
                multiplier = \"1\"",
        connections: 64,
    },
];

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let data = std::env::temp_dir().join("loadgen-bench-data");
    std::fs::create_dir_all(&data).expect("a folder for the data");
    let dataset = Dataset::generate();
    std::fs::write(data.join("dataset.json"), dataset.to_bytes())
        .expect("the dataset");
    let target = server();
    println!(
        "{:36} {:>10} {:>10} {:>7}",
        "case", "answers/s", "ns/answer", "busy"
    );
    for case in CASES {
        let chosen = |w: &String| case.name.contains(w.as_str());
        if wanted.is_empty() || wanted.iter().any(chosen) {
            fire(case, target, &data);
        }
    }
}

fn fire(case: &Case, target: SocketAddr, data: &std::path::Path) {
    let definition = format!(
        "{HEAD}[load]\nlevels = [1]\nwindow = \"1s\"\nshare_total = 1\n{}\n\
         [[class]]\nname = \"c\"\nshare = 1\n{}\n",
        case.load, case.class
    );
    let spec = Spec {
        schema: SPEC_SCHEMA,
        profile: "bench".parse().expect("a name"),
        definition,
        target,
        connections: case.connections,
        threads: 1,
        cpus: CpuSet::new([0]),
        seed: 1,
        connect_timeout_ns: 10_000 * MS,
        warmup_ns: 300 * MS,
        gap_ns: 100 * MS,
        window_ns: 2_000 * MS,
        timeout_ns: 10_000 * MS,
        data_dir: data.into(),
        rate_per_s: None,
        engine: Default::default(),
        tokens: Vec::new(),
    };
    let json = serde_json::to_string(&spec).expect("a spec is JSON");
    let plan = Arc::new(Plan::new(&json).expect("a plan"));
    let stop = Arc::new(AtomicBool::new(false));
    match engine::run(&plan, &stop).expect("the gun's own fault") {
        Shot::Measured(s) => {
            let cpu: u64 = s.threads.iter().map(|t| t.cpu_ns).sum();
            println!(
                "{:36} {:>10.0} {:>10.0} {:>6.0}%",
                case.name,
                s.rate(),
                cpu as f64 / s.right.max(1) as f64,
                cpu as f64 * 100.0 / s.window_ns as f64
            );
            let bad = s.wrong + s.faulted() + s.timed_out;
            assert_eq!(bad, 0, "{:?}", s.examples);
        }
        Shot::Failed(failure) => panic!("{failure:?}"),
    }
}

/// The server of `benches/peers` on a thread that has the last CPU.
fn server() -> SocketAddr {
    let last = thread::available_parallelism().map_or(1, |n| n.get()) - 1;
    let started = thread::spawn(move || {
        let mut mask = rustix::thread::CpuSet::new();
        mask.set(last);
        // The server's own thread inherits it.
        let _ = rustix::thread::sched_setaffinity(None, &mask);
        Server::start(Speaks::Http1, None, None)
    });
    started.join().expect("a thread").expect("a server").addr
}
