//! A request and its answer allocate nothing once a connection is warm: what
//! the gun spends on memory it takes from the server's share of the machine.

mod peer;
mod table;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use loadgen::desk::Desk;
use loadgen::plan::Plan;
use loadgen::session::{Http1, Http2, Session, WebSocket};
use peer::ws;
use profiles::ask::Ask;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

use table::{CRUD, STACK, Table, endless};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system allocator as it came. The count
// is a plain cell of the calling thread; touching it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Drives one connection without a socket, against what a server makes of all
/// that was sent to it; returns the right answers and the allocations of the
/// second half.
fn drive<S: Session>(
    definition: &str,
    mut answer_all: impl FnMut(&[u8], &mut Vec<u8>),
) -> (u64, u64) {
    let spec = peer::spec(definition, "127.0.0.1:1".parse().unwrap(), 1);
    let (_data, input) = peer::on_disk(&spec);
    let json = std::fs::read_to_string(input).unwrap();
    let plan = Plan::new(&json).unwrap();
    let mut desk = Desk::new(&plan, 0).unwrap();
    let mut kit = S::kit(&plan).unwrap();
    desk.books.open();
    let mut session = S::new(0);
    session.open(0, &mut desk, &mut kit).unwrap();
    let mut replies = Vec::new();
    let mut before = 0;
    for round in 0..201 {
        if round == 101 {
            before = COUNT.with(Cell::get);
        }
        // The first round is the handshake, if there is one.
        if round > 0 {
            session.fill(round, &mut desk, &mut kit);
        }
        let text = session.out().text().unwrap();
        let (n, asked) = (text.len(), COUNT.with(Cell::get));
        replies.clear();
        answer_all(text, &mut replies);
        // What the peer of this test allocates is not the gun's.
        before += COUNT.with(Cell::get) - asked;
        session.wrote(n, round, &mut desk);
        for piece in replies.chunks_mut(61) {
            let over = session.received(piece, round + 1, &mut desk, &mut kit);
            assert_eq!(over, None);
        }
    }
    let allocations = COUNT.with(Cell::get) - before;
    assert_eq!(desk.books.wrong_by.len(), 0, "{:?}", desk.books.examples);
    (desk.books.right, allocations)
}

/// The right answers to all requests in `text`, in plain heads.
fn http(text: &[u8], replies: &mut Vec<u8>) {
    requests(text, |request| {
        replies.extend_from_slice(peer::ok(&request.right()).as_bytes());
    });
}

/// The answers of a server that keeps rows.
fn rows() -> impl FnMut(&[u8], &mut Vec<u8>) {
    let mut table = Table::default();
    move |text, replies| {
        requests(text, |request| {
            let reply = table.reply(&request.head, &request.body);
            replies.extend_from_slice(reply.as_bytes());
        });
    }
}

fn requests(text: &[u8], mut each: impl FnMut(&peer::Request)) {
    let mut text = std::str::from_utf8(text).unwrap();
    while let Some((head, rest)) = text.split_once("\r\n\r\n") {
        let mut request = peer::Request {
            head: head.to_string(),
            body: Vec::new(),
            number: 0,
        };
        text = rest;
        if let Some((_, n)) = head.split_once("Content-Length: ") {
            let (body, rest) = text.split_at(n.parse().unwrap());
            request.body = body.into();
            text = rest;
        } else if head.contains("chunked") {
            let mut parts = text.splitn(3, "\r\n");
            request.body = parts.nth(1).unwrap().into();
            text = parts.next().unwrap().strip_prefix("0\r\n\r\n").unwrap();
        }
        each(&request);
    }
}

/// The echoes of all messages in `sent`, after the handshake; every fifth one
/// in two frames and behind a ping.
fn echoes(sent: &[u8], replies: &mut Vec<u8>) {
    if let Some(asked) = std::str::from_utf8(sent).ok()
        && asked.starts_with("GET ")
    {
        return replies.extend_from_slice(ws::switching(asked).as_bytes());
    }
    let messages = ws::read_all(sent).into_iter();
    let texts = messages.filter(|(first, _)| *first == 0x81);
    for (number, (_, payload)) in texts.enumerate() {
        if number % 5 > 0 {
            replies.extend_from_slice(&ws::text(&payload));
            continue;
        }
        let (a, b) = payload.split_at(payload.len() / 2);
        replies.extend_from_slice(&ws::frame(0x01, a));
        replies.extend_from_slice(&ws::ping(b"still there?"));
        replies.extend_from_slice(&ws::frame(0x80, b));
    }
}

/// The right answers to all HTTP/2 requests in `sent`. Their heads put a date
/// into the table now and then, and their bodies are cut.
fn frames(sent: &[u8], replies: &mut Vec<u8>) {
    let mut rest = sent.strip_prefix(PREFACE).unwrap_or(sent);
    let mut path = Vec::new();
    while let [a, b, c, kind, flags, d, e, f, g, ..] = *rest {
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes([d, e, f, g]);
        let payload = &rest[9..9 + len];
        rest = &rest[9 + len..];
        match kind {
            // SETTINGS: ours, and the answer to the client's.
            4 if flags == 0 => {
                replies.extend_from_slice(&frame(4, 0, 0, &[]));
                replies.extend_from_slice(&frame(4, 1, 0, &[]));
            }
            1 => {
                let at = payload.iter().position(|b| *b == 4).unwrap();
                let len = usize::from(payload[at + 1]);
                path = payload[at + 2..at + 2 + len].to_vec();
            }
            _ => {}
        }
        let end = flags & 1 != 0;
        match kind {
            1 if end => answer(stream, &path, None, replies),
            0 if end => answer(stream, &path, Some(payload), replies),
            _ => {}
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

fn answer(
    stream: u32,
    path: &[u8],
    body: Option<&[u8]>,
    replies: &mut Vec<u8>,
) {
    // Status 200, a content type that is not inserted.
    let mut head = vec![0x88, 0x0f, 0x10];
    if path.starts_with(b"/benchmark.BenchmarkService") {
        head.extend_from_slice(b"\x10application/grpc");
        replies.extend_from_slice(&frame(1, 4, stream, &head));
        let fields = peer_fields(&body.unwrap()[5..]);
        let count = if path.ends_with(b"/StreamSum") { fields[2] } else { 1 };
        let mut body = Vec::new();
        for i in 0..count {
            let ask = Ask::GrpcSum { a: fields[0] + fields[1] + i, b: 0 };
            ask.write_message(&mut body);
        }
        for part in body.chunks(1000) {
            replies.extend_from_slice(&frame(0, 0, stream, part));
        }
        let trailers = b"\x00\x0bgrpc-status\x010";
        replies.extend_from_slice(&frame(1, 5, stream, trailers));
        return;
    }
    head.extend_from_slice(b"\x0atext/plain");
    if stream % 7 == 1 {
        let date = format!("{stream:08}");
        head.extend_from_slice(&[0x61, date.len() as u8]);
        head.extend_from_slice(date.as_bytes());
    }
    let target = std::str::from_utf8(path).unwrap();
    let request = peer::Request {
        head: format!("GET {target} HTTP/1.1"),
        body: Vec::new(),
        number: 0,
    };
    let text = request.right();
    let length = text.len().to_string();
    head.extend_from_slice(&[0x0f, 0x0d, length.len() as u8]);
    head.extend_from_slice(length.as_bytes());
    replies.extend_from_slice(&frame(1, 4, stream, &head));
    replies.extend_from_slice(&frame(0, 0, stream, &text.as_bytes()[..1]));
    replies.extend_from_slice(&frame(0, 1, stream, &text.as_bytes()[1..]));
}

/// The varints of a message in the order of their fields.
fn peer_fields(message: &[u8]) -> [i32; 3] {
    let mut out = [0; 3];
    let mut bytes = message.iter();
    while let Some(tag) = bytes.next() {
        let mut shift = 0;
        for byte in bytes.by_ref() {
            out[usize::from(tag >> 3) - 1] |= i32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    out
}

#[test]
fn a_warm_connection_allocates_nothing() {
    // Operands of one length: a buffer may still grow for a longer request.
    let sixteen = |definition: &str| {
        definition
            .replace("in_flight = 100", "in_flight = 16")
            .replace("1-9999", "1000-9999")
    };
    let few = peer::STREAM.replace("4900-5100", "90-110");
    assert_eq!(drive::<Http2>(&sixteen(peer::H2C), frames), (3200, 0));
    assert_eq!(drive::<Http2>(&sixteen(peer::UNARY), frames), (3200, 0));
    assert_eq!(drive::<Http2>(&sixteen(&few), frames), (800, 0));

    assert_eq!(drive::<Http1>(peer::BASELINE, http), (200, 0));
    assert_eq!(drive::<Http1>(peer::PIPELINED, http), (3200, 0));
    assert_eq!(drive::<Http1>(&endless(CRUD), rows()), (200, 0));
    assert_eq!(drive::<Http1>(STACK, rows()), (200, 0));
    assert_eq!(drive::<WebSocket>(ws::ECHO, echoes), (200, 0));
    assert_eq!(drive::<WebSocket>(ws::ECHOES, echoes), (3200, 0));
    let long = ws::ECHOES.replace("4B-8B", "1KiB-2KiB");
    assert_eq!(drive::<WebSocket>(&long, echoes), (3200, 0));
}
