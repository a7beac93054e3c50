//! `/json/{count}`: the whole document, for counts and multipliers that
//! nobody can know beforehand.

use profiles::ask::Ask;
use profiles::verdict::Verdict;

use super::JSON;
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::{Session, summary};

/// Large enough that totals pass 32 bits.
const LARGE: i64 = 1_000_000;

/// Those whose documents take a multiplier.
const MULTIPLIED: &[&str] =
    &["json", "json-comp", "json-tls", "json-h2c", "api-4", "api-16"];

const BASE: Probe = Probe {
    profiles: JSON,
    source: "contract, endpoint JSON",
    legal: "200, application/json, and the whole document",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "json.document",
        rule: "GET /json/{count}?m= answers the first count items with all \
               their fields, in file order, and the count.",
        hint: "take the first count items of the dataset, copy all eight \
               fields, add total, and serialise them for every request",
        run: document,
        ..BASE
    },
    Probe {
        id: "json.multiplier",
        profiles: MULTIPLIED,
        rule: "The total of an item is price × quantity × m, for every m. \
               Documents or totals prepared for one m are found out here; \
               items that are only kept in memory are not, and may be.",
        hint: "compute total from the m of the request, in 64 bits; do not \
               keep documents by count",
        run: multiplier,
        ..BASE
    },
    Probe {
        id: "json.default",
        rule: "Without m the multiplier is 1.",
        hint: "use 1 when the query has no m",
        run: default,
        ..BASE
    },
    Probe {
        id: "json.non-numeric",
        rule: "A count that is no number is refused.",
        legal: "400 or 404; another 4xx is a warning",
        hint: "answer 400 or 404 when the count does not parse",
        run: non_numeric,
        ..BASE
    },
    Probe {
        id: "json.range",
        rule: "A count outside 1 to 50 is clamped or refused.",
        legal: "the document of the nearest count from 0 to 50; or 400 or \
                404",
        hint: "clamp the count to 0..50, or answer 400",
        run: range,
        ..BASE
    },
];

pub(super) fn ask(
    s: &Session<'_>,
    count: i64,
    m: Option<i64>,
    accept: Option<&str>,
) -> Ask {
    Ask::Json {
        path: s.json_path().into(),
        count: count.clamp(0, 50) as u32,
        multiplier: m,
        accept_encoding: accept.map(Into::into),
        must_encode: false,
    }
}

fn document(s: &mut Session<'_>) -> Outcome {
    let counts = [1, 50, s.rng.between(2, 9), s.rng.between(10, 49)];
    for count in counts {
        let m = s.multiplier(2, 99);
        s.ask(&ask(s, count, m, None))?;
    }
    let mut link = s.link()?;
    for _ in 0..4 {
        let (count, m) = (s.rng.between(1, 50), s.multiplier(1, 99));
        let ask = ask(s, count, m, None);
        s.ask_on(&mut link, &ask)?;
    }
    Ok(())
}

fn multiplier(s: &mut Session<'_>) -> Outcome {
    let count = s.rng.between(5, 45);
    let mut ms = vec![1, s.rng.between(2, 9), s.rng.between(10, 999)];
    ms.push(s.rng.between(LARGE / 2, LARGE));
    s.rng.shuffle(&mut ms);
    for m in ms {
        s.ask(&ask(s, count, Some(m), None))?;
    }
    Ok(())
}

fn default(s: &mut Session<'_>) -> Outcome {
    for _ in 0..2 {
        let count = s.rng.between(1, 50);
        s.ask(&ask(s, count, None, None))?;
    }
    Ok(())
}

fn non_numeric(s: &mut Session<'_>) -> Outcome {
    let n = s.rng.between(1, 50);
    for count in ["abc".into(), format!("x{n}")] {
        let request = s.get(&format!("{}{count}", s.json_path()));
        let response = s.exchange(&request)?;
        let miss = s.miss(&request, "400 or 404", summary(&response));
        match response.status {
            400 | 404 => {}
            400..=499 => return Err(miss.as_verdict(Verdict::Warn)),
            _ => return Err(miss),
        }
    }
    Ok(())
}

fn range(s: &mut Session<'_>) -> Outcome {
    let (over, under) = (s.rng.between(51, 5000), s.rng.between(-99, -1));
    let m = s.multiplier(2, 9);
    let query = m.map(|m| format!("?m={m}")).unwrap_or_default();
    for count in [over, 0, under] {
        let request = s.get(&format!("{}{count}{query}", s.json_path()));
        let response = s.exchange(&request)?;
        if matches!(response.status, 400 | 404) {
            continue;
        }
        let ask = ask(s, count, m, None);
        s.judge(&ask, &request, &response).map_err(|mut miss| {
            miss.expected.push_str("; or 400 or 404");
            miss
        })?;
    }
    Ok(())
}
