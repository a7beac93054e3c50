//! Connections: kept, closed when asked, and reset by the client.

use std::time::Duration;

use profiles::ask::Ask;
use profiles::profile::Framing;
use profiles::verdict::Verdict;

use super::{ASKED, SUM};
use crate::http::Request;
use crate::probe::{BLANK, Outcome, Probe, Scope, Stage};
use crate::session::Session;

/// Requests of the profile's mix on one connection.
const KEPT: u32 = 12;
/// But no more once so many body bytes have been sent.
const KEPT_BYTES: u64 = 16 << 20;
/// Connections that end in a reset, as the load ends them.
const RESETS: u32 = 20;
const REQUESTS_PER_CONNECTION: u32 = 10;
/// An answer too many would come within this.
const SURPLUS_WAIT: Duration = Duration::from_millis(60);

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "conn.keep",
        version: 2,
        profiles: ASKED,
        scope: Scope::Each,
        rule: "A connection is kept for many requests of the profile's own \
               mix, each answered rightly and once.",
        source: "RFC 9112 section 9.3; the profile's definition",
        legal: "right answers, as many as requests, on one connection",
        hint: "keep the connection open, consume each request to its last \
               byte, and answer it once",
        run: keep,
        ..BLANK
    },
    Probe {
        id: "conn.close",
        version: 1,
        profiles: SUM,
        rule: "A request with Connection: close is answered, and then the \
               server closes the connection.",
        source: "RFC 9112 section 9.6",
        legal: "the right answer, then a close",
        hint: "close the connection after the answer when the request says \
               Connection: close",
        run: close,
        ..BLANK
    },
    Probe {
        id: "conn.reset",
        version: 1,
        profiles: &["limited-conn"],
        stage: Stage::Rough,
        rule: "Connections that the client resets after ten answers harm \
               no later one.",
        source: "contract, profile limited-conn",
        legal: "right answers on every connection",
        hint: "treat a reset as the end of one connection, not of a worker \
               or of the server",
        run: reset,
        ..BLANK
    },
];

fn keep(s: &mut Session<'_>) -> Outcome {
    let mut drawer = s.drawer()?;
    let mut conn = s.link()?;
    let mut sent = 0;
    let mut last = None;
    for i in 0..KEPT {
        let Some((class, ask)) = drawer.draw(&mut s.rng) else { break };
        let request = s.request_of(Some(class), &ask);
        sent += request.bytes.len() as u64;
        if i > 1 && sent > KEPT_BYTES {
            break;
        }
        let response =
            s.exchange_on(&mut conn, &request).map_err(|mut m| {
                m.got =
                    format!("{} (request {} of the connection)", m.got, i + 1);
                m
            })?;
        s.judge(&ask, &request, &response)?;
        last = Some(request);
    }
    match last {
        Some(request) => {
            let until = s.within(SURPLUS_WAIT);
            s.nothing_more(&mut conn, &request, until)
        }
        None => Ok(()),
    }
}

fn close(s: &mut Session<'_>) -> Outcome {
    for body in [None, Some(Framing::Length)] {
        let ask = s.sum(1, 9999, body);
        let extra = "Connection: close\r\n";
        let request = match &ask {
            Ask::Sum { body: Some((v, _)), .. } => {
                let body = v.to_string();
                let extra =
                    format!("{extra}Content-Length: {}\r\n", body.len());
                Request::new("POST", &ask.target(), &s.host, &extra)
                    .with(body.as_bytes())
            }
            _ => Request::new("GET", &ask.target(), &s.host, extra),
        };
        let mut conn = s.open()?;
        let response = s.exchange_on(&mut conn, &request)?;
        s.judge(&ask, &request, &response)?;
        if conn.wait_end(s.deadline()).is_none() {
            let miss = s.miss(
                &request,
                "the right answer, then a close",
                "the right answer, and the connection stayed open",
            );
            return Err(miss.as_verdict(Verdict::DidNotClose));
        }
    }
    Ok(())
}

fn reset(s: &mut Session<'_>) -> Outcome {
    let mixes = [None, Some(Framing::Length), Some(Framing::Chunked)];
    for i in 0..RESETS {
        let mut conn = s.open()?;
        for j in 0..REQUESTS_PER_CONNECTION {
            let body = mixes[((i + j) % 3) as usize];
            let ask = s.sum(1, 9999, body);
            s.ask_on(&mut conn, &ask).map_err(|mut m| {
                m.got = format!("{} (after {i} resets)", m.got);
                m
            })?;
        }
        conn.reset();
    }
    let ask = s.sum(1, 9999, None);
    s.ask(&ask).map_err(|mut m| {
        m.got = format!("{} (after {RESETS} resets)", m.got);
        m
    })
}
