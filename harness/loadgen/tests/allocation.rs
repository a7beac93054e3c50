//! A request and its answer allocate nothing once a connection is warm: what
//! the gun spends on memory it takes from the server's share of the machine.

mod peer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use loadgen::desk::Desk;
use loadgen::plan::Plan;
use loadgen::session::{Http1, Session};

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

/// Drives one connection without a socket; returns the right answers and the
/// allocations of the second half.
fn drive(definition: &str) -> (u64, u64) {
    let spec = peer::spec(definition, "127.0.0.1:1".parse().unwrap(), 1);
    let (_data, input) = peer::on_disk(&spec);
    let json = std::fs::read_to_string(input).unwrap();
    let plan = Plan::new(&json).unwrap();
    let mut desk = Desk::new(&plan, 0).unwrap();
    let mut kit = Http1::kit(&plan).unwrap();
    desk.books.open();
    let mut session = Http1::new(0);
    let mut replies = Vec::new();
    let mut before = 0;
    for round in 0..200 {
        if round == 100 {
            before = COUNT.with(Cell::get);
        }
        session.fill(round, &mut desk, &mut kit);
        let text = session.out().text().unwrap();
        let (n, asked) = (text.len(), COUNT.with(Cell::get));
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
fn answer_all(text: &[u8], replies: &mut Vec<u8>) {
    replies.clear();
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
        replies.extend_from_slice(peer::ok(&request.right()).as_bytes());
    }
}

#[test]
fn a_warm_connection_allocates_nothing() {
    assert_eq!(drive(peer::BASELINE), (200, 0));
    assert_eq!(drive(peer::PIPELINED), (3200, 0));
}
