//! How fast the gun fires: checked answers per second against a stub that
//! does next to nothing, and what one answer costs the gun.
//!
//! `cargo bench -p loadgen` runs all cases; a word after `--` picks those
//! whose name contains it. The second number is the one to watch: on a small
//! machine the stub and the kernel take most of the first.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use loadgen::engine;
use loadgen::plan::Plan;
use profiles::cpuset::CpuSet;
use profiles::data::Dataset;
use profiles::sample::Shot;
use profiles::spec::{SPEC_SCHEMA, Spec};
use rustix::event::epoll;
use rustix::io::{Errno, read, write};

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
        class: "ask = \"sum\"\npath = \"/s\"\noperands = \"1-9999\"",
        connections: 64,
    },
    Case {
        name: "sum, 1 in flight, 4096 connections",
        load: "in_flight = 1",
        class: "ask = \"sum\"\npath = \"/s\"\noperands = \"1-9999\"",
        connections: 4096,
    },
    Case {
        name: "json of 50 items",
        load: "in_flight = 1",
        class: "ask = \"json\"\npath = \"/j/\"\ncounts = [\"50\"]\n\
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
    let target = stub(document(&dataset));
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

/// The answer to the only JSON question, written once.
fn document(dataset: &Dataset) -> Vec<u8> {
    let mut items = serde_json::to_value(&dataset.0).expect("items are JSON");
    for item in items.as_array_mut().expect("an array") {
        let number = |key: &str| item[key].as_u64().unwrap_or(0);
        item["total"] = (number("price") * number("quantity")).into();
    }
    let n = dataset.0.len();
    let body = serde_json::json!({ "items": items, "count": n }).to_string();
    reply("application/json", &body).into_bytes()
}

fn reply(kind: &str, body: &str) -> String {
    let n = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nServer: stub\r\nContent-Type: {kind}\r\n\
         Content-Length: {n}\r\n\r\n{body}"
    )
}

/// One thread on the last CPU that answers whole requests and nothing else.
fn stub(document: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let addr = listener.local_addr().expect("its address");
    let last = thread::available_parallelism().map_or(1, |n| n.get()) - 1;
    thread::spawn(move || {
        let mut mask = rustix::thread::CpuSet::new();
        mask.set(last);
        let _ = rustix::thread::sched_setaffinity(None, &mask);
        listener.set_nonblocking(true).expect("non-blocking");
        serve(&listener, &document).expect("the stub")
    });
    addr
}

fn serve(listener: &TcpListener, document: &[u8]) -> Result<(), Errno> {
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = epoll::EventFlags::IN;
    epoll::add(&queue, listener, epoll::EventData::new_u64(0), flags)?;
    let mut clients: HashMap<u64, OwnedFd> = HashMap::new();
    let mut events = Vec::with_capacity(512);
    let (mut inbox, mut out) = (vec![0; 65_536], Vec::new());
    loop {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&queue, room, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        for event in &events {
            let id = event.data.u64();
            if id == 0 {
                while let Ok((client, _)) = listener.accept() {
                    let _ = client.set_nodelay(true);
                    let _ = client.set_nonblocking(true);
                    let client = OwnedFd::from(client);
                    let id = client.as_raw_fd() as u64;
                    let data = epoll::EventData::new_u64(id);
                    epoll::add(&queue, &client, data, flags)?;
                    clients.insert(id, client);
                }
                continue;
            }
            let Some(client) = clients.get(&id) else { continue };
            match read(client, &mut inbox[..]) {
                Ok(n) if n > 0 => {
                    out.clear();
                    answer(&inbox[..n], document, &mut out);
                    let _ = write(client, &out);
                }
                Err(Errno::AGAIN) => {}
                _ => drop(clients.remove(&id)),
            }
        }
    }
}

/// All requests in `input`; the gun sends them whole.
fn answer(input: &[u8], document: &[u8], out: &mut Vec<u8>) {
    let text = std::str::from_utf8(input).unwrap_or("");
    for request in text.split_inclusive("\r\n\r\n") {
        if request.starts_with("GET /pipeline") {
            out.extend_from_slice(reply_ok());
        } else if request.starts_with("GET /j/") {
            out.extend_from_slice(document);
        } else {
            let query = request.split(['?', ' ']).nth(2).unwrap_or("");
            let values = query.split('&').filter_map(|p| p.split('=').nth(1));
            let sum: i64 = values.filter_map(|v| v.parse::<i64>().ok()).sum();
            let reply = reply("text/plain", &sum.to_string());
            out.extend_from_slice(reply.as_bytes());
        }
    }
}

fn reply_ok() -> &'static [u8] {
    b"HTTP/1.1 200 OK\r\nServer: stub\r\nContent-Type: text/plain\r\n\
      Content-Length: 2\r\n\r\nok"
}
