//! HTTP/2: the greeting, and many streams on one connection.

use profiles::ask::Ask;

use super::HTTP2;
use crate::http::{Fault, Request};
use crate::http2::frame::{Frame, kind};
use crate::http2::{Conn, PREFACE};
use crate::probe::{BLANK, Miss, Outcome, Probe, Stage};
use crate::session::Session;

/// Streams in flight at once.
const STREAMS: usize = 24;
const RESETS: usize = 12;
/// RST_STREAM's CANCEL.
const CANCEL: u32 = 8;

const BASE: Probe = Probe { profiles: HTTP2, ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "h2.settings",
        rule: "The server begins with SETTINGS and acknowledges those of the \
               client.",
        source: "RFC 9113 sections 3.4 and 6.5.3",
        legal: "SETTINGS first, and an acknowledgement before or soon after \
                the first answer",
        hint: "use an HTTP/2 library; send SETTINGS first and acknowledge \
               each SETTINGS frame",
        run: settings,
        ..BASE
    },
    Probe {
        id: "h2.ping",
        rule: "A PING is answered with the same eight bytes.",
        source: "RFC 9113 section 6.7",
        legal: "PING with ACK and the same payload",
        hint: "answer PING frames as soon as they are read",
        run: ping,
        ..BASE
    },
    Probe {
        id: "h2.streams",
        rule: "Many requests on one connection, all sent at once, are \
               answered each on its own stream with its own answer.",
        source: "RFC 9113 section 5",
        legal: "every answer right, in any order; a stream refused with \
                REFUSED_STREAM is asked again",
        hint: "keep the answers of concurrent streams apart",
        run: streams,
        ..BASE
    },
    Probe {
        id: "h2.reset",
        stage: Stage::Rough,
        rule: "Streams that the client resets harm no other stream and no \
               later connection.",
        source: "RFC 9113 section 5.4.2",
        legal: "right answers on the other streams; after many resets a \
                GOAWAY, and right answers on a new connection",
        hint: "treat RST_STREAM as the end of one stream; the connection \
               goes on",
        run: reset,
        ..BASE
    },
    Probe {
        id: "h2.no-http1",
        profiles: &["baseline-h2c", "json-h2c"],
        stage: Stage::Rough,
        rule: "An HTTP/1.1 request on the port of HTTP/2 with prior \
               knowledge does not get a 200.",
        source: "contract, ports",
        legal: "a reset, a close, GOAWAY, 4xx, 5xx, or silence",
        hint: "serve HTTP/2 alone on 8082; do not detect the protocol",
        run: no_http1,
        ..BASE
    },
];

/// Requests of the profile's own mix, drawn.
pub(super) fn draw(
    s: &mut Session<'_>,
    n: usize,
) -> Result<Vec<(Ask, Request)>, Box<Miss>> {
    let mut drawer = s.drawer()?;
    let mut out = Vec::new();
    while out.len() < n {
        let Some((class, ask)) = drawer.draw(&mut s.rng) else { break };
        // A long stream is not needed to tell answers apart.
        let ask = match ask {
            Ask::GrpcStream { a, b, .. } => {
                let count = s.rng.between(1, 40) as u32;
                Ask::GrpcStream { a, b, count }
            }
            ask => ask,
        };
        let request = s.request_of(Some(class), &ask);
        out.push((ask, request));
    }
    Ok(out)
}

/// Waits for the answer of a stream and judges it.
pub(super) fn finish(
    s: &mut Session<'_>,
    conn: &mut Conn,
    id: u32,
    (ask, request): &(Ask, Request),
) -> Outcome {
    s.asked.get_or_insert_with(|| request.shown());
    let response = conn
        .receive(id, s.deadline())
        .map_err(|fault| s.faulty(request, &fault))?;
    s.judge(ask, request, &response)
}

fn settings(s: &mut Session<'_>) -> Outcome {
    let asked = draw(s, 1)?;
    let mut conn = s.open2()?;
    let first = &asked[0];
    let id = conn
        .start(&first.1, s.deadline())
        .map_err(|fault| s.faulty(&first.1, &fault))?;
    finish(s, &mut conn, id, first)?;
    let by = s.short();
    while !conn.acknowledged {
        if let Err(fault) = conn.pump(by) {
            let got = format!("no acknowledgement: {fault}");
            return Err(s.miss(&first.1, "SETTINGS with ACK", got));
        }
    }
    Ok(())
}

fn ping(s: &mut Session<'_>) -> Outcome {
    let payload = s.rng.bits().to_be_bytes();
    let mut conn = s.open2()?;
    conn.send(&[Frame::new(kind::PING, 0, 0, payload)], s.deadline());
    let by = s.deadline();
    while conn.pong != Some(payload) {
        if let Err(fault) = conn.pump(by) {
            let asked = Request::raw(payload);
            let got = format!("no such PING: {fault}");
            return Err(s.miss(&asked, "PING with ACK and the payload", got));
        }
    }
    Ok(())
}

fn streams(s: &mut Session<'_>) -> Outcome {
    let mut all = draw(s, STREAMS)?;
    let mut conn = s.open2()?;
    let most = conn
        .streams(s.deadline())
        .map_err(|fault| s.faulty(&all[0].1, &fault))?;
    // As many as it takes, and one at the least.
    all.truncate(most.max(1));
    let mut ids = Vec::new();
    for (_, request) in &all {
        let id = conn.start(request, s.deadline());
        ids.push(id.map_err(|fault| s.faulty(request, &fault))?);
    }
    let mut refused = Vec::new();
    for (id, one) in ids.into_iter().zip(&all) {
        let by = s.deadline();
        s.asked.get_or_insert_with(|| one.1.shown());
        match conn.receive(id, by) {
            Ok(response) => s.judge(&one.0, &one.1, &response)?,
            // REFUSED_STREAM: it may be sent again (section 8.7).
            Err(Fault::Reset(7)) => refused.push(one),
            Err(fault) => return Err(s.faulty(&one.1, &fault)),
        }
    }
    for one in refused {
        let id = conn.start(&one.1, s.deadline());
        let id = id.map_err(|fault| s.faulty(&one.1, &fault))?;
        finish(s, &mut conn, id, one)?;
    }
    Ok(())
}

fn reset(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, 3)?;
    let mut conn = s.open2()?;
    let start = |conn: &mut Conn, s: &Session<'_>, i: usize| {
        let one: &(Ask, Request) = &all[i];
        conn.start(&one.1, s.deadline())
            .map_err(|fault| s.faulty(&one.1, &fault))
    };
    let before = start(&mut conn, s, 0)?;
    let cut = start(&mut conn, s, 1)?;
    conn.cancel(cut, CANCEL, s.deadline());
    let after = start(&mut conn, s, 2)?;
    finish(s, &mut conn, before, &all[0])?;
    finish(s, &mut conn, after, &all[2])?;
    // Then many, for which the server may leave.
    for _ in 0..RESETS {
        let Ok(id) = start(&mut conn, s, 1) else { break };
        conn.cancel(id, CANCEL, s.deadline());
    }
    let last = draw(s, 1)?;
    let mut conn = s.open2()?;
    let id = conn
        .start(&last[0].1, s.deadline())
        .map_err(|fault| s.faulty(&last[0].1, &fault))?;
    finish(s, &mut conn, id, &last[0])
}

fn no_http1(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, 1)?;
    let request = &all[0].1;
    s.asked.get_or_insert_with(|| request.shown());
    let mut conn = s.open()?;
    conn.send(&request.bytes, s.deadline());
    let soon = s.within(std::time::Duration::from_millis(500));
    match conn.receive(false, soon) {
        Ok(response) if response.status == 200 => {
            let got = crate::session::summary(&response);
            Err(s.miss(request, "anything but a 200", got))
        }
        _ => Ok(()),
    }
}

/// The preface and empty SETTINGS, for whoever sends single bytes.
pub(super) fn greeting() -> Vec<u8> {
    [PREFACE, &Frame::settings(&[]).bytes()].concat()
}
