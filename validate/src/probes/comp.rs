//! Content codings of `/json/{count}`.

use profiles::ask::Ask;
use profiles::verdict::Verdict;

use super::json::ask;
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;

/// What the load sends.
const LOAD: &str = "gzip, br";

const BASE: Probe = Probe {
    profiles: &["json-comp"],
    source: "contract, profile json-comp; RFC 9110 section 12.5.3",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "comp.encoded",
        rule: "With Accept-Encoding: gzip, br the answer is compressed with \
               one of them, and decodes to the whole document.",
        legal: "Content-Encoding gzip or br, once, and the right document",
        hint: "compress the answer once with gzip or brotli and name that \
               coding in Content-Encoding",
        run: encoded,
        ..BASE
    },
    Probe {
        id: "comp.none",
        rule: "Without Accept-Encoding the answer is not compressed.",
        legal: "no Content-Encoding, and the right document",
        hint: "compress only when the request has an Accept-Encoding",
        run: none,
        ..BASE
    },
    Probe {
        id: "comp.single",
        rule: "With one coding in Accept-Encoding, that one or none is used.",
        legal: "that coding or none, and the right document",
        hint: "choose among the codings the request names",
        run: single,
        ..BASE
    },
    Probe {
        id: "comp.refused",
        rule: "A coding with q=0 is not used, and identity means none.",
        legal: "a coding that was not refused or none, and the right \
                document",
        hint: "read the q values: q=0 refuses a coding",
        run: refused,
        ..BASE
    },
    Probe {
        id: "comp.forms",
        version: 2,
        rule: "Wildcards, q values, case and unknown codings in \
               Accept-Encoding are read as the RFC says.",
        legal: "an acceptable coding or none, and the right document",
        hint: "parse Accept-Encoding as a list of codings with q values",
        run: forms,
        ..BASE
    },
    Probe {
        id: "comp.vary",
        rule: "A compressed answer names Accept-Encoding in Vary.",
        source: "RFC 9110 section 12.5.5",
        legal: "Vary with Accept-Encoding; its absence is a warning",
        hint: "send Vary: Accept-Encoding, or caches mix the codings up",
        run: vary,
        ..BASE
    },
];

fn draw(s: &mut Session<'_>, accept: Option<&str>) -> Ask {
    // From 20 items on, every compressor finds something to save.
    let (count, m) = (s.rng.between(20, 50), s.rng.between(1, 99));
    ask(s, count, Some(m), accept)
}

fn each(s: &mut Session<'_>, accepts: &[&str]) -> Outcome {
    for accept in accepts {
        let ask = draw(s, Some(accept));
        s.ask(&ask)?;
    }
    Ok(())
}

fn encoded(s: &mut Session<'_>) -> Outcome {
    let mut conn = s.open()?;
    for _ in 0..6 {
        let mut ask = draw(s, Some(LOAD));
        if let Ask::Json { must_encode, .. } = &mut ask {
            *must_encode = true;
        }
        s.ask_on(&mut conn, &ask)?;
    }
    Ok(())
}

fn none(s: &mut Session<'_>) -> Outcome {
    // After a compressed answer on the same connection, and on its own.
    let first = draw(s, Some(LOAD));
    let mut conn = s.open()?;
    let request = s.request(&first);
    s.exchange_on(&mut conn, &request)?;
    let plain = draw(s, None);
    s.ask_on(&mut conn, &plain)?;
    let plain = draw(s, None);
    s.ask(&plain)
}

fn single(s: &mut Session<'_>) -> Outcome {
    each(s, &["gzip", "br"])
}

fn refused(s: &mut Session<'_>) -> Outcome {
    let lists = [
        "gzip;q=0",
        "gzip;q=0, br",
        "br;q=0, gzip;q=0.000",
        "identity",
        "gzip, br;q=0",
        "*;q=0, identity",
    ];
    each(s, &lists)
}

fn forms(s: &mut Session<'_>) -> Outcome {
    let lists = [
        "*",
        "br;q=0.1, gzip;q=1.0",
        "gzip;q=0.5 , br;q=0.9",
        "GZip",
        "zstd, x-unknown",
        // Not `brotli`: widely used libraries take that for br.
        "gzipped, brx",
    ];
    each(s, &lists)
}

fn vary(s: &mut Session<'_>) -> Outcome {
    let ask = draw(s, Some(LOAD));
    let request = s.request(&ask);
    let response = s.exchange(&request)?;
    names_vary(s, &request, &response)
}

/// A warning, if a coded answer does not name what it depends on.
pub(super) fn names_vary(
    s: &Session<'_>,
    request: &crate::http::Request,
    response: &crate::http::Response,
) -> Outcome {
    let vary = response.list("vary").to_ascii_lowercase();
    let named = vary
        .split(',')
        .map(str::trim)
        .any(|v| v == "accept-encoding" || v == "*");
    if named || response.header("content-encoding").is_none() {
        return Ok(());
    }
    let got = format!(
        "a compressed answer with Vary `{}`",
        profiles::oracle::clip(vary.as_bytes())
    );
    let miss = s.miss(request, "Vary: Accept-Encoding", got);
    Err(miss.as_verdict(Verdict::Warn))
}
