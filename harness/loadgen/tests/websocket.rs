//! One WebSocket connection without a socket: whatever the pieces its bytes
//! come in, the books are the same.

mod peer;

use loadgen::desk::Desk;
use loadgen::pace::Pace;
use loadgen::plan::Plan;
use loadgen::session::{ECHO, Http1, Http2, Over, Session, WebSocket};
use loadgen::wire::Why;
use peer::ws::{self, binary, close, frame, ping, text};
use profiles::sample::Fault;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A plan with four messages in flight, made once.
fn plan() -> Plan {
    let definition = ws::ECHOES.replace("in_flight = 16", "in_flight = 4");
    let spec = peer::spec(&definition, "127.0.0.1:1".parse().unwrap(), 1);
    let (_data, input) = peer::on_disk(&spec);
    Plan::new(&std::fs::read_to_string(input).unwrap()).unwrap()
}

struct Driven {
    session: WebSocket,
    desk: Desk,
    kit: <WebSocket as Session>::Kit,
}

/// How it went.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Outcome {
    over: Option<Over>,
    right: u64,
    wrong: u64,
    faults: Vec<(Fault, u64)>,
    surplus: u64,
    unanswered: u64,
    /// What the client sent after its messages.
    said: Vec<(u8, Vec<u8>)>,
}

impl Driven {
    /// Connected, with nothing read yet; and the right 101.
    fn greeted(plan: &Plan) -> (Driven, Vec<u8>) {
        let mut desk = Desk::new(plan, 0).unwrap();
        let mut kit = WebSocket::kit(plan).unwrap();
        desk.books.open();
        let mut session = WebSocket::new(0);
        session.open(1, &mut desk, &mut kit).unwrap();
        let mut driven = Driven { session, desk, kit };
        let asked = String::from_utf8(driven.sent()).unwrap();
        (driven, ws::switching(&asked).into_bytes())
    }

    /// With its first messages sent, as it was asked for them.
    fn asking(plan: &Plan) -> (Driven, Vec<Vec<u8>>) {
        let (mut driven, reply) = Driven::greeted(plan);
        assert_eq!(driven.hears(reply, 1), None);
        assert!(driven.session.is_ready());
        let asked = driven.fill(1);
        (driven, asked)
    }

    /// Draws what may be in flight; returns the payloads.
    fn fill(&mut self, now: u64) -> Vec<Vec<u8>> {
        self.session.fill(now, &mut self.desk, &mut self.kit);
        let frames = ws::read_all(&self.sent());
        frames.into_iter().map(|(_, payload)| payload).collect()
    }

    /// Hands all there is to the kernel.
    fn sent(&mut self) -> Vec<u8> {
        let text = self.session.out().text().unwrap().to_vec();
        self.session.wrote(text.len(), 1, &mut self.desk);
        text
    }

    fn hears(&mut self, mut bytes: Vec<u8>, now: u64) -> Option<Over> {
        self.session.received(&mut bytes, now, &mut self.desk, &mut self.kit)
    }

    fn ends(mut self, over: Option<Over>) -> Outcome {
        let said = ws::read_all(&self.sent());
        let stop = over.unwrap_or(Over::Stopped);
        self.session.end(stop, 2, &mut self.desk);
        assert!(self.session.is_idle() && self.session.out().is_empty());
        let books = self.desk.books;
        let wrong = books.wrong_by.values().sum();
        assert_eq!(books.statuses[usize::from(ECHO)], books.right + wrong);
        let ended = books.right + wrong + books.faults.values().sum::<u64>();
        let unanswered = books.unanswered_age.count();
        assert_eq!(books.sent, ended + books.timed_out + unanswered);
        Outcome {
            over,
            right: books.right,
            wrong,
            faults: books.faults.into_iter().collect(),
            surplus: books.surplus,
            unanswered,
            said,
        }
    }
}

/// What the reply to four messages comes to, in these pieces.
fn run(
    plan: &Plan,
    reply: &dyn Fn(&[Vec<u8>]) -> Vec<u8>,
    pieces: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
) -> Outcome {
    let (mut driven, asked) = Driven::asking(plan);
    for piece in pieces(&reply(&asked)) {
        let over = driven.hears(piece, 2);
        if over.is_some() {
            return driven.ends(over);
        }
    }
    driven.ends(None)
}

/// The same, cut in two at every place, and byte by byte.
#[track_caller]
fn any_way(plan: &Plan, reply: impl Fn(&[Vec<u8>]) -> Vec<u8>) -> Outcome {
    let whole = run(plan, &reply, &|bytes| vec![bytes.to_vec()]);
    let mut at = 0;
    loop {
        let cut = std::cell::Cell::new(false);
        let found = run(plan, &reply, &|bytes| {
            cut.set(at <= bytes.len());
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            vec![a.to_vec(), b.to_vec()]
        });
        if !cut.get() || at > 1000 {
            break;
        }
        assert_eq!(found, whole, "cut at {at}");
        at += 1;
    }
    let single = run(plan, &reply, &|bytes| {
        bytes.chunks(1).map(<[u8]>::to_vec).collect()
    });
    assert_eq!(single, whole, "byte by byte");
    whole
}

/// A reply after which the connection is up and so many are right and wrong.
#[track_caller]
fn counts(
    right: u64,
    wrong: u64,
    reply: impl Fn(&[Vec<u8>]) -> Vec<u8>,
) -> Outcome {
    let outcome = any_way(&plan(), reply);
    let found = (outcome.over, outcome.right, outcome.wrong);
    assert_eq!(found, (None, right, wrong), "{outcome:?}");
    assert_eq!(outcome.unanswered, 4 - right - wrong);
    assert_eq!(outcome.faults, []);
    outcome
}

/// A first right echo, and then something that breaks the stream.
#[track_caller]
fn breaks(why: Why, bad: &[u8]) {
    let outcome = any_way(&plan(), |asked| [&text(&asked[0]), bad].concat());
    assert_eq!(outcome.over, Some(Over::Broken(why)), "{bad:?}");
    assert_eq!((outcome.right, outcome.wrong), (1, 0), "{bad:?}");
    assert_eq!(outcome.faults, [(Fault::Malformed, 3)]);
}

fn all(asked: &[Vec<u8>]) -> Vec<u8> {
    asked.iter().flat_map(|payload| text(payload)).collect()
}

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

/// An open loop's request that was due at 0 and sent at `sent`: whether
/// the session gives anything up at `sent` and later.
fn gives_up<S: Session>(session: &mut S, plan: &Plan, greeting: &[u8]) {
    let mut desk = Desk::new(plan, 0).unwrap();
    let mut kit = S::kit(plan).unwrap();
    desk.books.open();
    session.open(1, &mut desk, &mut kit).unwrap();
    if !greeting.is_empty() {
        let mut bytes = greeting.to_vec();
        assert_eq!(session.received(&mut bytes, 1, &mut desk, &mut kit), None);
    }
    assert!(session.is_ready());
    desk.lanes[0].pace = Pace::new(Some(1.0), 0, 1);
    desk.lanes[0].pace.start(0);
    let timeout = desk.timeout;
    let sent = 2 * timeout;
    session.fill(sent, &mut desk, &mut kit);
    while let Some(n) = session.out().text().map(<[u8]>::len)
        && n > 0
    {
        session.wrote(n, sent, &mut desk);
    }
    assert!(desk.books.sent > 0);
    assert_eq!(session.expire(sent + timeout, &mut desk, &mut kit), None);
    assert_eq!(desk.books.timed_out, 0);
    let end = sent + timeout + 1;
    if let Some(over) = session.expire(end, &mut desk, &mut kit) {
        session.end(over, end, &mut desk);
    }
    assert_eq!(desk.books.timed_out, desk.books.sent);
}

#[test]
fn what_was_sent_late_is_awaited_as_long_as_any() {
    let plan_of = |definition: &str| {
        let addr = "127.0.0.1:1".parse().unwrap();
        let (_data, input) = peer::on_disk(&peer::spec(definition, addr, 1));
        Plan::new(&std::fs::read_to_string(input).unwrap()).unwrap()
    };
    gives_up(&mut Http1::new(0), &plan_of(peer::PIPELINED), b"");
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    gives_up(&mut Http2::new(0), &plan_of(peer::H2C), &settings);
    // At the end it is a time-out, answered or not.
    let (mut driven, asked) = Driven::asking(&plan());
    let late = 1 + driven.desk.timeout;
    assert_eq!(driven.hears(text(&asked[0]), late), None);
    driven.session.end(Over::Stopped, late + 1, &mut driven.desk);
    let books = &driven.desk.books;
    assert_eq!((books.timed_out, books.unanswered_age.count()), (3, 0));
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
fn broken_frames_are_broken_and_never_awaited() {
    let says = Why::Protocol;
    for bits in [0x10, 0x20, 0x40, 0x70] {
        breaks(says("a frame has reserved bits set"), &[0x81 | bits, 4]);
    }
    for code in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        breaks(says("an unknown kind of frame"), &[0x80 | code, 0]);
    }
    breaks(says("a frame continues no message"), &[0x80, 1]);
    breaks(says("a frame continues no message"), &[0x00, 0]);
    for begins in [0x01, 0x02, 0x81, 0x82] {
        let twice = [1, 2, b'a', b'b', begins, 1];
        breaks(says("a message begins within another"), &twice);
    }
    for code in [0x08, 0x09, 0x0a] {
        breaks(says("a control frame in pieces"), &[code, 0]);
    }
    for code in [0x88, 0x89, 0x8a] {
        breaks(says("a control frame is too long"), &[code, 126, 0, 126]);
        breaks(says("a control frame is too long"), &[code, 127, 0, 0]);
    }
    let masked = [0x81, 0x84, 1, 2, 3, 4, 5, 6, 7, 8];
    breaks(says("a frame of the server is masked"), &masked);
    breaks(says("a frame of the server is masked"), &[0x8a, 0x80]);
    let long = "a length takes more bytes than it needs";
    breaks(says(long), &[0x81, 126, 0, 4, 1, 1, 1, 1]);
    breaks(says(long), &[0x81, 126, 0, 125]);
    breaks(says(long), &[0x81, 127, 0, 0, 0, 0, 0, 0, 255, 255]);
    let high = [0x81, 127, 128, 0, 0, 0, 0, 1, 0, 0];
    breaks(says("a length has its highest bit set"), &high);
    // Longer than any echo could be, said at once or bit by bit.
    breaks(Why::BodyTooLong, &[0x81, 127, 0, 0, 0, 9, 0, 0, 0, 0]);
    let again = frame(0x00, &[b'x'; 60_000]);
    let endless = [&frame(0x01, b""), &again.repeat(20)[..]].concat();
    let outcome = run(&plan(), &|_| endless.clone(), &|bytes| {
        bytes.chunks(4099).map(<[u8]>::to_vec).collect()
    });
    assert_eq!(outcome.over, Some(Over::Broken(Why::BodyTooLong)));
}

#[test]
fn close_frames_must_be_well_formed() {
    breaks(Why::Protocol("a close frame has half a code"), &close(&[3]));
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
        let bytes = u16::to_be_bytes(code);
        let why = Why::Protocol("a close code that may not be sent");
        breaks(why, &close(&bytes));
    }
    let reason = close(&[3, 232, 0xff, 0xfe]);
    breaks(Why::Protocol("the reason of a close is not UTF-8"), &reason);
}

/// What the handshake comes to with this answer, at every cut.
#[track_caller]
fn greets(plan: &Plan, change: impl Fn(String) -> String) -> Option<Over> {
    let answer = |cuts: &dyn Fn(&[u8]) -> Vec<Vec<u8>>| {
        let (mut driven, reply) = Driven::greeted(plan);
        let reply = change(String::from_utf8(reply).unwrap());
        for piece in cuts(reply.as_bytes()) {
            let over = driven.hears(piece, 1);
            if over.is_some() {
                return (over, false);
            }
        }
        (None, driven.session.is_ready())
    };
    let (over, ready) = answer(&|bytes| vec![bytes.to_vec()]);
    assert_eq!(ready, over.is_none(), "neither up nor over");
    for at in 0..400 {
        let found = answer(&|bytes| {
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            vec![a.to_vec(), b.to_vec()]
        });
        assert_eq!(found, (over, ready), "cut at {at}");
    }
    let single = answer(&|bytes| bytes.chunks(1).map(<[u8]>::to_vec).collect());
    assert_eq!(single, (over, ready), "byte by byte");
    over
}

#[test]
fn only_a_right_101_makes_a_connection() {
    let plan = plan();
    let with = |from: &str, to: &str| {
        greets(&plan, |reply| {
            let changed = reply.replacen(from, to, 1);
            assert!(from.is_empty() || changed != reply, "{from}");
            changed
        })
    };
    assert_eq!(with("", ""), None);
    assert_eq!(with("websocket", "WebSocket"), None);
    assert_eq!(with("n: Upgrade", "n: keep-alive, upgrade"), None);
    assert_eq!(with("\r\n\r\n", "\r\nServer: x\r\n\r\n"), None);
    assert_eq!(with("HTTP", "HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP"), None);

    let breaks = |from: &str, to: &str, why: Why| {
        assert_eq!(with(from, to), Some(Over::Broken(why)), "{from} {to}");
    };
    let says = Why::Protocol;
    breaks("HTTP/1.1 101", "SSH-2.0-OpenSSH", Why::StatusLine);
    breaks("101 Switching Protocols", "1010", Why::StatusLine);
    breaks("101 Switching Protocols", "200 OK", Why::NotSwitched(200));
    breaks("101", "404", Why::NotSwitched(404));
    breaks("Upgrade: ", "No: ", says("no Upgrade: websocket in the 101"));
    breaks(": websocket", ": h2c", says("no Upgrade: websocket in the 101"));
    breaks(": Upgrade", ": close", says("no Connection: Upgrade in the 101"));
    breaks(
        "Sec-WebSocket-Accept",
        "X",
        says("no Sec-WebSocket-Accept in the 101"),
    );
    breaks(
        "Accept: ",
        "Accept: A",
        says("Sec-WebSocket-Accept does not fit the key"),
    );
    breaks("Sec", "Sec-WebSocket-Accept: x\r\nSec", Why::Twice);
    let extension = "Sec-WebSocket-Extensions: permessage-deflate\r\nSec";
    breaks("Sec", extension, says("an extension nobody offered"));
    let chat = "Sec-WebSocket-Protocol: chat\r\nSec";
    breaks("Sec", chat, says("a subprotocol nobody offered"));
    breaks("Upgrade", "no colon\r\nUpgrade", Why::Field);
    breaks("Upgrade", " folded: x\r\nUpgrade", Why::Field);
    breaks("Upgrade", &"X: y\r\n".repeat(20_000), Why::HeadTooLong);
    breaks("Upgrade", &"x".repeat(70_000), Why::HeadTooLong);
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
