//! The numbers of the pages as files: CSV and JSON.

use std::collections::BTreeMap;

use profiles::board::{CaseSummary, Stored};
use profiles::profile::League;
use profiles::record::{Case, Contestant, Fired};
use profiles::score::{Board, Cell};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::format;
use crate::{Site, cells};

/// The schema of `board.json`.
const BOARD_SCHEMA: u32 = 1;

const COLUMNS: [&str; 22] = [
    "league",
    "entry",
    "profile",
    "level",
    "scored",
    "state",
    "shots",
    "valid_rounds",
    "rate_median_per_s",
    "rate_min_per_s",
    "rate_max_per_s",
    "rate_spread_share",
    "body_mean_bytes",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
    "cpu_ns_per_answer",
    "memory_peak_bytes",
    "warnings",
    "reasons",
];

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    runs: Vec<&'a str>,
    boards: Vec<&'a Board>,
}

/// Every data file by its path: the tables, a copy of each run, and digests.
pub fn files(
    site: &Site,
) -> Result<BTreeMap<String, String>, serde_json::Error> {
    let mut files = BTreeMap::new();
    files.insert("cells.csv".to_owned(), csv(site));
    files.insert("board.json".to_owned(), json(site)?);
    for Stored { run, records } in site.stored {
        let mut text = serde_json::to_string_pretty(run)?;
        text.push('\n');
        files.insert(format!("runs/{}/run.json", run.run), text);
        let mut lines = String::new();
        for record in records {
            lines += &serde_json::to_string(record)?;
            lines.push('\n');
        }
        files.insert(format!("runs/{}/samples.jsonl", run.run), lines);
    }
    let digests: String = files
        .iter()
        .map(|(name, text)| format!("{}  {name}\n", sha256(text)))
        .collect();
    files.insert("SHA256SUMS".to_owned(), digests);
    let below = |(name, text)| (format!("data/{name}"), text);
    Ok(files.into_iter().map(below).collect())
}

pub fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rankings with their reference values.
fn json(site: &Site) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: BOARD_SCHEMA,
        runs: site.stored.iter().map(|one| one.run.run.as_str()).collect(),
        boards: site.boards.values().collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

/// One row for each case there could be, measured or not.
fn csv(site: &Site) -> String {
    let mut text = COLUMNS.join(",");
    text.push('\n');
    for league in League::ALL {
        for entry in site.results.entries.values() {
            if entry.league != league {
                continue;
            }
            for fired in &site.results.profiles {
                for &level in &fired.levels {
                    text += &line(site, entry, fired, level);
                    text.push('\n');
                }
            }
        }
    }
    text
}

fn line(site: &Site, entry: &Contestant, fired: &Fired, level: u32) -> String {
    let (name, profile) = (entry.name.clone(), fired.name.clone());
    let case = Case { entry: name, profile, level };
    let empty = CaseSummary::default();
    let summary = site.results.cases.get(&case).unwrap_or(&empty);
    let state = match site.results.cell(entry, &fired.name, level) {
        Cell::Rounds(_) => "measured",
        Cell::Missing(state) => cells::state_word(state),
    };
    // A case without a valid result shows no numbers here either.
    let valid = (state == "measured").then_some(summary);
    let real = |f: fn(&CaseSummary) -> Option<f64>| {
        valid.and_then(f).map_or(String::new(), |v| v.to_string())
    };
    let whole = |v: Option<u64>| v.map_or(String::new(), |v| v.to_string());
    let quantile = |q: f64| whole(valid.and_then(|s| s.latency.quantile_ns(q)));
    let words: Vec<&str> =
        summary.warnings.keys().map(String::as_str).collect();
    [
        entry.league.to_string(),
        entry.name.to_string(),
        fired.name.to_string(),
        level.to_string(),
        fired.leagues.contains(&entry.league).to_string(),
        state.to_owned(),
        summary.shots.to_string(),
        summary.values.len().to_string(),
        real(CaseSummary::rate),
        real(|s| Some(s.rate_range()?.lo)),
        real(|s| Some(s.rate_range()?.hi)),
        real(CaseSummary::rate_spread),
        real(CaseSummary::body_bytes),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        whole(valid.and_then(|s| s.latency.max_ns())),
        real(CaseSummary::cpu_ns_per_answer),
        whole(valid.and_then(|s| s.memory_peak_bytes)),
        field(&words.join(" ")),
        field(&summary.reasons.join(" | ")),
    ]
    .join(",")
}

/// A stranger's text in a CSV field: quoted, and never a spreadsheet formula.
fn field(text: &str) -> String {
    let text = format::sentence(text);
    if text.is_empty() {
        return text;
    }
    let formula = text.starts_with(['=', '+', '-', '@']);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_field_is_quoted_and_never_a_formula() {
        assert_eq!(field("a, \"b\"\nc"), "\"a, \"\"b\"\" c\"");
        assert_eq!(field("=1+1"), "\"'=1+1\"");
        assert_eq!(field(""), "");
    }
}
