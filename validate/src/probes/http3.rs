//! HTTP/3: what only QUIC can get wrong, over a client of our own.

use profiles::ask::Ask;
use profiles::profile::Kind;
use profiles::verdict::Verdict;

use crate::http::{Fault, Request};
use crate::http3::raw::{self, DATA, HEADERS};
use crate::http3::{Conn, Settings};
use crate::probe::{BLANK, Miss, Outcome, Probe, Scope, Stage};
use crate::session::Session;

/// Every profile over HTTP/3.
const HTTP3: &[&str] = &["baseline-h3", "static-h3", "gateway-h3"];
const STREAMS: usize = 24;
const RESETS: usize = 12;
/// H3_NO_ERROR.
const NO_ERROR: u32 = 0x100;

const BASE: Probe = Probe { profiles: HTTP3, ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "h3.alpn",
        rule: "A client that offers another protocol than h3 in ALPN gets no \
               connection.",
        source: "RFC 9114 section 3.1; RFC 9001 section 8.1",
        legal: "the handshake fails",
        hint: "set ALPN to h3 alone",
        run: alpn,
        ..BASE
    },
    Probe {
        id: "h3.streams",
        rule: "Many requests at once on one connection are answered each on \
               its own stream with its own answer.",
        source: "RFC 9114 section 4.1",
        legal: "every answer right, in any order",
        hint: "keep the answers of concurrent streams apart",
        run: streams,
        ..BASE
    },
    Probe {
        id: "h3.window",
        scope: Scope::Each,
        rule: "A body larger than the client's windows is sent as they are \
               opened again, and whole.",
        source: "RFC 9000 section 4.1",
        legal: "the right answer",
        hint: "go on sending when MAX_DATA and MAX_STREAM_DATA come",
        run: window,
        ..BASE
    },
    Probe {
        id: "h3.cut",
        rule: "A request is answered rightly when it arrives in pieces, cut \
               anywhere.",
        source: "RFC 9114 section 7.1",
        legal: "the right answer",
        hint: "keep what was read and go on when the next bytes come",
        run: cut,
        ..BASE
    },
    Probe {
        id: "h3.unknown",
        rule: "Frames and unidirectional streams of unknown types are \
               ignored.",
        source: "RFC 9114 sections 6.2 and 9",
        legal: "the right answer",
        hint: "skip frames whose type is not known, and drop such streams",
        run: unknown,
        ..BASE
    },
    Probe {
        id: "h3.reset",
        stage: Stage::Rough,
        rule: "Streams that the client resets, and connections that it \
               closes in the middle, harm no other.",
        source: "RFC 9114 section 4.1.1",
        legal: "right answers on other streams and on new connections; after \
                many resets the connection may be closed",
        hint: "treat a reset as the end of one stream",
        run: reset,
        ..BASE
    },
    Probe {
        id: "h3.malformed",
        stage: Stage::Rough,
        rule: "A request without :path or :method, with a field name in \
               upper case or a field of HTTP/1.1's connections, or whose \
               content-length is not that of its body, is never answered \
               with success.",
        source: "RFC 9114 sections 4.1.2, 4.2 and 4.3",
        legal: "a reset, the end of the connection, 4xx, 5xx; silence. \
                Success is a warning where only case is wrong, and of an \
                edge's library also to a field of HTTP/1.1's connections or a \
                wrong content-length",
        hint: "use a library that validates requests, and do not switch that \
               off",
        run: malformed,
        ..BASE
    },
];

fn draw(
    s: &mut Session<'_>,
    n: usize,
) -> Result<Vec<(Ask, Request)>, Box<Miss>> {
    let mut drawer = s.drawer()?;
    let mut out = Vec::new();
    while out.len() < n {
        let Some((class, ask)) = drawer.draw(&mut s.rng) else { break };
        let request = s.request_of(Some(class), &ask);
        out.push((ask, request));
    }
    Ok(out)
}

/// A question whose whole body is known byte for byte.
fn exact(s: &mut Session<'_>) -> (Request, Vec<u8>) {
    let classes = &s.profile.classes;
    let sums = classes.iter().any(|c| matches!(c.kind, Kind::Sum { .. }));
    if sums {
        let ask = s.sum(1, 999_999, None);
        let body = s.oracle.exact(&ask).unwrap_or_default();
        return (s.request(&ask), body.into_bytes());
    }
    let some = s.rng.below(profiles::data::STATIC_FILES.len() as u64);
    let ask = Ask::Static { file: some as usize, accept_encoding: None };
    let body = s.oracle.file(some as usize).unwrap_or_default().to_vec();
    (s.request(&ask), body)
}

fn alpn(s: &mut Session<'_>) -> Outcome {
    let settings = Settings { alpn: b"hq-interop", ..Settings::default() };
    s.question()?;
    let (track, by) = (s.tape.track(), s.deadline());
    let asked = Request::raw("a QUIC handshake with ALPN hq-interop");
    s.asked.get_or_insert_with(|| asked.shown());
    match Conn::with(s.address, track, settings, by) {
        Ok(_) => {
            let got = "a connection";
            Err(s.miss(&asked, "the handshake fails", got))
        }
        // Whether anything listens there at all, the others tell.
        Err(_) => Ok(()),
    }
}

fn streams(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, STREAMS)?;
    let mut conn = s.open3()?;
    together(s, &mut conn, &all)
}

/// Asks all at once and judges each answer.
fn together(
    s: &mut Session<'_>,
    conn: &mut Conn,
    all: &[(Ask, Request)],
) -> Outcome {
    let requests: Vec<&Request> = all.iter().map(|(_, r)| r).collect();
    if let Some(first) = requests.first() {
        s.asked.get_or_insert_with(|| first.shown());
    }
    let found = conn.all(&requests, s.deadline());
    for ((ask, request), found) in all.iter().zip(found) {
        let response = found.map_err(|fault| s.faulty(request, &fault))?;
        s.judge(ask, request, &response)?;
    }
    Ok(())
}

fn window(s: &mut Session<'_>) -> Outcome {
    let small =
        Settings { stream_window: 500, window: 700, ..Settings::default() };
    let mut all = draw(s, 3)?;
    for (ask, request) in &mut all {
        // The plain file is the longest answer there is to it.
        if let Ask::Static { file, .. } = *ask {
            *ask = Ask::Static { file, accept_encoding: None };
            *request = s.request(ask);
        }
    }
    s.question()?;
    let (track, by) = (s.tape.track(), s.deadline());
    let mut conn = Conn::with(s.address, track, small, by)
        .map_err(|fault| s.unconnected(&fault))?;
    together(s, &mut conn, &all)
}

/// Sends bytes by hand and expects the exact body.
fn by_hand(
    s: &mut Session<'_>,
    conn: &mut Conn,
    request: &Request,
    body: &[u8],
    pieces: &[&[u8]],
) -> Outcome {
    s.asked.get_or_insert_with(|| request.shown());
    for piece in pieces {
        conn.track().bytes(crate::tape::Said::Judge, piece);
    }
    let by = s.deadline();
    let found = conn
        .run(by, async |quic| raw::exchange(quic, pieces).await)
        .map_err(|fault| s.faulty(request, &fault))?;
    if found.success && found.body == body {
        return Ok(());
    }
    let got = format!(
        "{} with the body `{}`",
        if found.success { "success" } else { "no success" },
        profiles::oracle::clip(&found.body)
    );
    Err(s.miss(request, format!("200 and {} bytes", body.len()), got))
}

fn cut(s: &mut Session<'_>) -> Outcome {
    let mut conn = s.open3()?;
    for _ in 0..2 {
        let (request, body) = exact(s);
        let head = raw::section(&raw::fields(&request));
        let bytes = raw::frame(HEADERS, &head);
        let size = s.rng.between(1, 7) as usize;
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        by_hand(s, &mut conn, &request, &body, &pieces)?;
    }
    Ok(())
}

fn unknown(s: &mut Session<'_>) -> Outcome {
    let mut conn = s.open3()?;
    // Reserved types are 0x1f * N + 0x21.
    let odd = 0x1f * s.rng.between(1, 1 << 20) as u64 + 0x21;
    let noise = s.rng.bits().to_be_bytes();
    let (request, body) = exact(s);
    let by = s.deadline();
    conn.run(by, async |quic| {
        let mut bytes = Vec::new();
        raw::varint(odd, &mut bytes);
        bytes.extend_from_slice(&noise);
        if let Ok(mut stream) = quic.open_uni().await {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.finish();
        }
        Ok(())
    })
    .map_err(|fault| s.faulty(&request, &fault))?;
    let head = raw::section(&raw::fields(&request));
    let bytes = [raw::frame(odd, &noise), raw::frame(HEADERS, &head)].concat();
    by_hand(s, &mut conn, &request, &body, &[&bytes])?;
    let (request, body) = exact(s);
    let head = raw::section(&raw::fields(&request));
    let bytes = [raw::frame(HEADERS, &head), raw::frame(odd, &noise)].concat();
    by_hand(s, &mut conn, &request, &body, &[&bytes])
}

fn reset(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, 4)?;
    let mut conn = s.open3()?;
    conn.abandon(&all[0].1, s.deadline());
    together(s, &mut conn, &all[1..2])?;
    for _ in 0..RESETS {
        conn.abandon(&all[0].1, s.deadline());
    }
    conn.close(NO_ERROR);
    let mut conn = s.open3()?;
    together(s, &mut conn, &all[2..])
}

type Fields = Vec<(String, String)>;
type Spoil = fn(&mut Fields);

/// How a request is spoilt.
const WAYS: &[(&str, Spoil)] = &[
    ("without :path", |all| all.retain(|(n, _)| n != ":path")),
    ("without :method", |all| all.retain(|(n, _)| n != ":method")),
    ("a name in upper case", |all| all.push(("X-Upper".into(), "1".into()))),
    ("a connection field", |all| {
        all.push(("connection".into(), "keep-alive".into()));
    }),
    ("a content-length without a body", |all| {
        all.push(("content-length".into(), "3".into()));
    }),
];

/// What only warns: case, which is no danger to anybody, of all; and of edges,
/// which are not the entry's own work, whatever the QUIC library of Caddy 2.6
/// takes.
fn lenient(s: &Session<'_>, what: &str) -> bool {
    let taken =
        ["a connection field", "a content-length without a body", LONGER];
    what == "a name in upper case" || (s.is_edge() && taken.contains(&what))
}

const LONGER: &str = "a body longer than its content-length";

fn malformed(s: &mut Session<'_>) -> Outcome {
    let mut odd = None;
    for (what, spoil) in WAYS {
        let (request, _) = exact(s);
        let mut these = raw::fields(&request);
        spoil(&mut these);
        let bytes = raw::frame(HEADERS, &raw::section(&these));
        let mut conn = s.open3()?;
        let text = format!("{} ({what})", request.shown());
        s.asked.get_or_insert_with(|| text.clone());
        let by = s.short();
        let pieces = [&bytes[..]];
        let found =
            conn.run(by, async |quic| raw::exchange(quic, &pieces).await);
        match found {
            Ok(raw) if raw.success => {
                let mut miss = s.miss(&request, "no success", "success");
                miss.asked = text;
                if !lenient(s, what) {
                    return Err(miss);
                }
                odd = Some(miss.as_verdict(Verdict::Warn));
            }
            Err(fault @ Fault::Broken(_)) => {
                return Err(s.faulty(&request, &fault));
            }
            _ => {}
        }
    }
    let (request, _) = exact(s);
    let mut these = raw::fields(&request);
    these.push(("content-length".into(), "1".into()));
    let bytes =
        [raw::frame(HEADERS, &raw::section(&these)), raw::frame(DATA, b"four")]
            .concat();
    let mut conn = s.open3()?;
    let by = s.short();
    let pieces = [&bytes[..]];
    match conn.run(by, async |quic| raw::exchange(quic, &pieces).await) {
        Ok(raw) if raw.success => {
            let miss =
                s.miss(&request, "no success", format!("success to {LONGER}"));
            match lenient(s, LONGER) {
                true => Err(miss.as_verdict(Verdict::Warn)),
                false => Err(miss),
            }
        }
        _ => odd.map_or(Ok(()), Err),
    }
}
