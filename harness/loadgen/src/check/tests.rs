use super::*;
use crate::wire::{Memo, Reader, Sink, Step};
use profiles::data::Dataset;
use profiles::profile::Framing;

struct Ear<'a>(&'a Checker, &'a mut Watch, &'a Ask);

impl Sink for Ear<'_> {
    fn head(&mut self, head: &Head<'_>) -> Result<(), Why> {
        self.0.head(self.1, 0, self.2, head)
    }
    fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        self.1.body(bytes)
    }
}

fn checker() -> Checker {
    let oracle = Oracle::new(Dataset::generate(), |_| None);
    Checker::new(Arc::new(oracle), 1, Arc::new(Shelf::new(1 << 20)))
}

/// What the checker says of `reply`, fed in pieces of `size`; `None` is
/// a broken stream.
fn ask(
    checker: &mut Checker,
    ask: &Ask,
    reply: &str,
    size: usize,
) -> Option<Result<(), &'static str>> {
    let (mut reader, mut watch) = (Reader::default(), Watch::default());
    for piece in reply.as_bytes().chunks(size) {
        let mut ear = Ear(checker, &mut watch, ask);
        match reader.feed(piece, &mut Memo::default(), &mut ear).1 {
            Step::Incomplete => {}
            Step::Broken(_) => return None,
            Step::Done(answer) => {
                let said = checker.finish(&mut watch, 0, ask, &answer);
                return Some(said.map_err(|w| w.word()));
            }
        }
    }
    unreachable!("the reply is cut short: {reply:?}")
}

fn reply(kind: &str, body: &str) -> String {
    let n = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\
         Content-Length: {n}\r\n\r\n{body}"
    )
}

fn sum(a: i64, b: i64) -> Ask {
    Ask::Sum { path: "/p".into(), a, b, body: Some((1, Framing::Length)) }
}

#[test]
fn the_exact_text_is_the_oracles() {
    let checker = checker();
    let upload = Ask::Upload { offset: 3, len: 77, framing: Framing::Chunked };
    for ask in [sum(1, 2), sum(i64::MAX, 5), Ask::Pipeline, upload] {
        let watch = Watch { text: Text::of(&ask), ..Watch::default() };
        let exact = checker.oracle.exact(&ask).unwrap();
        assert_eq!(watch.like(), exact.as_bytes());
    }
}

#[test]
fn one_judgement_and_then_only_comparisons() {
    let mut checker = checker();
    for n in 0..50 {
        let right = reply("text/plain", &(n + 3).to_string());
        let said = ask(&mut checker, &sum(n, 2), &right, 1 + n as usize);
        assert_eq!(said, Some(Ok(())));
    }
    assert_eq!(checker.judged, 1);
}

#[test]
fn every_difference_is_seen_with_and_without_a_memory() {
    let mut checker = checker();
    for _ in 0..2 {
        for size in [1, 7, 4096] {
            let mut says = |kind: &str, body: &str| {
                ask(&mut checker, &sum(20, 21), &reply(kind, body), size)
            };
            assert_eq!(says("text/plain", "43"), Some(Err("body")));
            assert_eq!(says("text/plain", "4"), Some(Err("body")));
            assert_eq!(says("text/plain", "422"), Some(Err("body")));
            assert_eq!(says("text/plain", ""), Some(Err("body")));
            assert_eq!(says("text/html", "42"), Some(Err("content-type")));
            assert_eq!(says("text/plain", "42"), Some(Ok(())));
            assert_eq!(says("text/plain;charset=utf-8", "42"), Some(Ok(())));
            assert_eq!(says("text/plain", &"4".repeat(5000)), None);
            let not_found = reply("text/plain", "42").replace("200", "404");
            let said = ask(&mut checker, &sum(20, 21), &not_found, size);
            assert_eq!(said, Some(Err("status")));
        }
    }
}

#[test]
fn without_room_to_remember_every_answer_is_judged() {
    let mut checker = checker();
    checker.shelf = Arc::new(Shelf::new(3));
    let body = reply("application/json", r#"{"items":[],"count":0}"#);
    for n in 1..4 {
        let said = ask(&mut checker, &none(), &body, 5);
        assert_eq!((said, checker.judged), (Some(Ok(())), n));
    }
    assert_eq!(checker.varied, 0);
}

fn none() -> Ask {
    Ask::Json {
        path: "/json/".into(),
        count: 0,
        multiplier: None,
        accept_encoding: None,
        must_encode: false,
    }
}

#[test]
fn another_legal_layout_is_judged_and_then_remembered() {
    let mut checker = checker();
    let mut says = |body: &str, size| {
        let said =
            ask(&mut checker, &none(), &reply("application/json", body), size);
        (said, checker.judged)
    };
    let (a, b) = (r#"{"items":[],"count":0}"#, r#"{"count":0, "items":[]}"#);
    assert_eq!(says(a, 5), (Some(Ok(())), 1));
    assert_eq!(says(a, 99), (Some(Ok(())), 1));
    assert_eq!(says(b, 3), (Some(Ok(())), 2));
    assert_eq!(says(b, 1), (Some(Ok(())), 2));
    let wrong = b.replace('0', "1");
    assert_eq!(says(&wrong, 4), (Some(Err("body")), 3));
    assert_eq!(says(b, 4), (Some(Ok(())), 3));
}

#[test]
fn what_one_thread_judged_the_others_only_compare() {
    let mut one = checker();
    let mut two = Checker::new(one.oracle.clone(), 1, Arc::clone(&one.shelf));
    let a = reply("application/json", r#"{"items":[],"count":0}"#);
    let b = reply("application/json", r#"{"count":0,"items":[]}"#);
    let mut says = |which: usize, body: &str| {
        let checker = if which == 0 { &mut one } else { &mut two };
        let said = ask(checker, &none(), body, 7);
        (said == Some(Ok(())), checker.judged, checker.varied)
    };
    assert_eq!(says(0, &a), (true, 1, 0));
    assert_eq!(says(1, &a), (true, 0, 0));
    assert_eq!(says(1, &b), (true, 1, 1));
    assert_eq!(says(0, &b), (true, 1, 0));
    // Another status is never right, whatever the body.
    let wrong = b.replace("200", "201");
    assert_eq!(says(0, &wrong), (false, 2, 0));
    let wrong = b.replace("json", "xml");
    assert_eq!(says(1, &wrong), (false, 2, 1));
}
