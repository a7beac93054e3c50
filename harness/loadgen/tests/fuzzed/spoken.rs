//! The protocols under test: a plan for each, and what a right server says.

use std::sync::{Arc, OnceLock};

use loadgen::check::Shelf;
use loadgen::plan::Plan;
use loadgen::session::{Http1, Http2, Session, WebSocket};
use loadgen::wire::websocket;
use profiles::ask::{Ask, Drawer};
use profiles::oracle::{Oracle, Sums};
use profiles::profile::{Lane, Profile};
use profiles::rng::Rng;
use profiles::spec::Spec;

/// All requests are drawn from it.
pub const SEED: u64 = 7;
const IN_FLIGHT: u32 = 4;

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
