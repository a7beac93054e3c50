//! What failed and why, and what a reader must know about the rest.

use std::collections::BTreeMap;

use maud::{Markup, html};
use profiles::board::{CaseSummary, Results};
use profiles::profile::League;
use profiles::record::Case;

use crate::format::{self, count};
use crate::{Site, cells};

/// An entry's warnings, each with the number of cases that carry it.
pub fn flags(results: &Results, entry: &str) -> String {
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut cases, mut partial) = (0, 0);
    for (case, summary) in &results.cases {
        if case.entry.as_str() != entry {
            continue;
        }
        cases += 1;
        for word in summary.warnings.keys() {
            *words.entry(word).or_default() += 1;
        }
        let lost = summary.shots as usize - summary.values.len();
        partial += usize::from(summary.missing.is_none() && lost > 0);
    }
    let mut text: Vec<String> = words
        .into_iter()
        .map(|(word, n)| format!("{} ({n} of {cases})", format::name(word)))
        .collect();
    if partial > 0 {
        text.push(format!("lost shots ({partial} of {cases})"));
    }
    if text.is_empty() { "none".to_owned() } else { text.join(", ") }
}

/// The tables of lost shots and of warnings of one league.
pub fn section(site: &Site, league: League) -> Markup {
    let results = &site.results;
    let ours: Vec<(&Case, &CaseSummary)> = results
        .cases
        .iter()
        .filter(|(case, _)| {
            results.entries.get(&case.entry).is_some_and(|e| e.league == league)
        })
        .collect();
    html! {
        (lost(results, &ours))
        (warnings(&ours))
    }
}

fn lost(results: &Results, cases: &[(&Case, &CaseSummary)]) -> Markup {
    let lost: Vec<_> =
        cases.iter().filter(|(_, s)| !s.reasons.is_empty()).collect();
    html! {
        h2 #lost { "What failed, and why" }
        @if lost.is_empty() {
            p { "Every shot of this league was valid." }
        } @else {
            div.box tabindex="0" role="region" aria-labelledby="lost" {
                table.list {
                    caption {
                        (count(lost.len(), "case", "cases"))
                        " with shots that are not valid; texts may be the \
                         entry's own"
                    }
                    thead { tr {
                        th scope="col" { "Entry" }
                        th.l scope="col" { "Profile" }
                        th scope="col" { "Connections" }
                        th.l scope="col" { "State" }
                        th.l scope="col" { "Reason" }
                    } }
                    tbody {
                        @for (case, summary) in lost {
                            (lost_row(results, case, summary))
                        }
                    }
                }
            }
        }
    }
}

fn lost_row(results: &Results, case: &Case, summary: &CaseSummary) -> Markup {
    let shown = results.entries.get(&case.entry);
    let valid = summary.values.len();
    html! {
        tr {
            th.e scope="row" {
                bdi.n {
                    (shown.map_or(String::new(), |e| {
                        format::name(&e.display_name)
                    }))
                }
            }
            td.l { (case.profile) }
            td { (case.level) }
            td.l {
                @match summary.missing {
                    Some(state) => (cells::state_text(state)),
                    None => { "measured in " (valid) " of " (summary.shots) }
                }
            }
            td.why {
                @for reason in &summary.reasons {
                    span { bdi { (format::sentence(reason)) } }
                }
            }
        }
    }
}

fn warnings(cases: &[(&Case, &CaseSummary)]) -> Markup {
    let mut words: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (_, summary) in cases {
        for (word, text) in &summary.warnings {
            words.entry(word).or_insert((0, text)).0 += 1;
        }
    }
    html! {
        @if !words.is_empty() {
            h2 { "Flags" }
            dl.flags {
                @for (word, (n, text)) in words {
                    dt { (format::name(word)) ", " (count(n, "case", "cases")) }
                    dd { "For instance: " bdi { (format::sentence(text)) } }
                }
            }
        }
    }
}
