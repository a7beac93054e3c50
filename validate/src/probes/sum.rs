//! `/baseline11`: the answers themselves.

use std::collections::BTreeSet;

use profiles::ask::Ask;
use profiles::profile::Framing;

use super::{SUM, SUM_GET};
use crate::http::{Request, Style, encode};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;

const FAR: i64 = 1 << 60;
const LEGAL: &str = "200, text/plain, and a body of the decimal sum alone";

const BASE: Probe = Probe {
    profiles: SUM,
    source: "contract, endpoint SUM",
    legal: LEGAL,
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "sum.get",
        version: 2,
        profiles: SUM_GET,
        rule: "GET on the path of sums answers the sum of the query parameters a \
               and b: status, content type and the whole body.",
        hint: "answer 200 and text/plain, with the sum and no other byte \
               in the body",
        run: |s| several(s, None),
        ..BASE
    },
    Probe {
        id: "sum.post",
        rule: "POST /baseline11 with a Content-Length adds the integer in \
               the body.",
        hint: "read exactly Content-Length bytes, parse them as a decimal \
               integer, and add it to a and b",
        run: |s| several(s, Some(Framing::Length)),
        ..BASE
    },
    Probe {
        id: "sum.chunked",
        rule: "POST /baseline11 with a chunked body adds the integer in it.",
        hint: "decode the chunked coding before the body is parsed; there \
               is no Content-Length to go by",
        run: |s| several(s, Some(Framing::Chunked)),
        ..BASE
    },
    Probe {
        id: "sum.wide",
        version: 2,
        profiles: SUM_GET,
        rule: "Operands and sums are signed 64-bit integers: zero, \
               negative, of one digit and of nineteen.",
        hint: "parse with a full 64-bit signed parser; do not assume a \
               number of digits or a sign",
        run: wide,
        ..BASE
    },
    Probe {
        id: "sum.params",
        version: 2,
        profiles: SUM_GET,
        rule: "Query parameters may come in any order, and parameters other \
               than a and b are ignored.",
        hint: "look the parameters up by their whole name, not by position",
        run: params,
        ..BASE
    },
    Probe {
        id: "sum.cache",
        rule: "Two POSTs to one URL with different bodies have different \
               answers.",
        hint: "do not cache answers by URL; compute each one",
        run: cache,
        ..BASE
    },
    Probe {
        id: "sum.space",
        rule: "White space around the integer in the body is ignored.",
        hint: "trim spaces, tabs and line ends before the body is parsed",
        run: space,
        ..BASE
    },
    Probe {
        id: "sum.chunk-forms",
        rule: "A chunked body may come in many chunks, with leading zeros, \
               upper-case sizes, and extensions, which are ignored.",
        source: "RFC 9112 sections 7.1 and 7.1.1",
        hint: "parse the whole grammar of the chunk-size line: hex digits of \
               both cases, leading zeros, and `;` extensions to ignore",
        run: chunk_forms,
        ..BASE
    },
];

fn several(s: &mut Session<'_>, body: Option<Framing>) -> Outcome {
    // The range of the load, then wider ones: other lengths of number.
    for (low, high) in [(1, 9999), (1, 9999), (100, 999), (-50_000, -1)] {
        let ask = s.sum(low, high, body);
        s.ask(&ask)?;
    }
    Ok(())
}

fn wide(s: &mut Session<'_>) -> Outcome {
    let digit = s.rng.between(1, 9);
    let far = s.rng.between(FAR, 2 * FAR);
    let short = i64::from(i16::MAX) + s.rng.between(1, 999);
    let int = i64::from(i32::MAX) + s.rng.between(1, 999_999);
    let bodies = SUM.contains(&s.profile.name.as_str());
    let pairs = [
        (0, 0, None),
        (digit, -digit, None),
        (-short, short + digit, None),
        (int, int, Some(int)),
        (-int, -int, Some(-digit)),
        (far, far, Some(-far)),
        (-far, -far, Some(0)),
        (i64::MAX, -digit, Some(-digit)),
        (i64::MIN, digit, None),
    ];
    for (a, b, third) in pairs {
        // Only these profiles send bodies; the rest is asked of all.
        let body = third.map(|v| (v, Framing::Length)).filter(|_| bodies);
        s.ask(&Ask::Sum { path: s.sum_path().into(), a, b, body })?;
    }
    Ok(())
}

/// Asks for a sum through another target than the usual one.
fn target(s: &mut Session<'_>, ask: &Ask, target: &str) -> Outcome {
    let request = s.get(target);
    let response = s.exchange(&request)?;
    s.judge(ask, &request, &response)
}

fn params(s: &mut Session<'_>) -> Outcome {
    for shape in 0..4 {
        let ask = s.sum(-9999, 9999, None);
        let Ask::Sum { a, b, .. } = ask else { continue };
        let c = s.rng.between(1, 9999);
        let query = match shape {
            0 => format!("b={b}&a={a}"),
            1 => format!("a={a}&b={b}&c={c}"),
            2 => format!("aa={c}&b={b}&ab={c}&a={a}"),
            _ => format!("x=&b={b}&ba={c}&a={a}&y"),
        };
        let path = s.sum_path();
        target(s, &ask, &format!("{path}?{query}"))?;
    }
    Ok(())
}

fn cache(s: &mut Session<'_>) -> Outcome {
    let (a, b) = (s.rng.between(1, 9999), s.rng.between(1, 9999));
    let mut bodies = BTreeSet::new();
    while bodies.len() < 3 {
        bodies.insert(s.rng.between(100, 999));
    }
    let bodies: Vec<i64> = bodies.into_iter().collect();
    let path = s.sum_path();
    let ask = |v: i64, framing| Ask::Sum {
        path: path.into(),
        a,
        b,
        body: Some((v, framing)),
    };
    let mut conn = s.open()?;
    for i in [0, 1, 2, 0] {
        let framing = if i == 2 { Framing::Chunked } else { Framing::Length };
        s.ask_on(&mut conn, &ask(bodies[i], framing))?;
    }
    s.ask(&ask(bodies[1], Framing::Length))
}

fn space(s: &mut Session<'_>) -> Outcome {
    for (before, after) in [("", "\r\n"), (" ", ""), ("\t ", " \n")] {
        let ask = s.sum(1, 9999, Some(Framing::Length));
        let Ask::Sum { body: Some((value, _)), .. } = ask else { continue };
        let body = format!("{before}{value}{after}");
        let request = Request::of(&ask, &s.host, body.as_bytes());
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}

fn chunk_forms(s: &mut Session<'_>) -> Outcome {
    let plain = Style::default();
    let styles = [
        (&[1][..], plain),
        (&[2, 1], Style { zeros: 3, ..plain }),
        (&[], Style { extension: ";name=value", ..plain }),
        (&[10, 1], Style { upper: true, extension: ";q=\"a b\"", ..plain }),
    ];
    for (sizes, style) in styles {
        // Eleven digits and more need a size that is a hex letter.
        let ask = s.sum(10_000_000_000, FAR / 8, Some(Framing::Chunked));
        let Ask::Sum { body: Some((value, _)), .. } = ask else { continue };
        let wire = encode(value.to_string().as_bytes(), sizes, style);
        let extra = "Transfer-Encoding: chunked\r\n";
        let request = Request::new("POST", &ask.target(), &s.host, extra);
        let request = request.with(&wire);
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}
