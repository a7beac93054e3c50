//! What each side lets the other do.

use loadgen::session::{Over, Session as _};
use profiles::sample::Fault;

use crate::peer;
use crate::talk::*;

const HEADER_TABLE_SIZE: u16 = 1;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// `POST` with a body of four digits.
fn bodies(in_flight: u32) -> String {
    let class = "ask = \"sum\"\npath = \"/s\"\noperands = \"1000\"\n\
                 body = \"chunked\"";
    profile("http2-cleartext", in_flight, class)
}

/// Body bytes the client sent on `stream`.
fn sent(said: &[Frame], stream: u32) -> usize {
    let of = |f: &&Frame| f.kind == DATA && f.stream == stream;
    said.iter().filter(of).map(|f| f.payload.len()).sum()
}

fn ended(said: &[Frame], stream: u32) -> bool {
    said.iter().any(|f| f.stream == stream && f.kind == DATA && f.flags == END)
}

#[test]
fn no_more_streams_are_open_than_the_server_takes() {
    let mut talk = Talk::with(&plain(8), &[(MAX_CONCURRENT_STREAMS, 2)]);
    assert_eq!(talk.ask().len(), 2);
    assert_eq!(talk.hear(&ok(3)), None);
    assert_eq!(talk.ask().len(), 1);
    // More, then less than are open, then none.
    talk.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 5)]));
    assert_eq!(talk.ask().len(), 1 + 3);
    talk.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 2)]));
    talk.hear(&[ok(1), ok(5), ok(7)].concat());
    assert_eq!(talk.ask().len(), 1);
    talk.hear(&ok(9));
    assert_eq!(talk.ask().len(), 1);
    talk.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 0)]));
    talk.hear(&[ok(11), ok(13)].concat());
    assert_eq!(talk.ask().len(), 1, "only the acknowledgement");
    assert!(talk.session.is_idle() && !talk.session.has_room(&talk.desk));
    talk.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 100)]));
    assert_eq!(talk.ask().len(), 1 + 8);
    assert_eq!(talk.close().right, 7);
}

#[test]
fn no_stream_is_opened_before_the_server_has_spoken() {
    let mut talk = Talk::connected(&plain(8));
    assert!(!talk.session.has_room(&talk.desk));
    talk.fill();
    assert!(talk.session.out().is_empty());
    talk.hear(&settings(&[(MAX_CONCURRENT_STREAMS, 0)]));
    assert!(talk.session.is_ready());
    assert_eq!(talk.ask().len(), 1);
    talk.close();
}

#[test]
fn bodies_wait_for_the_stream_and_for_the_connection() {
    let mut talk = Talk::with(&bodies(3), &[(INITIAL_WINDOW_SIZE, 3)]);
    let said = talk.ask();
    for stream in [1, 3, 5] {
        assert_eq!(sent(&said, stream), 3);
        assert!(!ended(&said, stream));
    }
    talk.hear(&number(WINDOW_UPDATE, 3, 9));
    let said = frames(&talk.send());
    assert_eq!((sent(&said, 3), ended(&said, 3), said.len()), (1, true, 1));
    // Below zero: 3 were sent of 1, so 2 more let nothing through.
    talk.hear(&settings(&[(INITIAL_WINDOW_SIZE, 1)]));
    talk.hear(&number(WINDOW_UPDATE, 1, 2));
    assert_eq!(frames(&talk.send()).len(), 1);
    talk.hear(&number(WINDOW_UPDATE, 1, 1));
    let said = frames(&talk.send());
    assert_eq!((sent(&said, 1), ended(&said, 1)), (1, true));
    // A larger first window counts for streams that are open.
    talk.hear(&settings(&[(INITIAL_WINDOW_SIZE, 4)]));
    let said = frames(&talk.send());
    assert_eq!((sent(&said, 5), ended(&said, 5)), (1, true));
    talk.close();
}

#[test]
fn the_connection_is_starved_and_let_on_in_turn() {
    let mut talk = Talk::with(&bodies(4096), &[]);
    let mut total = 0;
    // 65,535 bytes are let through, four a request.
    let mut rounds = 0;
    loop {
        let said = talk.ask();
        let now: usize = said
            .iter()
            .filter(|f| f.kind == DATA)
            .map(|f| f.payload.len())
            .sum();
        total += now;
        rounds += 1;
        if now == 0 {
            break;
        }
        // Answered before they were read in full those are surplus; so only
        // those that were.
        for frame in said.iter().filter(|f| f.kind == DATA && f.flags == END) {
            let head = headers(frame.stream, 0, &HEAD[..2]);
            let body = frame_of(DATA, END, frame.stream);
            assert_eq!(talk.hear(&[head, body].concat()), None);
        }
        assert!(rounds < 100);
    }
    assert_eq!(total, 65_535);
    let before = talk.desk.books.right;
    assert_eq!(before, 65_535 / 4);
    talk.hear(&number(WINDOW_UPDATE, 0, 1 + 8));
    let said = frames(&talk.send());
    let ends = said.iter().filter(|f| f.flags == END).count();
    let now: usize = said.iter().map(|f| f.payload.len()).sum();
    assert_eq!((now, ends), (9, 3));
    talk.close();
}

fn frame_of(kind: u8, flags: u8, stream: u32) -> Vec<u8> {
    frame(kind, flags, stream, b"3000")
}

#[test]
fn a_large_body_is_sent_as_the_windows_let_it() {
    let class = "ask = \"upload\"\nsizes = [\"200KiB\"]\nbody = \"length\"";
    let definition = profile("http2-cleartext", 1, class);
    let mut talk = Talk::with(&definition, &[(INITIAL_WINDOW_SIZE, 100_000)]);
    let mut said = talk.ask();
    assert_eq!(sent(&said, 1), 65_535);
    talk.hear(&number(WINDOW_UPDATE, 0, 1 << 20));
    said.extend(frames(&talk.send()));
    assert_eq!(sent(&said, 1), 100_000);
    talk.hear(&number(WINDOW_UPDATE, 1, 1 << 20));
    said.extend(frames(&talk.send()));
    assert_eq!((sent(&said, 1), ended(&said, 1)), (200 * 1024, true));
    assert!(said.iter().all(|f| f.payload.len() <= 16_384));
    let body: Vec<u8> = said
        .iter()
        .filter(|f| f.kind == DATA)
        .flat_map(|f| f.payload.iter().copied())
        .collect();
    let block = talk.desk.block.as_ref().unwrap().as_bytes();
    assert!(block.windows(body.len()).any(|w| w == body));
    let head = headers(1, 0, &HEAD[..2]);
    talk.hear(&[head, frame(DATA, END, 1, b"204800")].concat());
    assert_eq!(talk.close().right, 1);
}

#[test]
fn the_window_we_give_is_given_back_and_not_to_be_overrun() {
    // Padding is no part of a body, but of what the windows let through.
    let padded = frame(DATA, PADDED, 1, &[255; 256]);
    let bytes = padded.repeat(1024);
    for gives in [true, false] {
        let mut talk = Talk::new(&plain(2));
        talk.ask();
        talk.hear(&headers(1, 0, &HEAD));
        let mut given = 0;
        for _ in 0..64 {
            assert_eq!(talk.hear(&bytes), None);
            if gives {
                given += frames(&talk.send())
                    .iter()
                    .map(|f| {
                        assert_eq!((f.kind, f.stream), (WINDOW_UPDATE, 1));
                        u64::from(f.number())
                    })
                    .sum::<u64>();
            }
        }
        // 16 MiB came.
        assert_eq!(talk.fault(Fault::Malformed), 0);
        assert_eq!(given > 0, gives);
        assert!(given <= 16 << 20);
        assert_eq!(talk.hear(&padded), None);
        assert_eq!(talk.fault(Fault::Malformed), u64::from(!gives));
        talk.hear(&ok(3));
        assert_eq!(talk.close().right, 1);
    }
}

#[test]
fn the_window_of_the_connection_counts_streams_that_were_given_up() {
    let bytes = frame(DATA, 0, 1, &[0; 16_384]).repeat(64);
    for gives in [true, false] {
        let mut talk = Talk::new(&plain(2));
        talk.ask();
        talk.hear(&frame(DATA, 0, 1, b""));
        assert_eq!(talk.fault(Fault::Malformed), 1);
        talk.send();
        let mut over = None;
        for _ in 0..1025 {
            over = over.or(talk.hear(&bytes));
            if gives {
                talk.send();
            }
        }
        match over {
            None => assert!(gives),
            Some(Over::Broken(why)) => {
                assert!(!gives && why.to_string().contains("overran"));
            }
            other => panic!("{other:?}"),
        }
        talk.close();
    }
}

#[test]
fn floods_are_answered_or_ended() {
    for bytes in [frame(PING, 0, 0, &[7; 8]), settings(&[(4, 9)])] {
        let mut talk = Talk::new(&plain(1));
        for _ in 0..20 {
            assert_eq!(talk.hear(&bytes.repeat(500)), None);
            assert_eq!(frames(&talk.send()).len(), 500);
        }
        let over = talk.hear(&bytes.repeat(9999));
        assert!(matches!(over, Some(Over::Broken(_))), "{over:?}");
        assert!(talk.send().len() < 20_000);
        talk.close();
    }
}

#[test]
fn the_server_may_forget_what_we_told_its_table() {
    let mut talk = Talk::new(&plain(1));
    let first = talk.ask()[0].payload.len();
    talk.hear(&ok(1));
    let later = talk.ask()[0].payload.len();
    assert!(later < first);
    talk.hear(&settings(&[(HEADER_TABLE_SIZE, 0)]));
    talk.send();
    for stream in [3, 5] {
        talk.hear(&ok(stream));
        let block = talk.ask().remove(0).payload;
        assert_eq!(block[0] == 0x20, stream == 3);
        assert!(block.len() >= first);
    }
    talk.close();
}

/// However many were given up, no late answer is held against the server.
#[test]
fn late_answers_to_many_given_up_streams_are_not_looked_at() {
    let mut talk = Talk::new(&plain(64));
    let mut last = 0;
    for _ in 0..70 {
        last = talk.ask().last().unwrap().stream;
        talk.now += 6_000 * MS;
        assert_eq!(talk.expire(), None);
        talk.send();
    }
    let given_up = talk.desk.books.timed_out;
    assert!(given_up > 4096, "{given_up}");
    for id in [1, 3, 127, last] {
        assert_eq!(talk.hear(&ok(id)), None, "{id}");
    }
    // One that has ended is still known.
    let next = talk.ask()[0].stream;
    assert_eq!(talk.hear(&ok(next)), None);
    assert_eq!(talk.desk.books.surplus, 0);
    assert_eq!(talk.hear(&ok(next)), Some(Over::Surplus));
    talk.end(Over::Surplus);
    assert_eq!(talk.close().right, 1);
}

#[test]
fn a_server_that_grants_no_streams_is_named() {
    let mut talk = Talk::with(&plain(2), &[(3, 0)]);
    assert!(talk.ask().is_empty());
    let books = talk.close();
    assert_eq!(books.sent, 0);
    assert!(books.examples[0].contains("no streams granted"));
    let mut talk = Talk::new(&plain(2));
    talk.ask();
    assert!(talk.close().examples.is_empty());
}

#[test]
fn a_goaway_in_the_handshake_is_told_by_its_code() {
    let peer = peer::Peer::new(|conn| {
        conn.send([settings(&[]), goaway(0, 11)].concat());
        conn.linger();
    });
    let failure = peer::failed(&peer::bare(peer::H2C, peer.addr, 1));
    let words = "GOAWAY of ENHANCE_YOUR_CALM in the handshake";
    assert_eq!(failure.connect_errors[words], 1, "{failure:?}");
}
