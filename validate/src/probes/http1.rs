//! HTTP/1.1 itself, asked through `/baseline11`: what every server must
//! read, and what it may refuse.

use profiles::ask::Ask;
use profiles::profile::Framing;
use profiles::verdict::Verdict;

use super::SUM;
use crate::http::{Fault, Request};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::{Session, summary};

const BASE: Probe =
    Probe { profiles: SUM, source: "", legal: "200 and the sum", ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "http.absolute",
        rule: "A request target in absolute form is accepted.",
        source: "RFC 9112 section 3.2.2",
        hint: "route by the path of the target, also when it begins with \
               http://host",
        run: absolute,
        ..BASE
    },
    Probe {
        id: "http.names",
        rule: "Header names and the name of the chunked coding are read in \
               any case, with or without space around the value, and in any \
               order.",
        source: "RFC 9110 section 5.1; RFC 9112 sections 5.1 and 7",
        legal: "200 and the sum; 4xx to a tab around Host is a warning",
        hint: "compare header names without regard to case and trim their \
               values",
        run: names,
        ..BASE
    },
    Probe {
        id: "http.version10",
        rule: "A request of HTTP/1.0 is answered without the chunked coding, \
               or refused.",
        source: "RFC 9110 section 2.5; RFC 9112 section 6.1",
        legal: "200 and the sum, not chunked; 505; any 4xx; or a close",
        hint: "answer HTTP/1.0 with a Content-Length and close, or with 505",
        run: version10,
        ..BASE
    },
    Probe {
        id: "http.long-header",
        rule: "A header of 8 KiB is read over or refused, never left \
               without an answer.",
        source: "RFC 9110 section 5.4; RFC 6585 section 5",
        legal: "200 and the sum; 431, 413, 414 or 400; or a close",
        hint: "read on until the head is complete, or refuse it with 431",
        run: long_header,
        ..BASE
    },
    Probe {
        id: "http.not-found",
        rule: "A path that is not served is answered with 404.",
        source: "RFC 9110 section 15.5.5",
        legal: "404; another 4xx is a warning",
        hint: "route by the whole path; answer 404 to all others",
        run: not_found,
        ..BASE
    },
];

fn absolute(s: &mut Session<'_>) -> Outcome {
    for body in [None, Some(Framing::Length)] {
        let ask = s.sum(1, 9999, body);
        let mut request = s.request(&ask);
        let relative = format!(" {} ", ask.target());
        let full = format!(" http://{}{} ", s.host, ask.target());
        let text = String::from_utf8_lossy(&request.bytes);
        let text = text.replacen(&relative, &full, 1);
        request.bytes = text.into_bytes();
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}

/// The last shape of [`names`].
const TABS: usize = 3;

fn names(s: &mut Session<'_>) -> Outcome {
    for shape in 0..=TABS {
        let ask = s.sum(1, 9999, Some(Framing::Length));
        let Ask::Sum { body: Some((value, _)), .. } = ask else { continue };
        let (host, body) = (&s.host, value.to_string());
        let (n, hex) = (body.len(), format!("{:x}", body.len()));
        let chunked = format!("{hex}\r\n{body}\r\n0\r\n\r\n");
        let (head, body) = match shape {
            0 => (format!("host: {host}\r\ncontent-length:{n}\r\n"), body),
            1 => (format!("CONTENT-LENGTH:  {n} \r\nHOST:{host}\r\n"), body),
            2 => (
                format!("TRANSFER-ENCODING: Chunked\r\nHost: {host}\r\n"),
                chunked,
            ),
            _ => (
                format!("hOST:\t{host}\t\r\ntransfer-encoding:chunked\r\n"),
                chunked,
            ),
        };
        let line = format!("POST {} HTTP/1.1\r\n", ask.target());
        let request = Request::raw(format!("{line}{head}\r\n{body}"));
        let response = s.exchange(&request)?;
        let judged = s.judge(&ask, &request, &response);
        // nginx refuses a tab around Host, which harms nobody.
        if shape == TABS && (400..500).contains(&response.status) {
            return judged.map_err(|miss| miss.as_verdict(Verdict::Warn));
        }
        judged?;
    }
    Ok(())
}

fn version10(s: &mut Session<'_>) -> Outcome {
    let ask = s.sum(1, 9999, None);
    let line =
        format!("GET {} HTTP/1.0\r\nHost: {}\r\n\r\n", ask.target(), s.host);
    let request = Request::raw(line);
    let mut conn = s.open()?;
    s.asked = Some(request.shown());
    conn.send(&request.bytes, s.deadline());
    let response = match conn.receive(false, s.deadline()) {
        Ok(response) => response,
        Err(Fault::Ended { got: 0, .. }) => return Ok(()),
        Err(fault) => return Err(s.faulty(&request, &fault)),
    };
    if !response.list("transfer-encoding").is_empty() {
        let expected = "an answer that is not chunked";
        return Err(s.miss(&request, expected, "Transfer-Encoding was sent"));
    }
    match response.status {
        400..=499 | 505 => return Ok(()),
        200 => s.judge(&ask, &request, &response)?,
        _ => {
            let expected = "200, 505 or 4xx";
            return Err(s.miss(&request, expected, summary(&response)));
        }
    }
    if conn.wait_end(s.short()).is_none() {
        let miss = s.miss(
            &request,
            "a close after the answer, since keep-alive was not asked for",
            "the right answer, and the connection stayed open",
        );
        return Err(miss.as_verdict(Verdict::Warn));
    }
    Ok(())
}

fn long_header(s: &mut Session<'_>) -> Outcome {
    let ask = s.sum(1, 9999, None);
    let extra = format!("X-Long: {}\r\n", "x".repeat(8 * 1024));
    let request = Request::new("GET", &ask.target(), &s.host, &extra);
    let mut conn = s.open()?;
    s.asked = Some(request.shown());
    conn.send(&request.bytes, s.deadline());
    match conn.receive(false, s.deadline()) {
        Ok(r) if matches!(r.status, 400 | 413 | 414 | 431) => Ok(()),
        Ok(r) => s.judge(&ask, &request, &r),
        Err(Fault::Ended { got: 0, .. }) => Ok(()),
        Err(fault) => Err(s.faulty(&request, &fault)),
    }
}

fn not_found(s: &mut Session<'_>) -> Outcome {
    let n = s.rng.between(10_000, 99_999);
    for path in [format!("/no-such-{n}"), format!("/baseline11-{n}?a=1&b=1")] {
        let request = s.get(&path);
        let response = s.exchange(&request)?;
        let miss = s.miss(&request, "404", summary(&response));
        match response.status {
            404 => {}
            400..=499 => return Err(miss.as_verdict(Verdict::Warn)),
            _ => return Err(miss),
        }
    }
    Ok(())
}
