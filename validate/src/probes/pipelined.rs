//! Many requests in one segment, answered one by one and in order.

use std::time::Instant;

use profiles::ask::Ask;
use profiles::profile::Framing;

use crate::http::{Conn, Request};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::{Session, summary};

/// The profile's requests in flight.
const DEPTH: usize = 16;

const BASE: Probe = Probe {
    profiles: &["pipelined"],
    source: "contract, profile pipelined",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "pipeline.ok",
        rule: "GET /pipeline answers 200, text/plain and the body ok.",
        legal: "200, text/plain, and the body `ok` alone",
        hint: "answer exactly `ok`, without a line end, as text/plain",
        run: ok,
        ..BASE
    },
    Probe {
        id: "pipeline.order",
        rule: "Sixteen different requests that arrive in one segment are \
               each answered, in the order they were sent.",
        source: "RFC 9112 section 9.3.2; contract, profile pipelined",
        legal: "sixteen right answers in order, and no byte more",
        hint: "parse every request of the buffer; never answer by a count of \
               reads or out of turn",
        run: order,
        ..BASE
    },
];

/// One of the requests in flight. Paths that are not served tell requests
/// apart where the entry serves nothing but `/pipeline`.
pub(super) enum Part {
    Asked(Ask),
    Missing,
}

/// Requests in a random order, so that no fixed run of answers is right.
pub(super) fn parts(s: &mut Session<'_>, n: usize) -> Vec<(Part, Request)> {
    let sums = s.judged_for(super::SUM);
    (0..n)
        .map(|_| match s.rng.below(3) {
            0 if sums => {
                let kinds =
                    [None, Some(Framing::Length), Some(Framing::Chunked)];
                let kind = s.rng.below(3) as usize;
                let ask = s.sum(1, 9999, kinds[kind]);
                let request = s.request(&ask);
                (Part::Asked(ask), request)
            }
            0 | 1 => {
                let n = s.rng.between(10_000, 99_999);
                let request = s.get(&format!("/no-such-{n}"));
                (Part::Missing, request)
            }
            _ => {
                let request = s.request(&Ask::Pipeline);
                (Part::Asked(Ask::Pipeline), request)
            }
        })
        .collect()
}

/// All parts as one run of bytes.
pub(super) fn joined(parts: &[(Part, Request)]) -> Request {
    let bytes: Vec<Vec<u8>> =
        parts.iter().map(|(_, r)| r.bytes.clone()).collect();
    Request::raw(bytes.concat())
}

fn ok(s: &mut Session<'_>) -> Outcome {
    for _ in 0..3 {
        s.ask(&Ask::Pipeline)?;
    }
    Ok(())
}

/// Reads the answers to all parts, in order, and not a byte more.
pub(super) fn read_parts(
    s: &Session<'_>,
    conn: &mut Conn,
    parts: &[(Part, Request)],
    all: &Request,
    by: Instant,
) -> Outcome {
    for (i, (part, request)) in parts.iter().enumerate() {
        let answer = conn
            .receive(false, by)
            .map_err(|fault| s.faulty(request, &fault))
            .and_then(|response| match part {
                Part::Asked(ask) => {
                    s.judge(ask, request, &response).map(|()| false)
                }
                Part::Missing if response.status == 404 => {
                    Ok(response.says_close)
                }
                Part::Missing => {
                    Err(s.miss(request, "404", summary(&response)))
                }
            });
        // RFC 9112 section 9.6: a server may close with an error answer; what
        // was sent after it is then not answered.
        let closed = answer.map_err(|mut miss| {
            let n = parts.len();
            miss.got = format!("answer {} of {n}: {}", i + 1, miss.got);
            miss.expected = format!("{} as answer {}", miss.expected, i + 1);
            miss.asked = all.shown();
            miss
        })?;
        if closed {
            return Ok(());
        }
    }
    s.nothing_more(conn, all, Instant::now())
}

fn order(s: &mut Session<'_>) -> Outcome {
    for _ in 0..3 {
        let parts = parts(s, DEPTH);
        let all = joined(&parts);
        s.asked.get_or_insert_with(|| all.shown());
        let mut conn = s.open()?;
        let by = s.deadline();
        conn.send(&all.bytes, by);
        read_parts(s, &mut conn, &parts, &all, by)?;
    }
    Ok(())
}
