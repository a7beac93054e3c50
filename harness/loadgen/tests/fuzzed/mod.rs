//! What must hold of a session whatever bytes come, for the fuzz targets and
//! for the test that runs their seeds.
//!
//! An input is a small script. Its first byte says whether the connection is
//! already up with its requests sent, or the bytes are all that ever came;
//! the second one, in what pieces they come. The rest is what the server
//! says, byte for byte, but for two: [`RIGHT`] stands for the right answer to
//! the next request, and [`LITERAL`] for the byte behind it. So seeds stay
//! right when requests are drawn in another way.

// Each target uses its own part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use loadgen::books::Books;
use loadgen::check::Shelf;
use loadgen::desk::Desk;
use loadgen::plan::Plan;
use loadgen::session::{Http1, Http2, Over, Session, WebSocket};
use loadgen::wire::websocket;
use profiles::ask::{Ask, Drawer};
use profiles::oracle::{Oracle, Sums};
use profiles::profile::{Lane, Profile};
use profiles::rng::Rng;
use profiles::spec::Spec;

/// Stands for the right answer to the next request.
pub const RIGHT: u8 = 0xfe;
/// Stands for the byte behind it.
pub const LITERAL: u8 = 0xff;
const SEED: u64 = 7;
const IN_FLIGHT: u32 = 4;
/// Nothing is late within one run.
const NOW: u64 = 2;

/// A protocol that can be put under test.
pub trait Spoken {
    /// Its session.
    type Session: Session;

    /// The plan of all runs.
    fn plan() -> &'static Plan;

    /// What a right server says before the first request, to what the client
    /// sent till then.
    fn greeting(sent: &[u8]) -> Vec<u8>;

    /// The right answers to the requests that were sent, in order.
    fn answers(sent: &[u8]) -> Vec<Vec<u8>>;
}

/// HTTP/1.1.
pub enum H1 {}

impl Spoken for H1 {
    type Session = Http1;

    fn plan() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        let text = include_str!("../../../../profiles/defs/baseline.toml");
        PLAN.get_or_init(|| plan(text))
    }

    fn greeting(_: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn answers(_: &[u8]) -> Vec<Vec<u8>> {
        let answer = |(_, ask): (usize, Ask)| {
            let body = Self::plan().oracle.exact(&ask).unwrap();
            let n = body.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
            format!("{head}Content-Length: {n}\r\n\r\n{body}").into_bytes()
        };
        asks(Self::plan()).map(answer).collect()
    }
}

/// WebSocket.
pub enum Ws {}

impl Spoken for Ws {
    type Session = WebSocket;

    fn plan() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        let text = include_str!("../../../../profiles/defs/echo-ws.toml");
        PLAN.get_or_init(|| plan(text))
    }

    fn greeting(sent: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(sent);
        let key = text.split("Key: ").nth(1).unwrap_or("").trim();
        let accept = websocket::accept(key.as_bytes());
        let accept = String::from_utf8_lossy(&accept);
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        )
        .into_bytes()
    }

    fn answers(mut sent: &[u8]) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        while let [0x81, len, a, b, c, d, rest @ ..] = sent {
            let len = len & 0x7f;
            let (payload, rest) = rest.split_at(usize::from(len));
            let mask = [a, b, c, d].into_iter().cycle();
            let mut frame = vec![0x81, len];
            frame
                .extend(payload.iter().zip(mask).map(|(byte, key)| byte ^ key));
            answers.push(frame);
            sent = rest;
        }
        answers
    }
}

/// HTTP/2.
pub enum H2 {}

impl Spoken for H2 {
    type Session = Http2;

    fn plan() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        let text = include_str!("../../../../profiles/defs/baseline-h2c.toml");
        PLAN.get_or_init(|| plan(text))
    }

    fn greeting(_: &[u8]) -> Vec<u8> {
        frame(4, 0, 0, b"")
    }

    fn answers(_: &[u8]) -> Vec<Vec<u8>> {
        let answer = |(index, (_, ask)): (u32, (usize, Ask))| {
            let stream = 2 * index + 1;
            let body = Self::plan().oracle.exact(&ask).unwrap();
            let head = [b"\x88\x0f\x10\x0a", &b"text/plain"[..]].concat();
            let head = frame(1, 4, stream, &head);
            [head, frame(0, 1, stream, body.as_bytes())].concat()
        };
        (0..).zip(asks(Self::plan())).map(answer).collect()
    }
}

/// Unary gRPC over HTTP/2.
pub enum Grpc {}

impl Spoken for Grpc {
    type Session = Http2;

    fn plan() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        let text = include_str!("../../../../profiles/defs/unary-grpc.toml");
        PLAN.get_or_init(|| plan(text))
    }

    fn greeting(_: &[u8]) -> Vec<u8> {
        frame(4, 0, 0, b"")
    }

    fn answers(_: &[u8]) -> Vec<Vec<u8>> {
        let answer = |(index, (_, ask)): (u32, (usize, Ask))| {
            let stream = 2 * index + 1;
            let sum = Sums::of(&ask).unwrap().first as u16;
            // Two or three bytes of number; both are legal up to 16383.
            let low = sum as u8 | 0x80;
            let middle = (sum >> 7) as u8 | 0x80;
            let message = [0, 0, 0, 0, 4, 8, low, middle, (sum >> 14) as u8];
            let kind = [b"\x88\x0f\x10\x10", &b"application/grpc"[..]];
            [
                frame(1, 4, stream, &kind.concat()),
                frame(0, 0, stream, &message),
                frame(1, 5, stream, b"\0\x0bgrpc-status\x010"),
            ]
            .concat()
        };
        (0..).zip(asks(Self::plan())).map(answer).collect()
    }
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let head = [a, b, c, kind, flags];
    [&head[..], &stream.to_be_bytes(), payload].concat()
}

/// The requests that are in flight from the start.
fn asks(plan: &'static Plan) -> impl Iterator<Item = (usize, Ask)> {
    let drawer = Drawer::new(&plan.profile, Lane::Main).unwrap();
    let mut drawer = drawer.for_thread(SEED, 0, 1);
    let mut rng = Rng::new(SEED, 0);
    (0..IN_FLIGHT).filter_map(move |_| drawer.draw(&mut rng))
}

/// A plan for one connection with four requests in flight.
fn plan(definition: &str) -> Plan {
    let in_flight = definition.lines().find(|l| l.starts_with("in_flight"));
    let four = format!("in_flight = {IN_FLIGHT}");
    let definition = definition.replace(in_flight.unwrap(), &four);
    let name = "fuzzed".parse().unwrap();
    let profile = Profile::parse(name, "fuzzed.toml", &definition).unwrap();
    let second = 1_000_000_000;
    let spec = Spec {
        schema: profiles::spec::SPEC_SCHEMA,
        profile: "fuzzed".parse().unwrap(),
        definition,
        target: ([127, 0, 0, 1], 1).into(),
        connections: 1,
        threads: 1,
        cpus: None,
        seed: SEED,
        connect_timeout_ns: second,
        warmup_ns: 0,
        gap_ns: 0,
        window_ns: second,
        timeout_ns: second,
        data_dir: Default::default(),
        rate_per_s: None,
        engine: Default::default(),
        tokens: Vec::new(),
    };
    Plan {
        spec,
        profile,
        oracle: Arc::new(Oracle::generated()),
        shelf: Arc::new(Shelf::new(1 << 20)),
        block: None,
    }
}

/// How a run went: how it ended, and what it added to the books.
#[derive(Debug, Eq, PartialEq)]
struct Outcome {
    over: Over,
    ready: bool,
    counts: BTreeMap<String, u64>,
}

/// One connection's place, used again and again: what a connection leaves
/// behind would tell in the next one.
struct Rig<S: Spoken> {
    desk: Desk,
    kit: <S::Session as Session>::Kit,
    session: S::Session,
}

/// A script for [`H2`], or with the second bit of its first byte for [`Grpc`].
pub fn check_http2(script: &[u8]) {
    match script.first() {
        Some(start) if start & 2 == 2 => check::<Grpc>(script),
        _ => check::<H2>(script),
    }
}

/// Runs one script in every way that must not matter.
pub fn check<S: Spoken>(script: &[u8]) {
    let [start, size, script @ ..] = script else { return };
    let raw = start & 1 == 1;
    let size = usize::from(*size).max(1);
    let mut rig = Rig::<S>::new();
    let whole = rig.run(raw, script, usize::MAX, b"");
    for size in [size, 1] {
        let pieces = rig.run(raw, script, size, b"");
        assert_eq!(pieces, whole, "in pieces of {size}");
    }
    // A stream that is over is over, whatever follows.
    if !matches!(whole.over, Over::Closed) {
        for more in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[0; 9]] {
            let longer = rig.run(raw, script, usize::MAX, more);
            assert_eq!(longer, whole, "with {more:?} behind it");
        }
    }
}

/// How many right answers a script gets.
pub fn right<S: Spoken>(script: &[u8]) -> u64 {
    let outcome = Rig::<S>::new().run(false, script, usize::MAX, b"");
    outcome.counts["right"]
}

impl<S: Spoken> Rig<S> {
    fn new() -> Rig<S> {
        let plan = S::plan();
        let mut desk = Desk::new(plan, 0).unwrap();
        desk.books.open();
        let kit = S::Session::kit(plan).unwrap();
        Rig { desk, kit, session: S::Session::new(0) }
    }

    /// One connection from its start to its end.
    fn run(
        &mut self,
        raw: bool,
        script: &[u8],
        size: usize,
        more: &[u8],
    ) -> Outcome {
        let before = counts(&self.desk.books);
        // The same requests in every run.
        self.desk.rng = Rng::new(SEED, 0);
        self.kit = S::Session::kit(S::plan()).unwrap();
        let Rig { desk, kit, session } = self;
        session.open(NOW, desk, kit).unwrap();
        let mut sent = send(session, desk);
        let mut over = None;
        if !raw {
            let mut greeting = S::greeting(&sent);
            if !greeting.is_empty() {
                over = session.received(&mut greeting, NOW, desk, kit);
            }
            assert!(over.is_none() && session.is_ready(), "{over:?}");
            send(session, desk);
            session.fill(NOW, desk, kit);
            sent = send(session, desk);
        }
        let mut bytes = written::<S>(script, &sent);
        bytes.extend_from_slice(more);
        for piece in bytes.chunks_mut(size) {
            over = session.received(piece, NOW, desk, kit);
            if over.is_some() {
                break;
            }
        }
        let ready = session.is_ready();
        let over = over.unwrap_or_else(|| session.closed(NOW, desk, kit));
        session.end(over, NOW, desk);
        desk.drop_returned(NOW);
        assert!(session.is_idle() && session.out().is_empty());
        let mut counts = counts(&desk.books);
        for (name, count) in before {
            *counts.entry(name).or_default() -= count;
        }
        counts.retain(|name, count| *count > 0 || name == "right");
        Outcome { over, ready, counts }
    }
}

/// What the books have, by name. Every request ends once, and every total is
/// the sum of its parts.
fn counts(books: &Books) -> BTreeMap<String, u64> {
    let wrong: u64 = books.wrong_by.values().sum();
    let faults: u64 = books.faults.values().sum();
    let unanswered = books.unanswered_age.count();
    let ended = books.right + wrong + faults + books.timed_out + unanswered;
    assert_eq!(books.sent, ended, "sent = right + wrong + faults + ...");
    let answers: u64 = books.statuses.iter().sum();
    assert_eq!(answers, books.right + wrong, "statuses sum to answers");
    assert_eq!(books.latency.count(), books.right);
    assert_eq!(books.latency_wrong.count(), wrong);
    let mut counts = BTreeMap::new();
    for (name, count) in [
        ("sent", books.sent),
        ("right", books.right),
        ("timed out", books.timed_out),
        ("unanswered", unanswered),
        ("surplus", books.surplus),
        ("retried", books.retried),
        ("body bytes", books.right_body_bytes),
        ("messages", books.messages),
    ] {
        counts.insert(name.to_string(), count);
    }
    for (word, count) in &books.wrong_by {
        counts.insert(format!("wrong {word}"), *count);
    }
    for (fault, count) in &books.faults {
        counts.insert(format!("{fault:?}"), *count);
    }
    for (status, count) in books.statuses.iter().enumerate() {
        if *count > 0 {
            counts.insert(format!("status {status}"), *count);
        }
    }
    counts
}

/// Hands all there is to the kernel.
fn send<S: Session>(session: &mut S, desk: &mut Desk) -> Vec<u8> {
    let text = session.out().text().unwrap_or(&[]).to_vec();
    session.wrote(text.len(), NOW, desk);
    text
}

/// The bytes a script stands for.
fn written<S: Spoken>(script: &[u8], sent: &[u8]) -> Vec<u8> {
    let answers =
        if script.contains(&RIGHT) { S::answers(sent) } else { Vec::new() };
    let mut answers = answers.into_iter();
    let mut out = Vec::new();
    let mut script = script.iter();
    while let Some(byte) = script.next() {
        match *byte {
            RIGHT => out.extend(answers.next().unwrap_or_default()),
            LITERAL => out.extend(script.next()),
            byte => out.push(byte),
        }
    }
    out
}
