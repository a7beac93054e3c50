//! What no server may say: in frames, and in the handshake.

use loadgen::plan::Plan;
use loadgen::session::{Over, Session};
use loadgen::wire::Why;
use profiles::sample::Fault;

use crate::driven::{Driven, any_way, plan, run};
use crate::peer::ws::{close, frame, text};

/// A first right echo, and then something that breaks the stream.
#[track_caller]
fn breaks(why: Why, bad: &[u8]) {
    let outcome = any_way(&plan(), |asked| [&text(&asked[0]), bad].concat());
    assert_eq!(outcome.over, Some(Over::Broken(why)), "{bad:?}");
    assert_eq!((outcome.right, outcome.wrong), (1, 0), "{bad:?}");
    assert_eq!(outcome.faults, [(Fault::Malformed, 3)]);
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
