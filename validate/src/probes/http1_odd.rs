//! Requests that are odd: some are legal and must be answered or refused,
//! some are not and must be refused. A failure only where the RFC forbids the
//! outcome.

use std::time::Duration;

use profiles::ask::Ask;
use profiles::profile::Framing;
use profiles::verdict::Verdict;

use super::SUM;
use super::framing::{must_refuse, post};
use crate::http::{Fault, Request};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};

/// A server that asks for the body does so within this.
const ASKS: Duration = Duration::from_millis(300);
const MANY: usize = 60;
const LONG: usize = 6000;

const BASE: Probe = Probe {
    profiles: SUM,
    stage: Stage::Rough,
    legal: "4xx, 5xx or a close; silence is a warning",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "http.codings",
        rule: "A body in a transfer coding that nobody knows, or whose last \
               coding is not chunked, is refused.",
        source: "RFC 9112 sections 6.1 and 6.3",
        hint: "read Transfer-Encoding as a list of whole words; answer 501 to \
               an unknown one and 400 when chunked is not the last",
        run: codings,
        ..BASE
    },
    Probe {
        id: "http.colon",
        rule: "White space before the colon of a field is refused; a line \
               that is folded into the one before is refused or read on.",
        source: "RFC 9112 sections 5.1 and 5.2",
        legal: "4xx, 5xx or a close for white space (silence is a warning); \
                4xx, a close or the right answer for a folded line",
        hint: "use a parser that refuses white space before the colon",
        run: colon,
        ..BASE
    },
    Probe {
        id: "http.host",
        rule: "A request without Host, or with two, is refused.",
        source: "RFC 9112 section 3.2",
        legal: "400 or a close; to answer it is a warning",
        hint: "answer 400 to a request of HTTP/1.1 without exactly one Host",
        run: host,
        ..BASE
    },
    Probe {
        id: "http.many-headers",
        rule: "A request of sixty fields is answered or refused, never left \
               without an answer.",
        source: "RFC 9110 section 5.4; RFC 6585 section 5",
        legal: "200 and the sum; 431, 413 or 400; or a close",
        hint: "make room for more fields, or refuse with 431",
        run: many,
        ..BASE
    },
    Probe {
        id: "http.long-line",
        rule: "A request line of six thousand bytes is answered or refused, \
               never left without an answer.",
        source: "RFC 9112 section 3; RFC 9110 section 15.5.15",
        legal: "200 and the sum; 414, 413, 431 or 400; or a close",
        hint: "make room for the line, or refuse with 414",
        run: long_line,
        ..BASE
    },
    Probe {
        id: "http.expect",
        rule: "A client that asks with Expect: 100-continue gets 100 or \
               nothing before the body, and then the answer to it.",
        source: "RFC 9110 section 10.1.1",
        legal: "100 and the sum; the sum alone; 417",
        hint: "send 100 before the body is read, or read on",
        run: expect,
        ..BASE
    },
];

fn codings(s: &mut Session<'_>) -> Outcome {
    for coding in ["xchunked", "chunked, xchunked"] {
        let extra = format!("Transfer-Encoding: {coding}\r\n");
        let request = post(s, &extra, "2\r\n20\r\n0\r\n\r\n");
        must_refuse(s, &request)?;
    }
    Ok(())
}

fn colon(s: &mut Session<'_>) -> Outcome {
    let request = post(s, "Content-Length : 2\r\n", "20");
    must_refuse(s, &request)?;
    let ask = s.sum(1, 9999, None);
    let extra = "X-Folded: one\r\n two\r\n";
    let request = Request::new("GET", &ask.target(), &s.host, extra);
    answered_or(s, &ask, &request, &[])
}

/// Answered rightly, refused with 400 or one of these, or closed.
fn answered_or(
    s: &mut Session<'_>,
    ask: &Ask,
    request: &Request,
    refusals: &[u16],
) -> Outcome {
    let mut conn = s.open()?;
    s.asked.get_or_insert_with(|| request.shown());
    conn.send(&request.bytes, s.deadline());
    match conn.receive(false, s.deadline()) {
        Ok(r) if r.status == 400 || refusals.contains(&r.status) => Ok(()),
        Ok(r) => s.judge(ask, request, &r),
        Err(Fault::Ended { got: 0, .. }) => Ok(()),
        Err(fault) => Err(s.faulty(request, &fault)),
    }
}

fn host(s: &mut Session<'_>) -> Outcome {
    let target = s.sum(1, 9999, None).target();
    let one = format!("Host: {}\r\n", s.host);
    for hosts in [String::new(), format!("{one}Host: other\r\n")] {
        let request =
            Request::raw(format!("GET {target} HTTP/1.1\r\n{hosts}\r\n"));
        let mut conn = s.open()?;
        s.asked.get_or_insert_with(|| request.shown());
        conn.send(&request.bytes, s.deadline());
        match conn.receive(false, s.short()) {
            Ok(r) if (400..600).contains(&r.status) => {}
            Ok(r) => {
                let miss = s.miss(&request, "400 or a close", summary(&r));
                return Err(miss.as_verdict(Verdict::Warn));
            }
            Err(Fault::Ended { .. }) => {}
            Err(fault) => {
                let miss = s.faulty(&request, &fault);
                return Err(miss.as_verdict(Verdict::Warn));
            }
        }
    }
    Ok(())
}

fn many(s: &mut Session<'_>) -> Outcome {
    let ask = s.sum(1, 9999, None);
    let extra: String =
        (0..MANY).map(|i| format!("X-Field-{i}: {i}\r\n")).collect();
    let request = Request::new("GET", &ask.target(), &s.host, &extra);
    answered_or(s, &ask, &request, &[413, 431])
}

fn long_line(s: &mut Session<'_>) -> Outcome {
    let ask = s.sum(1, 9999, None);
    let target = format!("{}&x={}", ask.target(), "x".repeat(LONG));
    let request = Request::new("GET", &target, &s.host, "");
    answered_or(s, &ask, &request, &[413, 414, 431])
}

fn expect(s: &mut Session<'_>) -> Outcome {
    let ask = s.sum(1, 9999, Some(Framing::Length));
    let Ask::Sum { body: Some((value, _)), .. } = ask else { return Ok(()) };
    let body = value.to_string();
    let extra =
        format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len());
    let head = Request::new("POST", &ask.target(), &s.host, &extra);
    let whole = head.clone().with(body.as_bytes());
    s.asked.get_or_insert_with(|| whole.shown());
    let mut conn = s.open()?;
    conn.send(&head.bytes, s.deadline());
    match conn.receive(false, s.within(ASKS)) {
        // It wants the body, and perhaps has said so.
        Err(Fault::Late { .. }) => {}
        Ok(r) if r.status == 417 => return Ok(()),
        Ok(r) => {
            let expected = "100, 417, or nothing before the body";
            return Err(s.miss(&whole, expected, summary(&r)));
        }
        Err(fault) => return Err(s.faulty(&whole, &fault)),
    }
    conn.send(body.as_bytes(), s.deadline());
    let response = conn
        .receive(false, s.deadline())
        .map_err(|fault| s.faulty(&whole, &fault))?;
    s.judge(&ask, &whole, &response)
}
