//! The ranking table.
//!
//! On a phone its rows become cards by CSS, which would cost the table its
//! meaning for screen readers; so every part states its role.

use maud::{Markup, html};
use profiles::board::Results;
use profiles::score::{Board, Estimate, Row};

use crate::chart::{Scale, bar};
use crate::filter::Filters;
use crate::format::{self, NONE, memory, range, score};
use crate::frame::spoken;
use crate::{Site, cells, trouble};

/// The ranked entries, best first.
pub fn table(site: &Site, board: &Board, filters: &Filters) -> Markup {
    let ranked: Vec<(usize, &Row)> = board
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.rank.is_some())
        .collect();
    let ends = ranked.iter().filter_map(|(_, row)| row.score).map(largest);
    let scale = Scale::of(ends);
    html! {
        @if !ranked.is_empty() {
            table.rank role="table" {
                caption { "Ranking by score, with 95 % intervals" }
                thead role="rowgroup" {
                    tr role="row" {
                        (head("Rank"))
                        (head("Entry"))
                        (head("Score"))
                        th.bar scope="col" role="columnheader" {
                            span { "0" } span { (score(scale.max)) }
                        }
                        (head("Speed"))
                        (head("Coverage"))
                        (head("Places"))
                        (head("W-T-L"))
                        (head("Peak memory"))
                        (head("Flags"))
                    }
                }
                tbody role="rowgroup" {
                    @for (index, row) in ranked {
                        (one(site, board, index, row, filters, scale))
                    }
                }
            }
        }
    }
}

fn largest(estimate: Estimate) -> f64 {
    estimate.interval.map_or(estimate.centre, |r| r.hi.max(estimate.centre))
}

fn head(text: &str) -> Markup {
    html! { th scope="col" role="columnheader" { (text) } }
}

fn one(
    site: &Site,
    board: &Board,
    index: usize,
    row: &Row,
    filters: &Filters,
    scale: Scale,
) -> Markup {
    let results = &site.results;
    let Some(entry) = cells::contestant(results, &row.entry) else {
        return html! {};
    };
    let class = filters.classes(entry);
    let cut = if board.separated_after(index) { " cut" } else { "" };
    html! {
        tr class={ (class) (cut) } role="row" {
            td.k role="cell" {
                @if let Some(rank) = row.rank {
                    (spoken("rank ")) (range(rank.lo, rank.hi))
                } @else { (NONE) }
            }
            th.e scope="row" role="rowheader" {
                (cells::entry(entry))
                small { (about(&entry.language, &entry.version)) }
            }
            td.s role="cell" {
                @if let Some(estimate) = row.score {
                    b { (score(estimate.centre)) }
                    small { (interval(&estimate)) }
                } @else { (NONE) }
            }
            td.bar role="cell" {
                @if let Some(estimate) = row.score {
                    (bar(scale, estimate.centre, estimate.interval))
                }
            }
            td.m data-l="speed" role="cell" {
                (row.speed.map_or(NONE.into(), score))
            }
            td.m data-l="coverage" role="cell" {
                (row.coverage.ran) " of " (row.coverage.of)
            }
            td.m data-l="places" role="cell" {
                (row.sensitivity.map_or(NONE.into(), |r| range(r.lo, r.hi)))
            }
            td.m data-l="W-T-L" role="cell" {
                @if let Some(tally) = row.tally {
                    (tally.wins) "-" (tally.ties) "-" (tally.losses)
                } @else { (NONE) }
            }
            td.m data-l="memory" role="cell" { (peak(results, &row.entry)) }
            td.m data-l="flags" role="cell" {
                (trouble::flags(results, &row.entry))
            }
        }
    }
}

/// The interval in words, or why there is none.
pub fn interval(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(r) => {
            format!("{}–{}, n = {}", score(r.lo), score(r.hi), estimate.rounds)
        }
        None => format!("n = {}, no interval", estimate.rounds),
    }
}

fn about(language: &str, version: &str) -> String {
    let parts = [format::name(language), format::name(version)];
    parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn peak(results: &Results, entry: &str) -> String {
    results
        .cases
        .iter()
        .filter(|(case, _)| case.entry.as_str() == entry)
        .filter_map(|(_, summary)| summary.memory_peak_bytes)
        .max()
        .map_or(NONE.into(), memory)
}
