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
#![allow(dead_code, unused_imports)]

mod spoken;

use std::collections::BTreeMap;

use loadgen::books::Books;
use loadgen::desk::Desk;
use loadgen::session::{Over, Session};
use profiles::rng::Rng;

use spoken::SEED;
pub use spoken::{Grpc, H1, H2, Spoken, Ws};

/// Stands for the right answer to the next request.
pub const RIGHT: u8 = 0xfe;
/// Stands for the byte behind it.
pub const LITERAL: u8 = 0xff;
/// Nothing is late within one run.
const NOW: u64 = 2;

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
        self.desk.lanes[0].rng = Rng::new(SEED, 0);
        self.desk.rng = Rng::new(SEED, 1);
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
