use std::sync::Arc;

use super::super::hpack::tests::Fields;
use super::super::hpack::{self, Scratch};
use super::super::table::Table;
use super::*;

const HEAD: &str = r#"
title = "t"
summary = "s"
family = "h2"
scored = true
leagues = ["engine"]
metric = "answers"
protocol = "http2-tls"
port = 8443
endpoints = ["/"]
load = { levels = [1], in_flight = 1, window = "1s", share_total = 1 }
server = { cpus = "pool", reference_cpus = "0" }
"#;

fn requests(classes: &str, tokens: &[Token]) -> Requests {
    let text = format!("{HEAD}{classes}");
    let name = "test".parse().unwrap();
    let profile = Profile::parse(name, "test.toml", &text).unwrap();
    Requests::new(&profile, tokens)
}

const PLAIN: &str = "[[class]]\nname = \"a\"\nshare = 1\nask = \"pipeline\"\n";
const BEARER: &str = "[[class]]\nname = \"a\"\nshare = 1\nbearer = true\n\
     accept_encoding = \"br\"\nask = \"pipeline\"\n";

/// A server's decoder, to see what it makes of requests.
struct Server {
    table: Table,
    /// The largest table it allows.
    most: usize,
}

impl Server {
    fn new() -> Server {
        Server { table: Table::new(TABLE), most: TABLE }
    }

    /// The frame's flags and the fields in it, which came in one frame.
    #[track_caller]
    fn read(&mut self, frame: &[u8]) -> (u8, Vec<String>) {
        let len = usize::from(frame[1]) << 8 | usize::from(frame[2]);
        assert_eq!(frame.len(), len + 9);
        assert_eq!((frame[0], frame[3]), (0, kind::HEADERS));
        let (mut found, mut scratch) = <(Fields, Scratch)>::default();
        let (table, block) = (&mut self.table, &frame[9..]);
        hpack::read(block, table, self.most, &mut scratch, &mut found).unwrap();
        let text = |(name, value): &(String, String)| format!("{name}={value}");
        (frame[4], found.0.iter().map(text).collect())
    }
}

const HTTP: [&str; 2] = [":scheme=https", ":authority=127.0.0.1:8443"];

#[test]
fn a_request_says_what_the_contract_says_and_nothing_else() {
    let mut requests = requests(PLAIN, &[]);
    let (mut encoder, mut server) = (Encoder::default(), Server::new());
    let mut ask = |ask: &Ask, load: Load, body: &str, fields: &[&str]| {
        for round in 0..3 {
            let mut out = Vec::new();
            assert_eq!(requests.write(0, ask, 7, &mut encoder, &mut out), load);
            if load == Load::Small {
                assert_eq!(requests.small(), body.as_bytes());
            }
            let (flags, found) = server.read(&out);
            let end = if load == Load::None { 1 } else { 0 };
            assert_eq!(flags, flag::END_HEADERS | end);
            let target = format!(":path={}", ask.target());
            let method = format!(":method={}", ask.method());
            let mut like = vec![&method[..], HTTP[0], HTTP[1], &target];
            like.extend_from_slice(fields);
            assert_eq!(found, like, "{round}");
        }
    };
    let path: Arc<str> = "/p".into();
    let sum = |path: &Arc<str>, body| {
        let path = path.clone();
        Ask::Sum { path, a: -7, b: 123_456, body }
    };
    ask(&Ask::Pipeline, Load::None, "", &[]);
    ask(&sum(&path, None), Load::None, "", &[]);
    let length = ["content-length=2"];
    ask(&sum(&path, Some((20, Framing::Length))), Load::Small, "20", &length);
    ask(&sum(&path, Some((-5, Framing::Chunked))), Load::Small, "-5", &[]);
    let json = |multiplier| Ask::Json {
        path: path.clone(),
        count: 50,
        multiplier,
        accept_encoding: None,
        must_encode: false,
    };
    ask(&json(Some(3)), Load::None, "", &[]);
    ask(&json(None), Load::None, "", &[]);
    let update = Ask::CrudUpdate { id: 7, price: 200, quantity: 25 };
    let text = "{\"name\":\"Updated Product\",\"category\":\"test\",\
                \"price\":200,\"quantity\":25}";
    let fields = ["content-type=application/json", "content-length=70"];
    ask(&update, Load::Small, text, &fields);
    let grpc = ["content-type=application/grpc", "te=trailers"];
    let message = "\0\0\0\0\x04\x08\x01\x10\x02";
    ask(&Ask::GrpcSum { a: 1, b: 2 }, Load::Small, message, &grpc);
    for len in [100, 118, 119, 120, 121, 300, 3000] {
        let path: Arc<str> = format!("/{}", "x".repeat(len)).into();
        ask(&sum(&path, None), Load::None, "", &[]);
    }
    let upload = |len, framing| Ask::Upload { offset: 3, len, framing };
    let slice = Load::Slice { offset: 3, len: 9 };
    ask(&upload(9, Framing::Length), slice, "", &["content-length=9"]);
    ask(&upload(9, Framing::Chunked), slice, "", &[]);
    let empty = upload(0, Framing::Length);
    ask(&empty, Load::None, "", &["content-length=0"]);
}

#[test]
fn what_requests_have_in_common_is_one_byte_from_the_second_on() {
    let token = |text: String| Token { user: 1, token: text };
    let tokens = [token("a".repeat(300)), token("b".repeat(300))];
    let mut requests = requests(BEARER, &tokens);
    let (mut encoder, mut server) = (Encoder::default(), Server::new());
    let mut lens = Vec::new();
    for round in 0..6 {
        let mut out = Vec::new();
        requests.write(0, &Ask::Pipeline, 1, &mut encoder, &mut out);
        let bearer = ["b", "a"][round % 2].repeat(300);
        let like = [
            ":method=GET",
            HTTP[0],
            HTTP[1],
            ":path=/pipeline",
            "accept-encoding=br",
            &format!("authorization=Bearer {bearer}"),
        ];
        assert_eq!(server.read(&out).1, like);
        lens.push(out.len());
    }
    assert_eq!(lens[2..], [9 + 5 + 11; 4]);
    assert!(lens[1] > 300);
}

/// The server forgets what it knew, whatever the size changes to.
#[test]
fn a_table_of_another_size_is_followed_at_once() {
    let tokens: Vec<Token> = (0..3)
        .map(|n| Token { user: n, token: format!("{n}").repeat(1500) })
        .collect();
    let mut requests = requests(BEARER, &tokens);
    let (mut encoder, mut server) = (Encoder::default(), Server::new());
    for max in [4096, 0, 100, 4096, 9999, 200, 1700, 4096] {
        encoder.limit(max);
        server.most = max;
        for _ in 0..5 {
            let mut out = Vec::new();
            requests.write(0, &Ask::Pipeline, 1, &mut encoder, &mut out);
            let found = server.read(&out).1;
            assert_eq!(found.len(), 6);
            assert!(server.table.size() <= max.min(TABLE));
            assert_eq!(found[4], "accept-encoding=br");
        }
    }
    encoder.reset();
    server = Server::new();
    let mut out = Vec::new();
    requests.write(0, &Ask::Pipeline, 1, &mut encoder, &mut out);
    assert_eq!(server.read(&out).1[2], HTTP[1]);
}

#[test]
fn a_head_longer_than_a_frame_is_continued() {
    let tokens = [Token { user: 1, token: "t".repeat(40_000) }];
    let mut requests = requests(BEARER, &tokens);
    let mut out = Vec::new();
    requests.write(0, &Ask::Pipeline, 5, &mut Encoder::default(), &mut out);
    let mut kinds = Vec::new();
    let mut block = Vec::new();
    let mut rest = &out[..];
    while let [_, a, b, kind, flags, 0, 0, 0, 5, ..] = *rest {
        let len = usize::from(a) << 8 | usize::from(b);
        kinds.push((kind, flags));
        block.extend_from_slice(&rest[9..9 + len]);
        rest = &rest[9 + len..];
    }
    assert!(rest.is_empty());
    assert_eq!(kinds, [(kind::HEADERS, 1), (9, 0), (9, 4)]);
    let (mut found, mut scratch) = <(Fields, Scratch)>::default();
    let table = &mut Table::new(TABLE);
    hpack::read(&block, table, TABLE, &mut scratch, &mut found).unwrap();
    assert_eq!(found.0[5].1.len(), "Bearer ".len() + 40_000);
}
