//! `arena compare`: is this one faster than that one, and how sure is that.
//!
//! Two entries of one run were interleaved, so their rounds are paired. Two
//! runs were not: drift between them is in the difference, so the intervals
//! of both must be apart before one is called faster.

use std::collections::BTreeMap;

use profiles::board::{CaseSummary, Results, Stored};
use profiles::record::Case;
use profiles::stat;
use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::rank;
use crate::args::Compare;
use crate::exit::{Class, fail};
use crate::place::Place;
use crate::print;

/// Differences are called at 95 %.
const CONFIDENCE: f64 = 0.95;
/// The share of false differences allowed over the whole table.
const FALSE_DISCOVERY: f64 = 0.05;
/// Two runs further apart are not compared.
const FARTHEST: time::Duration = time::Duration::hours(2);

/// One row: a case that both have, or one does not.
#[derive(Serialize)]
struct Row {
    /// `profile` and level, and the entry when two runs are compared.
    case: String,
    /// Median right answers per second of the first.
    a_per_s: Option<f64>,
    /// And of the second.
    b_per_s: Option<f64>,
    /// `a / b`.
    ratio: Option<f64>,
    /// The ratio's 95 % interval, where rounds are paired.
    lo: Option<f64>,
    hi: Option<f64>,
    /// `faster`, `slower`, `no difference` or `no result`: of a against b.
    verdict: &'static str,
    #[serde(skip)]
    p: Option<f64>,
}

#[derive(Serialize)]
struct Document {
    a: String,
    b: String,
    paired: bool,
    rows: Vec<Row>,
}

/// Prints the table.
pub fn run(place: &Place, args: &Compare) -> anyhow::Result<Class> {
    let document = if place.run(&args.a).is_ok() && place.run(&args.b).is_ok() {
        two_runs(place, args)?
    } else {
        two_entries(place, args)?
    };
    if args.json {
        print::json(&document)?;
    } else {
        print::text_out(&text(&document))?;
    }
    Ok(Class::Done)
}

fn two_entries(place: &Place, args: &Compare) -> anyhow::Result<Document> {
    let stored = rank::load(place, std::slice::from_ref(&args.run))?;
    let results = rank::results(&stored)?;
    for name in [&args.a, &args.b] {
        if !results.entries.keys().any(|e| e.as_str() == name) {
            let known: Vec<_> =
                results.entries.keys().map(|e| e.as_str()).collect();
            return Err(fail(
                Class::Usage,
                format!(
                    "`{name}` is neither a run nor an entry of run {}; its \
                     entries are: {}",
                    args.run,
                    known.join(", ")
                ),
            ));
        }
    }
    let of = |name: &str| -> BTreeMap<(String, u32), &CaseSummary> {
        let own = |(case, s)| key(case, name).map(|k| (k, s));
        results.cases.iter().filter_map(own).collect()
    };
    let (a, b) = (of(&args.a), of(&args.b));
    let mut keys: Vec<_> = a.keys().chain(b.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    let mut rows: Vec<Row> = keys
        .iter()
        .map(|key| {
            paired(&format!("{}/{}", key.0, key.1), a.get(key), b.get(key))
        })
        .collect();
    call(&mut rows);
    Ok(Document { a: args.a.clone(), b: args.b.clone(), paired: true, rows })
}

fn key(case: &Case, entry: &str) -> Option<(String, u32)> {
    (case.entry.as_str() == entry)
        .then(|| (case.profile.to_string(), case.level))
}

/// The valid rates by round.
fn rates(summary: Option<&&CaseSummary>) -> BTreeMap<u32, f64> {
    summary
        .filter(|s| s.missing.is_none())
        .map(|s| s.values.iter().map(|v| (v.round, v.rate)).collect())
        .unwrap_or_default()
}

fn paired(
    case: &str,
    a: Option<&&CaseSummary>,
    b: Option<&&CaseSummary>,
) -> Row {
    let (a, b) = (rates(a), rates(b));
    let both: Vec<(f64, f64)> =
        a.iter().filter_map(|(round, x)| Some((*x, *b.get(round)?))).collect();
    let ratios: Vec<f64> = both.iter().map(|(x, y)| x / y).collect();
    let (xs, ys): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
    let test = stat::paired_t_log(&xs, &ys);
    let interval = stat::t_interval_log(&ratios, CONFIDENCE);
    let row = base(case, &a, &b, stat::geometric_mean(&ratios));
    Row {
        lo: interval.map(|i| i.lo),
        hi: interval.map(|i| i.hi),
        p: test.map(|t| t.p),
        ..row
    }
}

fn base(
    case: &str,
    a: &BTreeMap<u32, f64>,
    b: &BTreeMap<u32, f64>,
    ratio: Option<f64>,
) -> Row {
    let median = |m: &BTreeMap<u32, f64>| {
        stat::median(&m.values().copied().collect::<Vec<_>>())
    };
    let (a_per_s, b_per_s) = (median(a), median(b));
    let verdict = if ratio.is_some() { "no difference" } else { "no result" };
    Row {
        case: case.to_string(),
        a_per_s,
        b_per_s,
        ratio,
        lo: None,
        hi: None,
        verdict,
        p: None,
    }
}

/// Calls differences with false discoveries held over the whole table.
fn call(rows: &mut [Row]) {
    let p: Vec<f64> = rows.iter().filter_map(|r| r.p).collect();
    let mut real = stat::benjamini_hochberg(&p, FALSE_DISCOVERY).into_iter();
    for row in rows.iter_mut().filter(|r| r.p.is_some()) {
        if real.next() == Some(true) {
            row.verdict = word(row.ratio);
        }
    }
}

fn word(ratio: Option<f64>) -> &'static str {
    match ratio {
        Some(r) if r > 1.0 => "faster",
        Some(_) => "slower",
        None => "no result",
    }
}

fn two_runs(place: &Place, args: &Compare) -> anyhow::Result<Document> {
    let names = [args.a.clone(), args.b.clone()];
    let stored = rank::load(place, &names)?;
    comparable(&stored[0], &stored[1])?;
    let one = |s: &Stored| rank::results(std::slice::from_ref(s));
    let (a, b): (Results, Results) = (one(&stored[0])?, one(&stored[1])?);
    let cases: std::collections::BTreeSet<&Case> =
        a.cases.keys().chain(b.cases.keys()).collect();
    let rows = cases
        .into_iter()
        .map(|case| {
            let name =
                format!("{}/{}/{}", case.entry, case.profile, case.level);
            let (x, y) = (a.cases.get(case), b.cases.get(case));
            apart(&name, &rates(x.as_ref()), &rates(y.as_ref()))
        })
        .collect();
    let [a, b] = names;
    Ok(Document { a, b, paired: false, rows })
}

fn apart(case: &str, a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> Row {
    let list = |m: &BTreeMap<u32, f64>| m.values().copied().collect::<Vec<_>>();
    let (xs, ys) = (list(a), list(b));
    let mean = |v: &[f64]| stat::geometric_mean(v);
    let ratio = mean(&xs).zip(mean(&ys)).map(|(x, y)| x / y);
    let mut row = base(case, a, b, ratio);
    let interval = |v: &[f64]| stat::t_interval_log(v, CONFIDENCE);
    if let (Some(x), Some(y)) = (interval(&xs), interval(&ys))
        && (x.lo > y.hi || x.hi < y.lo)
    {
        row.verdict = word(ratio);
    }
    row
}

fn comparable(a: &Stored, b: &Stored) -> anyhow::Result<()> {
    let refuse = |why: String| {
        Err(fail(
            Class::Usage,
            format!(
                "runs {} and {} are not compared: {why}; bench both entries \
                 in one run instead",
                a.run.run, b.run.run
            ),
        ))
    };
    let (ra, rb) = (&a.run, &b.run);
    if ra.environment.rig != rb.environment.rig {
        return refuse("they are from different rigs".into());
    }
    if ra.epoch != rb.epoch {
        return refuse(format!("epochs {} and {} differ", ra.epoch, rb.epoch));
    }
    if ra.host != rb.host {
        return refuse(format!("hosts {} and {} differ", ra.host, rb.host));
    }
    let at = |text: &str| OffsetDateTime::parse(text, &Rfc3339);
    let (Ok(x), Ok(y)) = (at(&ra.started_at), at(&rb.started_at)) else {
        return refuse("a start time cannot be read".into());
    };
    if (x - y).abs() > FARTHEST {
        return refuse("they are more than two hours apart".into());
    }
    Ok(())
}

fn text(document: &Document) -> String {
    let head =
        ["CASE", "A /S", "B /S", "A / B", "95 %", "A IS"].map(String::from);
    let mut rows = vec![head.to_vec()];
    let rate = |r: Option<f64>| r.map_or("-".into(), |r| format!("{r:.0}"));
    for row in &document.rows {
        rows.push(vec![
            row.case.clone(),
            rate(row.a_per_s),
            rate(row.b_per_s),
            row.ratio.map_or("-".into(), |r| format!("{r:.3}")),
            row.lo
                .zip(row.hi)
                .map_or("-".into(), |(lo, hi)| format!("{lo:.3} to {hi:.3}")),
            row.verdict.to_string(),
        ]);
    }
    let how = if document.paired {
        "rounds of one run, interleaved and paired"
    } else {
        "two runs, not interleaved: drift between them is in the difference"
    };
    format!(
        "A = {}, B = {}; {how}\n{}",
        document.a,
        document.b,
        print::columns(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rates: &[f64]) -> BTreeMap<u32, f64> {
        (1..).zip(rates.iter().copied()).collect()
    }

    fn summary(rates: &[f64]) -> CaseSummary {
        use profiles::score::RoundValue;
        let values = rounds(rates)
            .into_iter()
            .map(|(round, rate)| RoundValue { round, rate, body_bytes: None })
            .collect();
        CaseSummary { values, ..CaseSummary::default() }
    }

    #[test]
    fn a_clear_difference_is_called_and_noise_is_not() {
        let fast = summary(&[200.0, 220.0, 210.0, 190.0, 205.0]);
        let slow = summary(&[100.0, 111.0, 104.0, 95.0, 103.0]);
        let mut rows = vec![
            paired("x", Some(&&fast), Some(&&slow)),
            paired("y", Some(&&slow), Some(&&fast)),
            paired("z", Some(&&fast), Some(&&fast)),
            paired("w", Some(&&fast), None),
        ];
        call(&mut rows);
        let words: Vec<_> = rows.iter().map(|r| r.verdict).collect();
        assert_eq!(words, ["faster", "slower", "no difference", "no result"]);
    }

    #[test]
    fn two_runs_need_intervals_that_are_apart() {
        let near =
            apart("x", &rounds(&[100.0, 120.0]), &rounds(&[90.0, 110.0]));
        assert_eq!(near.verdict, "no difference");
        let far =
            apart("x", &rounds(&[200.0, 201.0]), &rounds(&[100.0, 101.0]));
        assert_eq!(far.verdict, "faster");
    }
}
