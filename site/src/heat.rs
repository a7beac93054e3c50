//! The heat map: every profile × every entry, in per cent of the best.

use maud::{Markup, html};
use profiles::profile::{Family, League};
use profiles::record::Fired;
use profiles::score::{Board, Missing, ProfileCell, Row};

use crate::filter::Filters;
use crate::{Site, cells, format, profile};

/// Per cent of the best at which each of the eight classes begins.
const STEPS: [f64; 7] = [95.0, 80.0, 60.0, 40.0, 20.0, 10.0, 5.0];

/// Whether any entry has more to say of a profile than "not run".
pub fn has_news(board: &Board, name: &str) -> bool {
    board.rows.iter().any(|row| match row.profiles.get(name) {
        Some(ProfileCell::Measured { .. }) => true,
        Some(ProfileCell::Missing { reason }) => {
            !matches!(reason, Missing::NotRunYet | Missing::NotEntered)
        }
        None => false,
    })
}

/// The table; columns in families, rows in the order of the ranking.
pub fn table(
    site: &Site,
    league: League,
    board: &Board,
    filters: &Filters,
    root: &str,
) -> Markup {
    let mut columns: Vec<&Fired> = site
        .results
        .scored(league)
        .filter(|fired| has_news(board, fired.name.as_str()))
        .collect();
    columns.sort_by_key(|fired| fired.family);
    if columns.is_empty() {
        return html! {};
    }
    let families = columns.chunk_by(|a, b| a.family == b.family);
    html! {
        h2 #map { "Every profile, in per cent of the best" }
        div.box tabindex="0" role="region" aria-labelledby="map" {
            table.heat {
                caption { "100 is the best entry of the league; bold shares \
                           the lead in its profile" }
                thead {
                    tr {
                        td {}
                        @for family in families {
                            th scope="colgroup" colspan=(family.len()) {
                                (title(family[0].family))
                            }
                        }
                    }
                    tr {
                        th scope="col" { "Entry" }
                        @for fired in &columns {
                            th.p scope="col" {
                                a href={ (root) (profile::path(fired)) } {
                                    (fired.name)
                                }
                            }
                        }
                    }
                }
                tbody {
                    @for row in &board.rows {
                        (one(site, row, &columns, filters))
                    }
                }
            }
        }
        (cells::state_legend())
    }
}

fn one(
    site: &Site,
    row: &Row,
    columns: &[&Fired],
    filters: &Filters,
) -> Markup {
    let Some(entry) = cells::contestant(&site.results, &row.entry) else {
        return html! {};
    };
    html! {
        tr class=(filters.classes(entry)) {
            th scope="row" {
                span.(format!("t t{}", cells::letter(&entry.kind))) {
                    (cells::letter(&entry.kind))
                }
                " " bdi.n { (format::name(&entry.display_name)) }
            }
            @for fired in columns {
                @match row.profiles.get(fired.name.as_str()) {
                    Some(ProfileCell::Measured { s, rank, .. }) => {
                        td.(format!("q{}", class(s.centre))) {
                            @if rank.lo == 1 && s.interval.is_some() {
                                b { (format::score(s.centre)) }
                            } @else { (format::score(s.centre)) }
                        }
                    }
                    Some(ProfileCell::Missing { reason }) => {
                        td.s.(cells::state_class(*reason)) {
                            (cells::state_text(*reason))
                        }
                    }
                    None => { td.s { (format::NONE) } }
                }
            }
        }
    }
}

/// The colour class of a share of the best.
fn class(s: f64) -> usize {
    STEPS.iter().position(|&step| s >= step).unwrap_or(STEPS.len())
}

/// A family's name over its columns.
pub fn title(family: Family) -> &'static str {
    match family {
        Family::H1Core => "HTTP/1.1 core",
        Family::H1Data => "HTTP/1.1 data",
        Family::H2 => "HTTP/2",
        Family::H3 => "HTTP/3",
        Family::Grpc => "gRPC",
        Family::Websocket => "WebSocket",
        Family::Gateway => "Gateway",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_begin_at_their_steps() {
        let shares =
            [100.0, 95.0, 94.9, 80.0, 60.0, 40.0, 20.0, 10.0, 5.0, 0.1];
        let expected = [0, 0, 1, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(shares.map(class), expected);
    }
}
