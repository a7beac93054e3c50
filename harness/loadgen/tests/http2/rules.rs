//! How requests end: right, wrong, or in a fault of their own while the
//! others on the connection live on.

use loadgen::session::Over;
use profiles::sample::Fault;

use crate::talk::*;

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const REFUSED: u32 = 7;
const CANCEL: u32 = 8;

/// Frames on stream 3, between two others, that are the fault of that stream
/// alone: it is reset so, and counted so.
#[track_caller]
fn only_its_own(code: u32, words: &str, bytes: &[u8]) {
    for step in [1, bytes.len()] {
        let mut talk = Talk::new(&plain(3));
        talk.ask();
        assert_eq!(talk.hear_by(bytes, step), None, "{words}");
        assert_eq!(talk.fault(Fault::Malformed), 1, "{words}");
        let example = &talk.desk.books.examples[0];
        assert!(example.contains(words), "{words}: {example}");
        let said = frames(&talk.send());
        assert_eq!((said[0].kind, said[0].stream), (RST_STREAM, 3));
        assert_eq!((said[0].number(), said.len()), (code, 1), "{words}");
        // What still comes of it is not looked at.
        assert_eq!(talk.hear(&ok(3)), None);
        assert_eq!(talk.hear(&number(RST_STREAM, 3, 1)), None);
        assert_eq!(talk.hear(&number(WINDOW_UPDATE, 3, 1)), None);
        assert_eq!(talk.hear(&[ok(5), ok(1)].concat()), None);
        assert_eq!(talk.ask().len(), 3);
        let books = talk.close();
        assert_eq!((books.sent, books.right), (6, 2), "{words}");
        assert_eq!(books.surplus, 0);
    }
}

#[test]
fn a_malformed_answer_is_the_fault_of_its_stream() {
    let head = |fields: &[(&str, &str)]| {
        let mut all = HEAD.to_vec();
        all.extend_from_slice(fields);
        headers(3, 0, &all)
    };
    let then = |first: Vec<u8>, next: Vec<u8>| [first, next].concat();
    let begun = || headers(3, 0, &HEAD);
    for (words, bytes) in [
        ("without a head", frame(DATA, END, 3, b"ok")),
        ("no :status", headers(3, 0, &[("content-type", "text/plain")])),
        ("no status code", headers(3, 0, &[(":status", "OK")])),
        ("status code", headers(3, 0, &[(":status", "099")])),
        ("behind", headers(3, 0, &[("x", "y"), (":status", "200")])),
        ("twice", head(&[("content-type", "text/plain")])),
        ("behind", head(&[(":status", "200")])),
        ("none of an answer's", head(&[(":path", "/")])),
        ("name is none", head(&[("X-Upper", "y")])),
        ("name is none", head(&[("x y", "")])),
        ("forbidden", head(&[("x", "a\nb")])),
        ("forbidden", head(&[("x", " y")])),
        ("connection", head(&[("connection", "close")])),
        ("connection", head(&[("transfer-encoding", "chunked")])),
        ("two of them", head(&[("content-length", "3")])),
        (
            "no number",
            headers(3, 0, &[(":status", "200"), ("content-length", "x")]),
        ),
        ("101", headers(3, 0, &[(":status", "101")])),
        ("informational", headers(3, END, &[(":status", "103")])),
        ("shorter", headers(3, END, &HEAD)),
        ("shorter", then(begun(), frame(DATA, END, 3, b"o"))),
        ("longer", then(begun(), frame(DATA, 0, 3, b"ok."))),
        ("second head", then(begun(), begun())),
        ("has a :status", then(begun(), headers(3, END, &HEAD))),
        ("name is none", then(begun(), headers(3, END, &[("X", "y")]))),
        (
            "longer",
            then(
                headers(3, 0, &[(":status", "204")]),
                frame(DATA, END, 3, b"x"),
            ),
        ),
        (
            "longer",
            then(
                headers(3, 0, &[(":status", "304"), ("content-length", "1")]),
                frame(DATA, END, 3, b"x"),
            ),
        ),
        ("by nothing", number(WINDOW_UPDATE, 3, 0)),
        (
            "longer than any",
            headers(3, 0, &[(":status", "200"), ("content-length", "9999999")]),
        ),
    ] {
        only_its_own(PROTOCOL_ERROR, words, &bytes);
    }
    let much = number(WINDOW_UPDATE, 3, 0x7fff_ffff);
    only_its_own(FLOW_CONTROL_ERROR, "too much", &much);
}

#[test]
fn a_reset_stream_is_a_reset_whatever_came_of_its_answer() {
    let head = headers(3, 0, &HEAD);
    for first in
        [vec![], head.clone(), [head, frame(DATA, 0, 3, b"ok")].concat()]
    {
        for code in [0, 2, 8, 0xffff] {
            let mut talk = Talk::new(&plain(3));
            talk.ask();
            talk.hear(&first);
            assert_eq!(talk.hear(&number(RST_STREAM, 3, code)), None);
            assert_eq!(talk.fault(Fault::Reset), 1);
            assert!(talk.desk.books.examples[0].contains("RST_STREAM"));
            assert_eq!(talk.hear(&[ok(1), ok(5)].concat()), None);
            let books = talk.close();
            assert_eq!((books.sent, books.right), (3, 2));
        }
    }
    // Refused in mid-answer is no refusal.
    let mut talk = Talk::new(&plain(1));
    talk.ask();
    talk.hear(&headers(1, 0, &HEAD));
    talk.hear(&number(RST_STREAM, 1, REFUSED));
    assert_eq!(talk.fault(Fault::Reset), 1);
    assert_eq!(talk.close().retried, 0);
}

#[test]
fn a_reset_behind_a_complete_answer_changes_nothing() {
    let mut talk = Talk::new(&plain(1));
    talk.ask();
    assert_eq!(talk.hear(&[ok(1), number(RST_STREAM, 1, 0)].concat()), None);
    assert_eq!(talk.ask().len(), 1);
    assert_eq!(talk.close().right, 1);
}

#[test]
fn a_refused_stream_goes_out_again_but_not_for_ever() {
    let mut talk = Talk::new(&plain(1));
    let mut stream = 1;
    for _ in 0..3 {
        assert_eq!(talk.ask()[0].stream, stream);
        assert_eq!(talk.hear(&number(RST_STREAM, stream, REFUSED)), None);
        stream += 2;
    }
    assert_eq!((talk.desk.books.sent, talk.desk.books.retried), (1, 3));
    assert_eq!(talk.ask()[0].stream, stream);
    let mut right = Talk::new(&plain(1));
    right.ask();
    right.hear(&number(RST_STREAM, 1, REFUSED));
    right.ask();
    assert_eq!(right.hear(&ok(3)), None);
    let books = right.close();
    assert_eq!((books.sent, books.right, books.retried), (1, 1, 1));
    talk.hear(&number(RST_STREAM, stream, REFUSED));
    assert_eq!(talk.fault(Fault::Refused), 1);
    assert_eq!(talk.close().sent, 1);
}

#[test]
fn streams_a_goaway_leaves_out_go_again_and_the_others_finish() {
    let mut talk = Talk::new(&plain(4));
    talk.ask();
    assert_eq!(talk.hear(&goaway(0x7fff_ffff, 0)), None);
    assert!(talk.ask().is_empty(), "nothing new after a GOAWAY");
    assert_eq!(talk.hear(&ok(1)), None);
    assert_eq!(talk.hear(&goaway(3, 0)), None);
    assert!(talk.ask().is_empty());
    // A server that answers what it had given up is not listened to.
    assert_eq!(talk.hear(&ok(5)), None);
    assert_eq!(talk.hear(&ok(3)), Some(Over::Announced));
    talk.end(Over::Announced);
    assert_eq!(talk.desk.books.retried, 2);
    talk.open();
    talk.hear(&settings(&[]));
    talk.send();
    let again: Vec<u32> = talk.ask().iter().map(|f| f.stream).collect();
    assert_eq!(again, [1, 3, 5, 7]);
    let all = [ok(1), ok(3), ok(5), ok(7)].concat();
    assert_eq!(talk.hear(&all), None);
    let books = talk.close();
    assert_eq!((books.sent, books.right), (6, 6));
}

#[test]
fn a_goaway_of_an_idle_connection_ends_it_at_once() {
    let mut talk = Talk::new(&plain(4));
    assert_eq!(talk.hear(&goaway(0, 0)), Some(Over::Announced));
    talk.end(Over::Announced);
    assert_eq!(talk.close().sent, 0);
}

#[test]
fn requests_lost_after_a_goaway_say_so() {
    let mut talk = Talk::new(&plain(2));
    talk.ask();
    assert_eq!(talk.hear(&goaway(3, 11)), None);
    let over = talk.closed();
    talk.end(over);
    assert_eq!(talk.fault(Fault::Closed), 2);
    let example = &talk.desk.books.examples[0];
    assert!(example.contains("ENHANCE_YOUR_CALM"), "{example}");
    talk.close();
}

#[test]
fn a_forgotten_end_is_torn_when_the_server_goes_and_no_answer_before() {
    let mut talk = Talk::new(&plain(3));
    talk.ask();
    let whole = [headers(1, 0, &HEAD), frame(DATA, 0, 1, b"ok")].concat();
    assert_eq!(talk.hear(&whole), None);
    assert_eq!(talk.hear(&ok(3)), None);
    assert_eq!(talk.desk.books.right, 1);
    let over = talk.closed();
    talk.end(over);
    assert_eq!(talk.fault(Fault::Torn), 1);
    assert_eq!(talk.fault(Fault::Closed), 1);
    talk.close();
}

#[test]
fn answers_nothing_had_asked_for_are_surplus() {
    for (asked, bytes) in [
        (1, [ok(1), ok(1)].concat()),
        (1, [ok(1), frame(DATA, END, 1, b"")].concat()),
        (1, [ok(1), ok(9)].concat()),
        (0, headers(1, 0, &HEAD)),
    ] {
        for step in [1, bytes.len()] {
            let mut talk = Talk::new(&plain(2));
            if asked > 0 {
                talk.ask();
            }
            assert_eq!(talk.hear_by(&bytes, step), Some(Over::Surplus));
            talk.end(Over::Surplus);
            assert_eq!(talk.fault(Fault::Surplus), asked);
            let books = talk.close();
            assert_eq!((books.sent, books.right), (2 * asked, asked));
            assert_eq!(books.surplus, 1);
        }
    }
}

#[test]
fn an_answer_to_a_request_that_is_still_queued_is_surplus() {
    let mut talk = Talk::new(&plain(1));
    talk.fill();
    assert_eq!(talk.hear(&ok(1)), Some(Over::Surplus));
    talk.end(Over::Surplus);
    assert_eq!(talk.close().sent, 0, "it was never asked");
}

#[test]
fn an_early_success_is_surplus_and_an_early_error_is_wrong() {
    let class = "ask = \"sum\"\npath = \"/s\"\noperands = \"5\"\n\
                 body = \"length\"";
    let definition = profile("http2-cleartext", 2, class);
    for (status, wrong, surplus) in [("200", 0, 1), ("413", 1, 0)] {
        // No window: the heads go out, the bodies wait.
        let mut talk = Talk::with(&definition, &[(4, 0)]);
        let said = talk.ask();
        assert_eq!(said.len(), 2);
        assert!(said.iter().all(|f| f.kind == HEADERS && f.flags == WHOLE));
        let fields = [(":status", status), ("content-type", "text/plain")];
        let head = headers(1, 0, &fields);
        let answer = [head, frame(DATA, END, 1, b"15")].concat();
        assert_eq!(talk.hear(&answer), None);
        let said = frames(&talk.send());
        assert_eq!((said[0].kind, said[0].stream), (RST_STREAM, 1));
        assert_eq!((said[0].number(), said.len()), (CANCEL, 1));
        assert_eq!(talk.fault(Fault::Surplus), surplus);
        // The other one gets its window, sends, and is answered.
        assert_eq!(talk.hear(&number(WINDOW_UPDATE, 3, 1)), None);
        let said = frames(&talk.send());
        assert_eq!((said[0].kind, said[0].flags), (DATA, END));
        assert_eq!((said[0].stream, &said[0].payload[..]), (3, &b"5"[..]));
        let head = headers(3, 0, &[(":status", "200"), fields[1]]);
        let answer = [head, frame(DATA, END, 3, b"15")].concat();
        assert_eq!(talk.hear(&answer), None);
        let books = talk.close();
        assert_eq!((books.sent, books.right), (2, 1));
        assert_eq!(books.wrong_by.values().sum::<u64>(), wrong);
        assert_eq!(books.surplus, surplus);
    }
}

#[test]
fn a_request_that_waits_too_long_is_cancelled_and_the_others_live_on() {
    let mut talk = Talk::new(&plain(3));
    talk.ask();
    talk.now += 3_000 * MS;
    assert_eq!(talk.hear(&[ok(1), ok(5)].concat()), None);
    talk.ask();
    talk.hear(&headers(3, 0, &HEAD));
    talk.now += 3_000 * MS;
    assert_eq!(talk.expire(), None);
    let said = frames(&talk.send());
    assert_eq!((said[0].kind, said[0].stream), (RST_STREAM, 3));
    assert_eq!((said[0].number(), said.len()), (CANCEL, 1));
    assert_eq!(talk.desk.books.timed_out, 1);
    // The rest of the late answer, then those to the others.
    assert_eq!(talk.hear(&frame(DATA, END, 3, b"ok")), None);
    assert_eq!(talk.hear(&ok(7)), None);
    let books = talk.close();
    assert_eq!((books.sent, books.right, books.surplus), (5, 3, 0));
}

#[test]
fn the_client_goes_after_as_many_requests_as_the_profile_says() {
    let mut talk = Talk::new(&limited(3, 5));
    assert_eq!(talk.ask().len(), 3);
    talk.hear(&[ok(1), number(RST_STREAM, 3, REFUSED)].concat());
    // The refused one does not count.
    assert_eq!(talk.ask().len(), 2);
    talk.hear(&[ok(5), number(RST_STREAM, 7, 2)].concat());
    assert_eq!(talk.ask().len(), 1);
    assert_eq!(talk.hear(&ok(9)), None);
    assert!(talk.ask().is_empty());
    assert_eq!(talk.hear(&ok(11)), Some(Over::Enough));
    talk.end(Over::Enough);
    let books = talk.close();
    assert_eq!((books.sent, books.right, books.retried), (5, 4, 1));
}
