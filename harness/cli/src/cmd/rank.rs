//! `arena rank`: the ranking of stored runs.

use anyhow::Context as _;
use profiles::board::{Results, Stored};
use profiles::score::{
    Board, Estimate, Missing, Options, ProfileCell, RankRange, Row,
};
use serde_json::json;

use crate::args::Rank;
use crate::exit::{Class, fail};
use crate::place::Place;
use crate::print;

/// Prints one table a league.
pub fn run(place: &Place, args: &Rank) -> anyhow::Result<Class> {
    let stored = load(place, &args.runs)?;
    let results = results(&stored)?;
    if args.json {
        print::json(&document(&stored, &results)?)?;
    } else {
        print::text_out(&table(&stored, &results)?)?;
    }
    Ok(Class::Done)
}

/// The runs named, read whole. What a cut-off run lost is said on stderr.
pub fn load(place: &Place, names: &[String]) -> anyhow::Result<Vec<Stored>> {
    names
        .iter()
        .map(|name| {
            let dir = place.run(name)?;
            let read = harness::store::read(&dir)
                .with_context(|| format!("run {}", dir.display()))?;
            for note in &read.notes {
                eprintln!("arena: {}: {note}", dir.display());
            }
            Ok(read.stored)
        })
        .collect()
}

/// All runs joined; refused when they cannot stand on one board.
pub fn results(stored: &[Stored]) -> anyhow::Result<Results> {
    Results::of(stored).map_err(|why| fail(Class::Usage, why.to_string()))
}

/// The boards of all leagues that have an entry.
fn boards(results: &Results) -> anyhow::Result<Vec<Board>> {
    results
        .leagues()
        .into_iter()
        .map(|league| Ok(results.board(league, &Options::default())?))
        .collect()
}

/// What `--json` prints.
pub fn document(
    stored: &[Stored],
    results: &Results,
) -> anyhow::Result<serde_json::Value> {
    let runs: Vec<_> = stored.iter().map(|s| &s.run.run).collect();
    Ok(json!({ "runs": runs, "boards": boards(results)? }))
}

/// What a terminal shows.
pub fn table(stored: &[Stored], results: &Results) -> anyhow::Result<String> {
    let mut out = String::new();
    for board in boards(results)? {
        out.push_str(&board_table(&board, results));
        out.push('\n');
    }
    for one in stored {
        let run = &one.run;
        out.push_str(&format!(
            "run {}: host {}, {} round(s), {}, {} CPUs, {}\n",
            run.run,
            run.host,
            run.settings.rounds,
            print::safe(&run.environment.cpu),
            run.environment.threads,
            print::safe(&run.environment.kernel),
        ));
        for compromise in &run.pools.compromises {
            out.push_str(&format!("  note: {compromise}\n"));
        }
    }
    Ok(out)
}

fn board_table(board: &Board, results: &Results) -> String {
    let fired: Vec<&String> = board
        .profiles
        .iter()
        .filter(|p| {
            results.profiles.iter().any(|f| f.name.as_str() == *p && f.fired)
        })
        .collect();
    let mut head: Vec<String> =
        ["RANK", "ENTRY", "TYPE", "SCORE", "95 %", "SPEED", "COVERAGE"]
            .map(String::from)
            .to_vec();
    head.extend(fired.iter().map(|p| p.to_string()));
    let mut rows = vec![head];
    for row in &board.rows {
        let kind = results
            .entries
            .values()
            .find(|e| e.name.as_str() == row.entry)
            .map_or("", |e| e.kind.as_str());
        rows.push(line(row, kind, &fired));
    }
    let noise = board.floor.score.map_or(String::new(), |share| {
        format!("; noise floor of an A/A pair {:.1} %", 100.0 * share)
    });
    format!(
        "{} league: score = max over k of (k/{}) x geometric mean of the k \
         best, in % of the best{noise}\n{}",
        board.league,
        board.profiles.len(),
        print::columns(&rows)
    )
}

fn line(row: &Row, kind: &str, fired: &[&String]) -> Vec<String> {
    let interval = row.score.and_then(|s| s.interval);
    let mut out = vec![
        row.rank.map_or("-".into(), ranks),
        row.entry.clone(),
        kind.to_string(),
        row.score.map_or("-".into(), |s| format!("{:.1}", s.centre)),
        interval.map_or("-".into(), |i| format!("{:.1} to {:.1}", i.lo, i.hi)),
        row.speed.map_or("-".into(), |s| format!("{s:.1}")),
        format!("{}/{}", row.coverage.ran, row.coverage.of),
    ];
    out.extend(fired.iter().map(|p| match row.profiles.get(*p) {
        Some(ProfileCell::Measured { s: Estimate { centre, .. }, .. }) => {
            format!("{centre:.1}")
        }
        Some(ProfileCell::Missing { reason }) => word(*reason).to_string(),
        None => "-".into(),
    }));
    out
}

/// `3` or `3-5`.
pub fn ranks(range: RankRange) -> String {
    if range.lo == range.hi {
        range.lo.to_string()
    } else {
        format!("{}-{}", range.lo, range.hi)
    }
}

fn word(reason: Missing) -> &'static str {
    match reason {
        Missing::Failed => "failed",
        Missing::Suspect => "suspect",
        Missing::FailedValidation => "invalid",
        Missing::NotSupported => "unsupported",
        Missing::NotEntered => "-",
        Missing::Withdrawn => "withdrawn",
        Missing::NotRunYet => "not run",
    }
}
