//! Requests that arrive in pieces. A read may end at any byte, and a server
//! that only works for whole requests works only on a quiet machine.

use std::time::Duration;

use profiles::ask::Ask;
use profiles::data::STATIC_FILES;
use profiles::profile::Framing;

use super::pipelined::{joined, parts, read_parts};
use super::statics::order;
use super::sweep::Sweep;
use super::upload::draw;
use super::{SUM, json};
use crate::http::{Request, Style, encode};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;

/// Between the bytes of a request sent byte by byte.
const DRIP: Duration = Duration::from_millis(1);
/// Pipelined requests in a sweep; sixteen would only be slower.
const IN_FLIGHT: usize = 3;
const FRAMINGS: [Option<Framing>; 3] =
    [None, Some(Framing::Length), Some(Framing::Chunked)];

const BASE: Probe = Probe {
    profiles: SUM,
    source: "RFC 9112 section 2.2: a message is a sequence of octets",
    legal: "the right answer, wherever the request is cut",
    hint: "keep what was read and go on when the next bytes come; a read may \
           end anywhere, also between CR and LF and in a chunk-size line",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "sum.split",
        rule: "GET and POST /baseline11 are answered rightly when they \
               arrive in two parts, cut at any byte.",
        run: sums,
        ..BASE
    },
    Probe {
        id: "sum.drip",
        rule: "GET and POST /baseline11 are answered rightly when they \
               arrive byte by byte.",
        legal: "the right answer",
        run: drip,
        ..BASE
    },
    Probe {
        id: "pipeline.split",
        profiles: &["pipelined"],
        rule: "Pipelined requests are answered rightly when they arrive in \
               two parts, cut at any byte within or between them.",
        run: pipeline,
        ..BASE
    },
    Probe {
        id: "json.split",
        version: 2,
        profiles: &["json", "json-comp", "json-tls"],
        rule: "GET /json/{count} is answered rightly when it arrives in two \
               parts, cut at any byte.",
        run: documents,
        ..BASE
    },
    Probe {
        id: "upload.split",
        profiles: &["upload"],
        rule: "POST /upload is answered rightly when it arrives in two \
               parts, cut at any byte.",
        run: uploads,
        ..BASE
    },
    Probe {
        id: "static.split",
        profiles: &["static"],
        rule: "GET /static/{file} is answered rightly when it arrives in two \
               parts, cut at any byte.",
        run: files,
        ..BASE
    },
];

/// Cuts the request of one question everywhere.
fn one(
    s: &mut Session<'_>,
    sweep: &mut Sweep,
    shape: &str,
    request: &Request,
    ask: &Ask,
) -> Outcome {
    sweep.every_cut(s, shape, request, &|s, conn, by| {
        let response = conn
            .receive(request.head, by)
            .map_err(|fault| s.faulty(request, &fault))?;
        s.judge(ask, request, &response)
    })
}

fn sums(s: &mut Session<'_>) -> Outcome {
    let mut sweep = Sweep::new();
    for (framing, shape) in
        FRAMINGS.into_iter().zip(["GET", "POST by length", "POST chunked"])
    {
        let ask = s.sum(10, 99_999, framing);
        let request = s.request(&ask);
        one(s, &mut sweep, shape, &request, &ask)?;
    }
    sweep.outcome()
}

fn drip(s: &mut Session<'_>) -> Outcome {
    for framing in FRAMINGS {
        let ask = s.sum(10, 99_999, framing);
        let request = s.request(&ask);
        s.asked.get_or_insert_with(|| request.shown());
        let mut conn = s.open()?;
        for byte in request.bytes.chunks(1) {
            conn.send(byte, s.deadline());
            std::thread::sleep(DRIP);
        }
        let response = conn
            .receive(false, s.deadline())
            .map_err(|fault| s.faulty(&request, &fault))?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}

fn pipeline(s: &mut Session<'_>) -> Outcome {
    let mut sweep = Sweep::new();
    let parts = parts(s, IN_FLIGHT);
    let all = joined(&parts);
    sweep.every_cut(s, "pipelined", &all, &|s, conn, by| {
        read_parts(s, conn, &parts, &all, by)
    })?;
    sweep.outcome()
}

fn documents(s: &mut Session<'_>) -> Outcome {
    let mut sweep = Sweep::new();
    let (count, m) = (s.rng.between(1, 50), s.rng.between(1, 99));
    let accept = s.judged_for(&["json-comp"]).then_some("gzip, br");
    let ask = json::ask(s, count, Some(m), accept);
    let request = s.request(&ask);
    one(s, &mut sweep, "GET", &request, &ask)?;
    let ask = json::ask(s, count, None, None);
    let request = s.request(&ask);
    one(s, &mut sweep, "GET without m", &request, &ask)?;
    sweep.outcome()
}

fn uploads(s: &mut Session<'_>) -> Outcome {
    let mut sweep = Sweep::new();
    let len = s.rng.between(20, 40) as u32;
    let ask = draw(s, len, Framing::Length);
    let request = s.request(&ask);
    one(s, &mut sweep, "by length", &request, &ask)?;
    let ask = draw(s, len, Framing::Chunked);
    let Ask::Upload { offset, .. } = ask else { return sweep.outcome() };
    let body = s.block().body(offset as usize, len as usize);
    // Two chunks, so that a size line and a line end lie within the body.
    let style = Style { extension: ";n=1", ..Style::default() };
    let wire = encode(body.unwrap_or_default(), &[17], style);
    let extra = "Transfer-Encoding: chunked\r\n";
    let request = Request::new("POST", "/upload", &s.host, extra).with(&wire);
    one(s, &mut sweep, "chunked", &request, &ask)?;
    sweep.outcome()
}

fn files(s: &mut Session<'_>) -> Outcome {
    let mut sweep = Sweep::new();
    // A small one: each cut brings it whole.
    let files = order(s)?;
    let bytes = |i: &usize| STATIC_FILES[*i].bytes;
    let file = files.into_iter().min_by_key(bytes).unwrap_or(0);
    let accept_encoding = Some("br;q=1, gzip;q=0.8".into());
    let ask = Ask::Static { file, accept_encoding };
    let request = s.request(&ask);
    one(s, &mut sweep, "GET", &request, &ask)?;
    sweep.outcome()
}
