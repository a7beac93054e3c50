//! Messages and their echoes.

use loadgen::desk::Desk;
use loadgen::session::{Over, Session, WebSocket};
use loadgen::wire::Why;
use profiles::sample::Fault;
use proptest::prelude::*;

use crate::driven::{Driven, all, any_way, counts, plan, run};
use crate::peer::ws::{self, binary, close, frame, ping, text};

const SECOND: u64 = 1_000_000_000;

#[test]
fn echoes_are_right_in_any_pieces() {
    counts(4, 0, all);
    counts(0, 0, |_| Vec::new());
    counts(2, 0, |asked| all(&asked[..2]));
    // Half an echo is none.
    counts(1, 0, |asked| all(&asked[..2])[..asked[0].len() + 5].to_vec());
}

#[test]
fn fragments_are_joined_and_control_frames_answered_between_them() {
    let outcome = counts(4, 0, |asked| {
        let (a, b) = asked[1].split_at(2);
        [
            &text(&asked[0])[..],
            &frame(0x01, a),
            &ping(b"are you there"),
            &frame(0x00, b""),
            &frame(0x8a, b"unasked"),
            &frame(0x80, b),
            &ping(b""),
            &text(&asked[2]),
            &frame(0x01, b""),
            &frame(0x80, &asked[3]),
        ]
        .concat()
    });
    let pongs = [(0x8a, b"are you there".to_vec()), (0x8a, Vec::new())];
    assert_eq!(outcome.said, pongs);
}

/// BC-13: joined and reversed fail.
#[test]
fn every_message_is_its_own_and_in_order() {
    counts(0, 1, |asked| text(&asked.concat()));
    counts(0, 4, |asked| {
        asked.iter().rev().flat_map(|payload| text(payload)).collect()
    });
    counts(3, 1, |asked| {
        let mut other = asked.to_vec();
        other[1][3] ^= 1;
        all(&other)
    });
    counts(3, 1, |asked| {
        let binary = binary(&asked[1]);
        [all(&asked[..1]), binary, all(&asked[2..])].concat()
    });
    counts(3, 1, |asked| {
        let short = text(&asked[1][..3]);
        [all(&asked[..1]), short, all(&asked[2..])].concat()
    });
    counts(0, 1, |_| text(b""));
    counts(0, 1, |_| text(&[b'a'; 300]));
    counts(0, 1, |_| text(&[0xff; 70_000]));
}

#[test]
fn a_wrong_echo_is_shown_from_its_start() {
    let plan = plan();
    let (mut driven, asked) = Driven::asking(&plan);
    let mut other = asked[0].clone();
    other[3] = b'!';
    for piece in text(&other).chunks(1) {
        assert_eq!(driven.hears(piece.to_vec(), 2), None);
    }
    let shown = &driven.desk.books.examples[0];
    let word = |bytes: &[u8]| String::from_utf8(bytes.into()).unwrap();
    assert!(shown.contains(&word(&asked[0])), "{shown}");
    assert!(shown.contains(&word(&other)), "{shown}");
}

#[test]
fn what_no_message_asked_for_is_surplus() {
    for extra in [text(b"a"), text(b""), frame(0x01, b"x"), binary(b"bin")] {
        let outcome =
            any_way(&plan(), |asked| [&all(asked), &extra[..]].concat());
        assert_eq!(outcome.over, Some(Over::Surplus));
        assert_eq!((outcome.right, outcome.surplus), (4, 1));
    }
    // After its handshake a server may only speak of itself.
    let plan = plan();
    let (mut driven, reply) = Driven::greeted(&plan);
    let with_ping = [&reply[..], &ping(b"hello")].concat();
    assert_eq!(driven.hears(with_ping, 1), None);
    assert!(driven.session.is_ready());
    assert_eq!(driven.ends(None).said, [(0x8a, b"hello".to_vec())]);
    let (mut driven, reply) = Driven::greeted(&plan);
    let with_text = [&reply[..], &text(b"hello")].concat();
    assert_eq!(driven.hears(with_text, 1), Some(Over::Surplus));
}

#[test]
fn a_close_is_answered_and_takes_what_is_in_flight() {
    for (payload, back) in [
        (&b""[..], &b""[..]),
        (&[3, 232][..], &[3, 232][..]),
        (&[3, 233, b'b', b'y', b'e'][..], &[3, 233][..]),
    ] {
        let outcome = any_way(&plan(), |asked| {
            [&all(&asked[..1]), &close(payload)[..], b"anything"].concat()
        });
        assert_eq!((outcome.over, outcome.right), (None, 1));
        assert_eq!(outcome.faults, [(Fault::Closed, 3)]);
        assert_eq!(outcome.said, [(0x88, back.to_vec())]);
    }
    let outcome = any_way(&plan(), |asked| {
        [&frame(0x01, &asked[0]), &close(b"")[..]].concat()
    });
    assert_eq!(outcome.faults, [(Fault::Closed, 3), (Fault::Torn, 1)]);
}

#[test]
fn a_closing_connection_asks_no_more_and_waits_only_so_long() {
    let plan = plan();
    let (mut driven, _) = Driven::asking(&plan);
    assert_eq!(driven.hears(close(&[3, 232]), 1), None);
    assert!(!driven.session.has_room(&driven.desk));
    let (desk, kit) = (&mut driven.desk, &mut driven.kit);
    assert_eq!(driven.session.expire(2, desk, kit), None);
    let late = driven.session.expire(SECOND, desk, kit);
    assert_eq!(late, Some(Over::Announced));
}

#[test]
fn a_message_that_waited_too_long_takes_those_behind_it() {
    let plan = plan();
    let (mut driven, asked) = Driven::asking(&plan);
    let timeout = driven.desk.timeout;
    assert_eq!(driven.hears(text(&asked[0]), 1 + timeout), None);
    let (desk, kit) = (&mut driven.desk, &mut driven.kit);
    let session = &mut driven.session;
    assert_eq!(session.expire(1 + timeout, desk, kit), None);
    let over = session.expire(2 + timeout, desk, kit);
    assert_eq!(over, Some(Over::TimedOut));
    session.end(Over::TimedOut, 2 + timeout, desk);
    assert_eq!((desk.books.right, desk.books.timed_out), (1, 3));
}

#[test]
fn an_echo_before_its_message_is_sent_in_full_is_surplus() {
    let plan = plan();
    let (mut driven, reply) = Driven::greeted(&plan);
    driven.hears(reply, 1);
    driven.session.fill(1, &mut driven.desk, &mut driven.kit);
    driven.session.wrote(7, 1, &mut driven.desk);
    let over = driven.hears(text(b"abcd"), 1);
    assert_eq!(over, Some(Over::Broken(Why::Early)));
    driven.session.end(over.unwrap(), 1, &mut driven.desk);
    let books = &driven.desk.books;
    assert_eq!((books.sent, books.surplus), (1, 1));
    assert_eq!(books.faults[&Fault::Surplus], 1);
}

#[test]
fn no_two_messages_have_one_mask_and_no_two_connections_one_key() {
    let plan = plan();
    let mut desk = Desk::new(&plan, 0).unwrap();
    let mut kit = WebSocket::kit(&plan).unwrap();
    let (mut masks, mut keys) = (Vec::new(), Vec::new());
    let mut session = WebSocket::new(0);
    for _ in 0..20 {
        session.open(1, &mut desk, &mut kit).unwrap();
        let text = session.out().text().unwrap().to_vec();
        let asked = String::from_utf8(text).unwrap();
        session.wrote(asked.len(), 1, &mut desk);
        let mut reply = ws::switching(&asked).into_bytes();
        session.received(&mut reply, 1, &mut desk, &mut kit);
        session.fill(1, &mut desk, &mut kit);
        let sent = session.out().text().unwrap();
        masks.extend(ws::masks(sent));
        keys.push(asked);
        session.wrote(sent.len(), 1, &mut desk);
        session.end(Over::Stopped, 1, &mut desk);
    }
    let count = masks.len();
    assert_eq!(count, 80);
    for list in [masks, keys] {
        let mut distinct = list.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), list.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_in_any_pieces_give_the_same_books(
        right in 0usize..4,
        bytes in prop::collection::vec(prop_oneof![
            4 => prop::sample::select(vec![
                0u8, 1, 2, 3, 4, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8a, 126, 127,
            ]),
            1 => any::<u8>(),
        ], 0..40),
        size in 1usize..9,
    ) {
        let plan = plan();
        let reply = |asked: &[Vec<u8>]| {
            [&all(&asked[..right]), &bytes[..]].concat()
        };
        let whole = run(&plan, &reply, &|all| vec![all.to_vec()]);
        let found = run(&plan, &reply, &|all| {
            all.chunks(size).map(<[u8]>::to_vec).collect()
        });
        prop_assert_eq!(found, whole);
    }
}
