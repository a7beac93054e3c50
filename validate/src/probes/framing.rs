//! Requests that no two parsers must read differently. Few, and a failure
//! only where the RFC forbids the outcome.

use profiles::verdict::Verdict;

use super::SUM;
use crate::http::{Conn, Fault, Request, Response};
use crate::probe::{BLANK, Miss, Outcome, Probe, Stage};
use crate::session::{Session, summary};

const BASE: Probe = Probe {
    profiles: SUM,
    stage: Stage::Rough,
    source: "RFC 9112 section 6.3",
    legal: "4xx, 5xx or a close; silence is a warning",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "http.lengths",
        version: 2,
        rule: "A request with an invalid Content-Length, or with two that \
               differ, is refused; one of 2^64 and more is never cut to fit.",
        source: "RFC 9110 section 8.6; RFC 9112 section 6.3",
        legal: "4xx, 5xx or a close; silence is a warning, and right after a \
                length that no body can have",
        hint: "answer 400 and close when Content-Length is no number or \
               comes twice with different values; answer 413 or 400 when it \
               is too large",
        run: lengths,
        ..BASE
    },
    Probe {
        id: "http.smuggle",
        rule: "Bytes that are body by the chunked coding are never answered \
               as a request, whatever Content-Length says.",
        source: "RFC 9112 sections 6.1 and 6.3",
        legal: "4xx, 5xx, a close, or one answer to the chunked body; silence \
                is a warning",
        hint: "let Transfer-Encoding override Content-Length, or refuse a \
               request that has both",
        run: smuggle,
        ..BASE
    },
    Probe {
        id: "http.bad-chunk",
        rule: "A chunked body with a broken size or without the CR LF after \
               a chunk is never taken for a good one.",
        source: "RFC 9112 sections 7.1 and 8",
        hint: "answer 400 and close when the chunked coding is broken",
        run: bad_chunk,
        ..BASE
    },
    Probe {
        id: "http.bad-line",
        rule: "Bytes that are no request are never answered with success.",
        source: "RFC 9112 sections 2.2 and 3",
        hint: "answer 400 and close when the request line is malformed",
        run: bad_line,
        ..BASE
    },
];

/// Sends what must be refused. Refused, closed or reset is `None`; silence is
/// a warning.
fn refuse(
    s: &mut Session<'_>,
    request: &Request,
) -> Result<Option<(Conn, Response)>, Box<Miss>> {
    let mut conn = s.open()?;
    s.asked.get_or_insert_with(|| request.shown());
    let by = s.deadline();
    conn.send(&request.bytes, by);
    match conn.receive(false, by) {
        Ok(response) if response.status >= 400 => Ok(None),
        Ok(response) => Ok(Some((conn, response))),
        Err(Fault::Ended { .. }) => Ok(None),
        Err(fault @ Fault::Late { got: 0 }) => {
            let miss = s.faulty(request, &fault);
            Err(miss.as_verdict(Verdict::Warn))
        }
        Err(fault) => Err(s.faulty(request, &fault)),
    }
}

pub(super) fn must_refuse(s: &mut Session<'_>, request: &Request) -> Outcome {
    match refuse(s, request)? {
        None => Ok(()),
        Some((_, response)) => {
            let expected = "4xx, 5xx or a close";
            Err(s.miss(request, expected, summary(&response)))
        }
    }
}

pub(super) fn post(s: &mut Session<'_>, extra: &str, body: &str) -> Request {
    let target = s.sum(1, 9999, None).target();
    let request = Request::new("POST", &target, &s.host, extra);
    request.with(body.as_bytes())
}

fn lengths(s: &mut Session<'_>) -> Outcome {
    let twice = "Content-Length: 2\r\nContent-Length: 4\r\n";
    for (extra, body) in [
        ("Content-Length: abc\r\n", "20"),
        ("Content-Length: -2\r\n", "20"),
        (twice, "2020"),
    ] {
        let request = post(s, extra, body);
        must_refuse(s, &request)?;
    }
    // In 64 bits this is 2. Whoever waits for the rest is right, too.
    let request = post(s, "Content-Length: 18446744073709551618\r\n", "20");
    let mut conn = s.open()?;
    conn.send(&request.bytes, s.short());
    match conn.receive(false, s.short()) {
        Ok(response) if response.status < 400 => {
            let expected = "4xx, 5xx, a close or silence";
            Err(s.miss(&request, expected, summary(&response)))
        }
        _ => Ok(()),
    }
}

fn smuggle(s: &mut Session<'_>) -> Outcome {
    // By Content-Length the body ends before the hidden request, by the
    // chunked coding it does not.
    let hidden = s.sum(100_000, 900_000, None);
    let inner = s.request(&hidden).bytes;
    let inner = String::from_utf8_lossy(&inner);
    let size = format!("{:x}", inner.len());
    let wire = format!("{size}\r\n{inner}\r\n0\r\n\r\n");
    let length = size.len() + 2;
    for extra in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
    ] {
        let request = post(s, &extra, &wire);
        let mut conn = s.open()?;
        s.asked.get_or_insert_with(|| request.shown());
        conn.send(&request.bytes, s.short());
        let hit = s.oracle.exact(&hidden).unwrap_or_default();
        let mut answer = conn.receive(false, s.deadline());
        if let Err(fault @ Fault::Late { got: 0 }) = &answer {
            let miss = s.faulty(&request, fault);
            return Err(miss.as_verdict(Verdict::Warn));
        }
        // More answers than requests can only be to hidden ones.
        while let Ok(response) = &answer {
            if response.body == hit.as_bytes() {
                let got = "the request inside the body was answered";
                let expected = "at most one answer, to the outer request";
                return Err(s.miss(&request, expected, got));
            }
            answer = conn.receive(false, s.short());
        }
    }
    Ok(())
}

fn bad_chunk(s: &mut Session<'_>) -> Outcome {
    let extra = "Transfer-Encoding: chunked\r\n";
    for body in [
        "zz\r\n20\r\n0\r\n\r\n",
        "-2\r\n20\r\n0\r\n\r\n",
        "2\r\n2055\r\n0\r\n\r\n",
    ] {
        let request = post(s, extra, body);
        must_refuse(s, &request)?;
    }
    Ok(())
}

fn bad_line(s: &mut Session<'_>) -> Outcome {
    let noise = s.rng.between(100_000, 999_999);
    for bytes in [
        // The start of a TLS hello.
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
        format!("noise {noise}\r\n\r\n").into_bytes(),
        format!("GET /baseline11?a=1&b=1\r\nHost: {}\r\n\r\n", s.host).into(),
    ] {
        must_refuse(s, &Request::raw(bytes))?;
    }
    Ok(())
}
