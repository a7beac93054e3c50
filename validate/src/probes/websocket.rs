//! WebSocket: the handshake, and messages that come back.

use std::time::Instant;

use super::websocket_asks::{
    Message, expect, message, open, open_with, some_text, take,
};
use crate::http::{Conn, Fault, Request};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};
use crate::websocket::frame::op;
use crate::websocket::{NotUpgraded, handshake, key};

pub(super) const WEBSOCKET: &[&str] = &["echo-ws", "echo-ws-pipeline"];
/// Messages in one write.
const IN_FLIGHT: usize = 16;

const BASE: Probe = Probe { profiles: WEBSOCKET, ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "ws.handshake",
        rule: "GET /ws with an upgrade is answered with 101 and the accept \
               value of its key, whatever the case and order of the fields.",
        source: "RFC 6455 section 4.2",
        legal: "101, Upgrade: websocket, Connection: Upgrade and the right \
                Sec-WebSocket-Accept; no extension or protocol unasked",
        hint: "compute the accept value from the key of the request; read \
               Connection as a list",
        run: greet,
        ..BASE
    },
    Probe {
        id: "ws.refused",
        rule: "GET /ws without an upgrade, without a key or for another \
               version of the protocol is refused.",
        source: "RFC 6455 section 4.2.1; contract, profile echo-ws",
        legal: "4xx or a close; never 101 or success",
        hint: "answer 400 or 426 to what is no handshake of version 13",
        run: refused,
        ..BASE
    },
    Probe {
        id: "ws.echo",
        rule: "Text and binary messages of every length come back with their \
               opcode and payload.",
        source: "contract, profile echo-ws; RFC 6455 section 5.2",
        legal: "one message back for each, in any fragmentation",
        hint: "echo the opcode with the payload; read lengths of 16 and 64 \
               bits",
        run: echo,
        ..BASE
    },
    Probe {
        id: "ws.order",
        rule: "Sixteen different messages in one write come back in order, \
               each once and by itself.",
        source: "contract, profile echo-ws-pipeline",
        legal: "sixteen messages, in order, and nothing more",
        hint: "answer each message of a read, and answer it once",
        run: order,
        ..BASE
    },
    Probe {
        id: "ws.alive",
        stage: Stage::Last,
        rule: "After all other probes a fresh upgrade and an echo still work.",
        source: "contract, common part",
        legal: "101 and the message back",
        hint: "where the other probes passed, the server died or broke during \
               them: look at its log",
        run: alive,
        ..BASE
    },
];

fn greet(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    let hello = some_text(s, 9);
    let hello = message(s, op::TEXT, hello);
    expect(s, &mut conn, &[hello])?;
    let mut random = [0; 16];
    s.rng.fill(&mut random);
    let key = key(&random);
    let host = s.host.clone();
    for head in [
        format!(
            "sec-websocket-key: {key}\r\nconnection: keep-alive, Upgrade\r\n\
             host: {host}\r\nsec-websocket-version: 13\r\n\
             upgrade: WebSocket\r\n"
        ),
        format!(
            "HOST: {host}\r\nUPGRADE: websocket\r\nCONNECTION: upgrade\r\n\
             SEC-WEBSOCKET-VERSION: 13\r\nSEC-WEBSOCKET-KEY: {key}\r\n"
        ),
    ] {
        let text = format!("GET /ws HTTP/1.1\r\n{head}\r\n");
        let mut conn = open_with(s, &text, &key)?;
        let hello = some_text(s, 5);
        let hello = message(s, op::TEXT, hello);
        expect(s, &mut conn, &[hello])?;
    }
    Ok(())
}

fn refused(s: &mut Session<'_>) -> Outcome {
    let mut random = [0; 16];
    s.rng.fill(&mut random);
    let whole = handshake(&s.host, &key(&random));
    let plain = format!("GET /ws HTTP/1.1\r\nHost: {}\r\n\r\n", s.host);
    let keyless: String = whole
        .split_inclusive("\r\n")
        .filter(|line| !line.starts_with("Sec-WebSocket-Key"))
        .collect();
    let old = whole.replace("Version: 13", "Version: 12");
    for text in [plain, keyless, old] {
        let request = Request::raw(text);
        s.asked.get_or_insert_with(|| request.shown());
        let mut conn: Conn = s.open()?;
        let by = s.deadline();
        conn.send(&request.bytes, by);
        match conn.receive(false, by) {
            Ok(r) if (400..500).contains(&r.status) => {}
            Ok(r) => {
                let got = summary(&r);
                return Err(s.miss(&request, "4xx or a close", got));
            }
            Err(Fault::Ended { .. }) => {}
            Err(fault) => return Err(s.faulty(&request, &fault)),
        }
    }
    Ok(())
}

/// A message as the load sends them, on a connection of its own.
pub(crate) fn one_echo(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    let length = s.rng.between(4, 8) as usize;
    let payload = some_text(s, length);
    let sent = message(s, op::TEXT, payload);
    expect(s, &mut conn, &[sent])
}

fn echo(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    let some = s.rng.between(2, 120) as usize;
    let more = s.rng.between(200, 9000) as usize;
    for length in [5, 0, 1, some, 125, 126, more, 65_535, 65_536, 70_001] {
        for opcode in [op::TEXT, op::BINARY] {
            let payload = match opcode {
                op::TEXT => some_text(s, length),
                _ => {
                    let mut bytes = vec![0; length];
                    s.rng.fill(&mut bytes);
                    bytes
                }
            };
            let sent = message(s, opcode, payload);
            expect(s, &mut conn, &[sent])?;
        }
    }
    Ok(())
}

fn order(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    for _ in 0..2 {
        let mut all: Vec<Message> = Vec::new();
        for i in 0..IN_FLIGHT {
            let length = s.rng.between(4, 40) as usize;
            let opcode = if i % 3 == 1 { op::BINARY } else { op::TEXT };
            let payload = some_text(s, length);
            all.push(message(s, opcode, payload));
        }
        expect(s, &mut conn, &all)?;
    }
    let until = s.within(std::time::Duration::from_millis(60));
    nothing_more(s, &mut conn, until)
}

/// A message that nobody sent is one too many.
pub(super) fn nothing_more(
    s: &mut Session<'_>,
    conn: &mut crate::websocket::Conn,
    until: Instant,
) -> Outcome {
    let asked = Request::raw("all that was sent before");
    match conn.next(until) {
        Err(Fault::Late { .. } | Fault::Ended { .. }) => Ok(()),
        Err(fault) => Err(s.faulty(&asked, &fault)),
        Ok(event) => {
            let got = format!("{} more", take(&event));
            Err(s.miss(&asked, "one message back for each", got))
        }
    }
}

fn alive(s: &mut Session<'_>) -> Outcome {
    let mut conn = open(s)?;
    let hello = some_text(s, 6);
    let hello = message(s, op::TEXT, hello);
    expect(s, &mut conn, &[hello])
}

/// The finding of a handshake that failed.
pub(super) fn not_upgraded(
    s: &Session<'_>,
    request: &Request,
    why: &NotUpgraded,
) -> Box<crate::probe::Miss> {
    let expected = "101 with the accept value of the key";
    match why {
        NotUpgraded::Status(status) => {
            s.miss(request, expected, format!("status {status}"))
        }
        NotUpgraded::Wrong(why) => s.miss(request, expected, why.clone()),
        NotUpgraded::Fault(fault) => s.faulty(request, fault),
    }
}
