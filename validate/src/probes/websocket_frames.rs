//! WebSocket frames in every shape they may have, and in some they may not.

use std::time::Duration;

use super::websocket::WEBSOCKET;
use super::websocket_asks::{
    Message, back, expect, mask, message, open, some_text, take,
};
use crate::http::{Fault, Request, wait_read};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::Session;
use crate::websocket::frame::{masked, op, unmasked};
use crate::websocket::{Conn, Event};
use profiles::verdict::Verdict;

/// Between the bytes of a frame that is sent byte by byte.
const DRIP: Duration = Duration::from_millis(1);
const RESETS: usize = 12;

const BASE: Probe = Probe { profiles: WEBSOCKET, ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "ws.fragments",
        rule: "A message in fragments, with a ping between them and empty \
               ones among them, comes back as one message.",
        source: "RFC 6455 section 5.4",
        legal: "one message with the whole payload, in any fragmentation, \
                and the pong",
        hint: "collect fragments to FIN; control frames may come between",
        run: fragments,
        ..BASE
    },
    Probe {
        id: "ws.ping",
        rule: "A ping is answered with a pong of the same payload, also \
               between messages, and a pong that nobody asked for is ignored.",
        source: "RFC 6455 sections 5.5.2 and 5.5.3",
        legal: "a pong with the payload of the latest ping",
        hint: "answer pings with their payload; ignore pongs",
        run: ping,
        ..BASE
    },
    Probe {
        id: "ws.close",
        rule: "A close frame is answered with a close frame, and then the \
               server closes the connection.",
        source: "RFC 6455 sections 5.5.1 and 7.1.1",
        legal: "a close frame with the same code, another or none, then a \
                close",
        hint: "answer the close frame, then close the TCP connection",
        run: close,
        ..BASE
    },
    Probe {
        id: "ws.cut",
        rule: "Frames are read rightly when several come in one segment, and \
               when one comes in several, cut anywhere.",
        source: "RFC 6455 section 5.2: frames are a sequence of octets",
        legal: "every message back, in order",
        hint: "keep what was read and go on when the next bytes come",
        run: cut,
        ..BASE
    },
    Probe {
        id: "ws.invalid",
        stage: Stage::Rough,
        rule: "Frames that no client may send end the connection and are not \
               echoed: unmasked ones, reserved bits and opcodes, control \
               frames that are cut up or too long, a continuation of nothing, \
               closes whose code nobody may send or that is half of one, \
               and text that is not UTF-8.",
        source: "RFC 6455 sections 5.1, 5.2, 5.4, 5.5, 7.4 and 8.1",
        legal: "a close frame or a close; for text that is not UTF-8 an echo \
                is a warning, and so is silence",
        hint: "fail the connection on what the RFC does not allow",
        run: invalid,
        ..BASE
    },
    Probe {
        id: "ws.reset",
        stage: Stage::Rough,
        rule: "Connections that the client resets, within a frame or between \
               two, harm no later one.",
        source: "contract, profile echo-ws",
        legal: "echoes on new connections",
        hint: "treat a reset as the end of one connection",
        run: reset,
        ..BASE
    },
];

fn fragments(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    for opcode in [op::BINARY, op::TEXT] {
        let payload = some_text(s, 60);
        // Cut anywhere, also within a letter.
        let (a, b) = (s.rng.between(0, 20), s.rng.between(20, 59));
        let (a, b) = (a as usize, b as usize);
        let ping = s.rng.bits().to_be_bytes();
        let pieces = [
            masked(opcode, &payload[..a], mask(s)),
            masked(op::CONTINUATION, &payload[a..b], mask(s)),
            masked(0x80 | op::PING, &ping, mask(s)),
            masked(op::CONTINUATION, &[], mask(s)),
            masked(0x80 | op::CONTINUATION, &payload[b..], mask(s)),
        ];
        let bytes = pieces.concat();
        conn.send(&bytes, s.deadline());
        let request = Request::raw(bytes.clone());
        let by = s.deadline();
        let (mut echoed, mut ponged) = (false, false);
        while !(echoed && ponged) {
            let event =
                conn.next(by).map_err(|fault| s.faulty(&request, &fault))?;
            match event {
                Event::Pong(p) if p == ping => ponged = true,
                Event::Message(o, p) if o == opcode && p == payload => {
                    echoed = true;
                }
                other => {
                    let expected = "the pong, and the message as one";
                    return Err(s.miss(&request, expected, take(&other)));
                }
            }
        }
    }
    Ok(())
}

fn ping(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    let long = some_text(s, 125);
    let payload = s.rng.bits().to_be_bytes().to_vec();
    for payload in [payload, Vec::new(), long] {
        let unasked = masked(0x80 | op::PONG, b"unasked", mask(s));
        let before = some_text(s, 7);
        let before = message(s, op::TEXT, before);
        let ping = masked(0x80 | op::PING, &payload, mask(s));
        let bytes = [unasked, before.bytes.clone(), ping].concat();
        conn.send(&bytes, s.deadline());
        let request = Request::raw(bytes);
        let by = s.deadline();
        let (mut echoed, mut ponged) = (false, false);
        while !(echoed && ponged) {
            let event =
                conn.next(by).map_err(|fault| s.faulty(&request, &fault))?;
            match event {
                Event::Pong(p) if p == payload => ponged = true,
                Event::Message(_, p) if p == before.payload => echoed = true,
                other => {
                    let expected = "the message, and a pong with the payload";
                    return Err(s.miss(&request, expected, take(&other)));
                }
            }
        }
    }
    Ok(())
}

fn close(s: &mut Session<'_>) -> Outcome {
    for payload in [&b"\x03\xe8"[..], b"", b"\x03\xe9going"] {
        let mut conn = open(s)?;
        let hello = some_text(s, 5);
        let hello = message(s, op::TEXT, hello);
        expect(s, &mut conn, &[hello])?;
        let bytes = masked(0x80 | op::CLOSE, payload, mask(s));
        let by = s.deadline();
        conn.send(&bytes, by);
        let request = Request::raw(bytes);
        match conn.next(by) {
            Ok(Event::Close(_)) => {}
            Ok(other) => {
                let got = take(&other);
                return Err(s.miss(&request, "a close frame", got));
            }
            Err(fault) => return Err(s.faulty(&request, &fault)),
        }
        if conn.wait_end(s.short()).is_none() {
            let miss = s.miss(
                &request,
                "a close frame, then a close",
                "a close frame, and the connection stayed open",
            );
            return Err(miss.as_verdict(Verdict::DidNotClose));
        }
    }
    Ok(())
}

fn cut(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    // Byte by byte, through both longer forms of the length.
    let mut all: Vec<Message> = Vec::new();
    for length in [3, 130] {
        let payload = some_text(s, length);
        all.push(message(s, op::TEXT, payload));
    }
    let bytes: Vec<u8> = all.iter().flat_map(|m| m.bytes.clone()).collect();
    for byte in bytes.chunks(1) {
        conn.send(byte, s.deadline());
        std::thread::sleep(DRIP);
    }
    back(s, &mut conn, &all, &Request::raw(bytes))?;
    // Two frames and a half in one segment, then the rest.
    for _ in 0..6 {
        let mut all: Vec<Message> = Vec::new();
        for _ in 0..4 {
            let length = s.rng.between(1, 30) as usize;
            let payload = some_text(s, length);
            all.push(message(s, op::TEXT, payload));
        }
        let bytes: Vec<u8> = all.iter().flat_map(|m| m.bytes.clone()).collect();
        let at = s.rng.between(1, bytes.len() as i64 - 1) as usize;
        conn.send(&bytes[..at], s.deadline());
        wait_read(conn.ends().as_slice(), s.short());
        conn.send(&bytes[at..], s.deadline());
        back(s, &mut conn, &all, &Request::raw(bytes))?;
    }
    Ok(())
}

/// Frames that no client may send, each made anew.
fn wrong(s: &mut Session<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let text = some_text(s, 12);
    let mut all = vec![
        ("an unmasked frame", unmasked(0x80 | op::TEXT, &text)),
        ("a reserved bit", masked(0xc0 | op::TEXT, &text, mask(s))),
        ("opcode 3", masked(0x83, &text, mask(s))),
        ("opcode 11", masked(0x8b, &text, mask(s))),
        ("a ping without FIN", masked(op::PING, b"cut", mask(s))),
        ("a ping of 126 bytes", masked(0x89, &[b'x'; 126], mask(s))),
        ("a continuation", masked(0x80, &text, mask(s))),
        ("close code 1005", masked(0x88, b"\x03\xed", mask(s))),
        ("a close of one byte", masked(0x88, b"\x03", mask(s))),
    ];
    let start = masked(op::TEXT, &text, mask(s));
    let other = masked(0x80 | op::TEXT, &text, mask(s));
    all.push(("a message within another", [start, other].concat()));
    all
}

fn invalid(s: &mut Session<'_>) -> Outcome {
    for (what, bytes) in wrong(s) {
        let mut conn = open(s)?;
        let hello = some_text(s, 5);
        let hello = message(s, op::TEXT, hello);
        expect(s, &mut conn, &[hello])?;
        failed(s, &mut conn, what, bytes, false)?;
    }
    let text = some_text(s, 8);
    let odd = [&text[..], b"\xff\xfe"].concat();
    let bytes = masked(0x80 | op::TEXT, &odd, mask(s));
    let mut conn = open(s)?;
    failed(s, &mut conn, "text that is not UTF-8", bytes, true)
}

/// Whether the server failed the connection.
fn failed(
    s: &mut Session<'_>,
    conn: &mut Conn,
    what: &str,
    bytes: Vec<u8>,
    lenient: bool,
) -> Outcome {
    conn.send(&bytes, s.deadline());
    let request = Request::raw(bytes);
    let mut miss = match conn.next(s.short()) {
        Ok(Event::Close(_)) | Err(Fault::Ended { .. }) => return Ok(()),
        Err(fault @ Fault::Late { .. }) => {
            s.faulty(&request, &fault).as_verdict(Verdict::Warn)
        }
        Err(fault @ Fault::Broken(_)) if lenient => {
            s.faulty(&request, &fault).as_verdict(Verdict::Warn)
        }
        Err(fault) => s.faulty(&request, &fault),
        Ok(event) => s.miss(&request, "a close frame or a close", take(&event)),
    };
    miss.asked = format!("{} ({what})", request.shown());
    Err(miss)
}

fn reset(s: &mut Session<'_>) -> Outcome {
    for i in 0..RESETS {
        let mut conn = open(s)?;
        let hello = some_text(s, 40);
        let hello = message(s, op::TEXT, hello);
        if i % 2 == 0 {
            conn.send(&hello.bytes[..9], s.deadline());
        } else {
            expect(s, &mut conn, &[hello])?;
        }
        conn.reset();
    }
    let mut conn = open(s)?;
    let hello = some_text(s, 7);
    let hello = message(s, op::TEXT, hello);
    expect(s, &mut conn, &[hello])
}
