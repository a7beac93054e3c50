//! Answers in whatever pieces they come, and bytes that are no HTTP/2.

use loadgen::books::Books;
use loadgen::session::{Over, Session as _};

use crate::talk::*;

/// Answers to streams 1 to 15 in all the ways a server may lay them out.
fn fixture() -> Vec<u8> {
    let head = block(&HEAD);
    let padded = [&[3][..], b"ok", &[0; 3]].concat();
    let both = [&[2, 0, 0, 0, 0, 9][..], &head, &[0; 2]].concat();
    let quick = [&[0x88, 0x0f, 0x10, 10][..], b"text/plain"].concat();
    [
        ok(1),
        // In several blocks and pieces, beside frames of no interest.
        frame(HEADERS, 0, 3, &head[..5]),
        frame(CONTINUATION, 0, 3, &head[5..6]),
        frame(CONTINUATION, 0, 3, &[]),
        frame(CONTINUATION, WHOLE, 3, &head[6..]),
        frame(PRIORITY, 0, 99, &[0; 5]),
        frame(DATA, 0, 3, b"o"),
        frame(0xfa, 0xff, 3, b"of no known kind"),
        frame(DATA, 0, 3, b""),
        frame(DATA, 0, 3, b"k"),
        frame(DATA, END, 3, b""),
        // Padded, weighted, of two streams in turn.
        frame(HEADERS, WHOLE | PADDED | WEIGHTED, 7, &both),
        frame(PING, 0, 0, b"whatever"),
        headers(5, 0, &HEAD),
        frame(DATA, PADDED, 5, &[4, 0, 0, 0, 0]),
        frame(DATA, PADDED | END, 7, &padded),
        frame(DATA, PADDED | END, 5, &padded),
        // Informational heads before, trailers behind.
        headers(9, 0, &[(":status", "103"), ("link", "x")]),
        headers(9, 0, &[(":status", "100")]),
        headers(9, 0, &HEAD),
        frame(DATA, 0, 9, b"ok"),
        headers(9, END, &[("x-took", "1")]),
        // No length, a static status, more settings.
        frame(HEADERS, WHOLE, 11, &quick),
        settings(&[(3, 100), (4, 1000), (5, 16_384), (6, 9), (99, 1)]),
        frame(DATA, END, 11, b"ok"),
        // Wrong ones: a status, and a body.
        headers(13, END, &[(":status", "404")]),
        frame(HEADERS, WHOLE, 15, &quick),
        frame(DATA, END, 15, b"no"),
    ]
    .concat()
}

/// The books and what was answered to the server.
fn heard(feed: impl FnOnce(&mut Talk)) -> (Books, Vec<Frame>) {
    let mut talk = Talk::new(&plain(8));
    assert_eq!(talk.ask().len(), 8);
    feed(&mut talk);
    let said = frames(&talk.send());
    (talk.close(), said)
}

#[track_caller]
fn same(found: (Books, Vec<Frame>)) {
    let (books, said) = found;
    assert_eq!((books.sent, books.right), (8, 6), "{books:?}");
    assert_eq!(books.wrong_by["status"], 1);
    assert_eq!(books.wrong_by["body"], 1);
    assert_eq!((books.statuses[200], books.statuses[404]), (7, 1));
    assert_eq!(books.right_body_bytes, 12);
    assert_eq!(books.surplus + books.unanswered_age.count(), 0);
    let kinds: Vec<u8> = said.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [PING, SETTINGS]);
    assert_eq!((said[0].flags, &said[0].payload[..]), (ACK, &b"whatever"[..]));
}

#[test]
fn answers_cut_anywhere_give_the_same_books() {
    let bytes = fixture();
    for step in 1..20 {
        same(heard(|talk| assert_eq!(talk.hear_by(&bytes, step), None)));
    }
    for cut in 0..=bytes.len() {
        same(heard(|talk| {
            assert_eq!(talk.hear(&bytes[..cut]), None);
            assert_eq!(talk.hear(&bytes[cut..]), None);
        }));
    }
}

/// Wherever a connection is lost, every request ends once.
#[test]
fn a_connection_closed_anywhere_closes_the_books() {
    let bytes = fixture();
    for cut in 0..bytes.len() {
        let (books, _) = heard(|talk| {
            assert_eq!(talk.hear(&bytes[..cut]), None);
            let over = talk.closed();
            assert_eq!(over, Over::Closed);
            talk.end(over);
        });
        let faults: u64 = books.faults.values().sum();
        assert!(faults > 0 && faults <= 8, "{cut}: {books:?}");
        assert_eq!(books.sent, 8);
    }
}

/// What breaks the connection, whatever is in flight. The requests are on
/// streams 1 and 3; the answer to 1 has begun.
fn broken() -> Vec<(&'static str, Vec<u8>)> {
    let giant = vec![0; 16_384];
    let mut long = frame(0xfa, 0, 0, &[]);
    long[..3].copy_from_slice(&[0, 0x40, 1]);
    let endless = |kind: u8| {
        let mut all = frame(HEADERS, 0, 1, &[]);
        for _ in 0..99 {
            all.extend(frame(kind, 0, 1, &[]));
        }
        all
    };
    let mut big = frame(HEADERS, 0, 3, &giant);
    for _ in 0..4 {
        big.extend(frame(CONTINUATION, 0, 3, &giant));
    }
    vec![
        ("longer than was agreed", long),
        ("stream 0", frame(DATA, 0, 0, b"x")),
        ("not a client's", headers(0, 0, &HEAD)),
        ("not a client's", headers(2, 0, &HEAD)),
        ("not a client's", frame(DATA, 0, 4, b"x")),
        ("all padding", frame(DATA, PADDED, 1, &[2, 0])),
        ("too short", frame(DATA, PADDED, 1, &[])),
        ("too short", frame(HEADERS, PADDED | WHOLE, 3, &[])),
        ("too short", frame(HEADERS, WEIGHTED | WHOLE, 3, &[0; 4])),
        ("all padding", frame(HEADERS, PADDED | WHOLE, 3, &[1])),
        ("interrupted", endless(DATA)),
        ("interrupted", endless(PING)),
        ("interrupted", endless(HEADERS)),
        ("interrupted", endless(0xfa)),
        ("longer than 65536", endless(CONTINUATION)),
        ("longer than 65536", big),
        ("of nothing", frame(CONTINUATION, WHOLE, 1, &[])),
        (
            "of nothing",
            [frame(HEADERS, 0, 3, &[]), frame(CONTINUATION, WHOLE, 1, &[])]
                .concat(),
        ),
        ("outside its tables", frame(HEADERS, WHOLE, 3, &[0xbe])),
        ("cut off", frame(HEADERS, WHOLE, 3, &[0x88, 0x00, 5])),
        ("resized", frame(HEADERS, WHOLE, 3, &[0x88, 0x20])),
        ("Huffman", frame(HEADERS, WHOLE, 3, &[0x04, 0x81, 0])),
        ("outside its tables", frame(HEADERS, WHOLE, 99, &[0xbe])),
        ("pushes", frame(PUSH_PROMISE, WHOLE, 1, &[0, 0, 0, 2])),
        ("wrong size", frame(SETTINGS, 0, 0, &[0; 5])),
        ("wrong size", frame(SETTINGS, ACK, 0, &[0; 6])),
        ("on a stream", frame(SETTINGS, 0, 1, &[])),
        ("ENABLE_PUSH", settings(&[(2, 1)])),
        ("too large", settings(&[(4, 1 << 31)])),
        ("bounds", settings(&[(5, 16_383)])),
        ("bounds", settings(&[(5, 1 << 24)])),
        ("wrong size", frame(PING, 0, 0, &[0; 7])),
        ("on a stream", frame(PING, 0, 1, &[0; 8])),
        ("wrong size", frame(GOAWAY, 0, 0, &[0; 7])),
        ("wrong size", frame(GOAWAY, 0, 0, &[0; 3])),
        ("on a stream", frame(GOAWAY, 0, 1, &[0; 8])),
        ("wrong size", frame(RST_STREAM, 0, 1, &[0; 3])),
        ("never opened", number(RST_STREAM, 0, 8)),
        ("never opened", number(RST_STREAM, 99, 8)),
        ("never opened", number(WINDOW_UPDATE, 99, 8)),
        ("wrong size", frame(WINDOW_UPDATE, 0, 0, &[0; 5])),
        ("by nothing", number(WINDOW_UPDATE, 0, 0)),
        ("too much", number(WINDOW_UPDATE, 0, 0x7fff_ffff)),
        ("wrong size", frame(PRIORITY, 0, 1, &[0; 4])),
    ]
}

#[test]
fn what_breaks_a_connection_is_broken_at_once_and_not_awaited() {
    for (words, bytes) in broken() {
        for step in [1, 3, bytes.len()] {
            let mut talk = Talk::new(&plain(2));
            talk.ask();
            talk.hear(&headers(1, 0, &HEAD));
            let over = talk.hear_by(&bytes, step);
            let Some(Over::Broken(why)) = over else {
                panic!("{words}: {over:?}");
            };
            assert!(why.to_string().contains(words), "{words}: {why}");
            talk.end(over.unwrap());
            let books = talk.close();
            assert_eq!((books.sent, books.faults.len()), (2, 1));
        }
    }
}

#[test]
fn a_server_of_another_protocol_is_named() {
    for (words, bytes) in [
        ("HTTP/1", &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]),
        ("not SETTINGS", b"SSH-2.0-OpenSSH_9.2p1\r\n"),
        ("not SETTINGS", &frame(PING, 0, 0, &[0; 8])),
        ("not SETTINGS", &frame(SETTINGS, ACK, 0, &[])),
        ("not SETTINGS", &goaway(0, 0)),
    ] {
        for step in [1, bytes.len()] {
            let mut talk = Talk::connected(&plain(2));
            let over = talk.hear_by(bytes, step);
            assert!(!talk.session.is_ready());
            let Some(Over::Broken(why)) = over else { panic!("{over:?}") };
            assert!(why.to_string().contains(words), "{words}: {why}");
            assert_eq!(talk.close().sent, 0);
        }
    }
}
