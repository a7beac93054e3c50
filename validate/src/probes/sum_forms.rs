//! `/baseline11`: forms of asking with more than one right outcome.

use profiles::ask::Ask;
use profiles::profile::Framing;
use profiles::verdict::Verdict;

use super::SUM;
use crate::http::{Request, Style, encode};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::{Session, summary};

const BASE: Probe =
    Probe { profiles: SUM, source: "contract, endpoint SUM", ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "sum.missing",
        rule: "A missing or non-numeric parameter counts as 0 or is refused \
               with 400, in every case alike.",
        legal: "always the sum with 0 for that parameter, or always 400; \
                another 4xx is a warning",
        hint: "choose one treatment for parameters that are missing or no \
               number, and use it for both",
        run: missing,
        ..BASE
    },
    Probe {
        id: "sum.method",
        rule: "Methods other than GET, HEAD and POST are refused with 405.",
        source: "contract, endpoint SUM; RFC 9110 sections 15.5.6, 15.6.2",
        legal: "405 or 501; another 4xx is a warning",
        hint: "route by method: answer 405 to PUT, DELETE and PATCH",
        run: method,
        ..BASE
    },
    Probe {
        id: "sum.head",
        rule: "The answer to HEAD has no body, and a request after it on the \
               same connection is answered as usual.",
        source: "RFC 9110 section 9.3.2",
        legal: "the headers of GET, or 405, 501 or 404; never a body",
        hint: "send no body in answer to HEAD, whatever the status is",
        run: head,
        ..BASE
    },
    Probe {
        id: "sum.percent",
        rule: "Percent-encoded digits in the query mean the digits.",
        source: "RFC 3986 section 6.2.2.2",
        legal: "the sum; anything else is a warning",
        hint: "decode %XX in the values of the query",
        run: percent,
        ..BASE
    },
    Probe {
        id: "sum.trailers",
        rule: "Trailer fields after the last chunk are read over.",
        source: "RFC 9112 section 7.1.2",
        legal: "the sum; anything else is a warning",
        hint: "after the last chunk, read lines up to an empty one",
        run: trailers,
        ..BASE
    },
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Treatment {
    Zero,
    Refused,
}

fn missing(s: &mut Session<'_>) -> Outcome {
    let mut first: Option<(Treatment, String)> = None;
    let mut odd = None;
    for shape in 0..5 {
        let v = s.rng.between(1, 9999);
        let query = match shape {
            0 => format!("?a={v}"),
            1 => format!("?b={v}"),
            2 => format!("?a={v}&b=x"),
            3 => format!("?a=z&b={v}"),
            _ => format!("?a={v}&b="),
        };
        let request = s.get(&format!("/baseline11{query}"));
        let response = s.exchange(&request)?;
        let right = v.to_string();
        let now = match response.status {
            200 if response.body == right.as_bytes() => Treatment::Zero,
            400..=499 => Treatment::Refused,
            _ => {
                let expected = format!("400, or 200 and the body `{right}`");
                return Err(s.miss(&request, expected, summary(&response)));
            }
        };
        if now == Treatment::Refused && response.status != 400 {
            let miss = s.miss(&request, "400", summary(&response));
            odd.get_or_insert(miss.as_verdict(Verdict::Warn));
        }
        match &first {
            None => first = Some((now, query)),
            Some((before, other)) if *before != now => {
                let expected = format!("{before:?}, as for `{other}`");
                return Err(s.miss(&request, expected, summary(&response)));
            }
            Some(_) => {}
        }
    }
    odd.map_or(Ok(()), Err)
}

fn method(s: &mut Session<'_>) -> Outcome {
    let mut odd = None;
    for method in ["PUT", "DELETE", "PATCH", "BREW"] {
        let target = s.sum(1, 9999, None).target();
        let extra = match method {
            "DELETE" | "BREW" => "",
            _ => "Content-Length: 2\r\n",
        };
        let body = if extra.is_empty() { "" } else { "20" };
        let request = Request::new(method, &target, &s.host, extra);
        let request = request.with(body.as_bytes());
        let response = s.exchange(&request)?;
        let miss = s.miss(&request, "405 or 501", summary(&response));
        match response.status {
            405 | 501 => {}
            400..=499 => odd = odd.or(Some(miss.as_verdict(Verdict::Warn))),
            _ => return Err(miss),
        }
    }
    odd.map_or(Ok(()), Err)
}

fn head(s: &mut Session<'_>) -> Outcome {
    let ask = s.sum(1, 9999, None);
    let after = s.sum(1, 9999, None);
    let exact = s.oracle.exact(&ask).unwrap_or_default();
    head_of(s, &ask.target(), &["text/plain"], exact.len(), &after)
}

/// HEAD of a resource with `length` bytes, then another question on the same
/// connection: bytes of a body would be read as its answer.
pub(super) fn head_of(
    s: &mut Session<'_>,
    target: &str,
    kinds: &[&str],
    length: usize,
    after: &Ask,
) -> Outcome {
    let request = Request::new("HEAD", target, &s.host, "");
    let mut conn = s.link()?;
    let response = s.exchange_on(&mut conn, &request)?;
    let found = response.header("content-type").unwrap_or("");
    let right = found.split(';').next().unwrap_or("").trim();
    let same_length = response.length.is_none_or(|n| n == length as u64);
    let good = match response.status {
        200 => {
            same_length && kinds.iter().any(|k| right.eq_ignore_ascii_case(k))
        }
        404 | 405 | 501 => true,
        _ => false,
    };
    if !good {
        let expected = format!(
            "200, {}, Content-Length {length} or none; or 405",
            kinds[0]
        );
        let got = format!(
            "{}, `{}`, Content-Length {:?}",
            response.status,
            profiles::oracle::clip(found.as_bytes()),
            response.length
        );
        return Err(s.miss(&request, expected, got));
    }
    if response.says_close {
        return s.nothing_more(&mut conn, &request, s.short());
    }
    s.ask_on(&mut conn, after).map_err(|mut miss| {
        miss.asked = format!("{}, then {}", request.shown(), miss.asked);
        miss
    })
}

fn percent(s: &mut Session<'_>) -> Outcome {
    for _ in 0..2 {
        let ask = s.sum(-999, 999, None);
        let Ask::Sum { a, b, .. } = ask else { continue };
        let coded = |v: i64| -> String {
            v.to_string().bytes().map(|b| format!("%{b:02x}")).collect()
        };
        let target = format!("/baseline11?a={}&b={}", coded(a), coded(b));
        let request = s.get(&target);
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)
            .map_err(|m| m.as_verdict(Verdict::Warn))?;
    }
    Ok(())
}

fn trailers(s: &mut Session<'_>) -> Outcome {
    let style =
        Style { trailer: "X-Check: 1\r\nX-More: 2\r\n", ..Style::default() };
    let ask = s.sum(1, 9999, Some(Framing::Chunked));
    let Ask::Sum { body: Some((value, _)), .. } = ask else { return Ok(()) };
    let wire = encode(value.to_string().as_bytes(), &[], style);
    let extra = "Transfer-Encoding: chunked\r\n";
    let request = Request::new("POST", &ask.target(), &s.host, extra);
    let request = request.with(&wire);
    let mut conn = s.open()?;
    s.exchange_on(&mut conn, &request)
        .and_then(|response| s.judge(&ask, &request, &response))
        .map_err(|m| m.as_verdict(Verdict::Warn))
}
