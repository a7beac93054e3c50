//! One profile: its cases by level, with cost and latency.

use maud::{Markup, html};
use profiles::board::CaseSummary;
use profiles::profile::{League, Metric};
use profiles::record::{Case, Contestant, Fired};
use profiles::score::{Cell, Missing};

use crate::chart::{Scale, bar};
use crate::format::{self, NONE};
use crate::frame::Frame;
use crate::{Site, cells, heat, league};

const QUANTILES: [(f64, &str); 4] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// Where a profile's page lies.
pub fn path(fired: &Fired) -> String {
    format!("p/{}/index.html", fired.name)
}

/// The page.
pub fn page(site: &Site, fired: &Fired) -> String {
    let title = format!("Profile {}", fired.name);
    let frame = Frame { site, root: "../../", title };
    frame.page(html! {
        p.answer {
            (format::sentence(&fired.title)) ". Family: "
            (heat::title(fired.family)) ". Counted: " (counted(fired.metric))
            "."
        }
        p { "Definition SHA-256 " code { (format::name(&fired.digest)) } ". "
            @if !fired.fired { "This run could not fire this profile." } }
        @for league in League::ALL {
            @if site.boards.contains_key(&league) {
                (section(site, fired, league))
            }
        }
        p { "Latency is the round trip under saturation in a closed loop: it \
             is not comparable between entries of different speed. n/a stands \
             where there are too few samples (p50 from 20, p90 from 100, p99 \
             from 1,000, p99.9 from 10,000)." }
        (cells::state_legend())
    })
}

fn counted(metric: Metric) -> &'static str {
    match metric {
        Metric::Answers => "right answers per second",
        Metric::AnswersBySize => {
            "right answers per second × (smallest mean body of the league / \
             own mean body)²"
        }
        Metric::Messages => "messages of right streams per second",
        Metric::Echoes => "right echoes per second",
    }
}

fn section(site: &Site, fired: &Fired, league: League) -> Markup {
    html! {
        h2 { (league::title(league)) }
        @if !fired.leagues.contains(&league) {
            p { "Not scored for this league." }
        }
        @for &level in &fired.levels {
            (level_table(site, fired, league, level))
        }
    }
}

struct Line<'a> {
    entry: &'a Contestant,
    state: Result<f64, Missing>,
    summary: Option<&'a CaseSummary>,
}

fn lines<'a>(
    site: &'a Site,
    fired: &Fired,
    league: League,
    level: u32,
) -> Vec<Line<'a>> {
    let line = |entry: &'a Contestant| {
        let (name, profile) = (entry.name.clone(), fired.name.clone());
        let case = Case { entry: name, profile, level };
        let summary = site.results.cases.get(&case);
        let state = match site.results.cell(entry, &fired.name, level) {
            Cell::Missing(state) => Err(state),
            Cell::Rounds(_) => {
                summary.and_then(CaseSummary::rate).ok_or(Missing::NotRunYet)
            }
        };
        Line { entry, state, summary }
    };
    let of_league = site.results.ranked().filter(|e| e.league == league);
    let mut lines: Vec<Line> = of_league.map(line).collect();
    // Missing ones last, then by name, which is the order they come in.
    let rate = |line: &Line| line.state.unwrap_or(f64::NEG_INFINITY);
    lines.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    lines
}

fn level_table(
    site: &Site,
    fired: &Fired,
    league: League,
    level: u32,
) -> Markup {
    let lines = lines(site, fired, league, level);
    let ends = lines
        .iter()
        .filter(|line| line.state.is_ok())
        .filter_map(|l| Some(l.summary?.rate_range()?.hi));
    let scale = Scale::of(ends);
    let id = format!("{league}-c{level}");
    html! {
        h3 id=(id) { (level) " connections" }
        div.box tabindex="0" role="region" aria-labelledby=(id) {
            table.list {
                caption {
                    "Median over rounds; the whisker spans the slowest and \
                     the fastest round"
                }
                thead {
                    tr {
                        th scope="col" rowspan="2" { "Entry" }
                        th scope="col" rowspan="2" { "Per second" }
                        th.bar scope="col" rowspan="2" {
                            span { "0" } span { (format::rate(scale.max)) }
                        }
                        th scope="col" rowspan="2" { "Rounds" }
                        th scope="colgroup" colspan=(QUANTILES.len() + 1) {
                            "Round trip at saturation, closed loop"
                        }
                        th scope="col" rowspan="2" { "CPU per answer" }
                        th scope="col" rowspan="2" { "Peak memory" }
                        th scope="col" rowspan="2" { "Flags" }
                    }
                    tr {
                        @for (_, word) in QUANTILES {
                            th scope="col" { (word) }
                        }
                        th scope="col" { "max" }
                    }
                }
                tbody { @for line in lines { (row(&line, scale)) } }
            }
        }
    }
}

fn row(line: &Line, scale: Scale) -> Markup {
    html! {
        tr {
            th.e scope="row" { (cells::entry(line.entry)) }
            @match (line.state, line.summary) {
                (Ok(rate), Some(summary)) => (measured(rate, summary, scale)),
                (Err(state), _) => (missing(state)),
                (Ok(_), None) => (missing(Missing::NotRunYet)),
            }
        }
    }
}

fn missing(state: Missing) -> Markup {
    html! {
        td.s.(cells::state_class(state)) { (cells::state_text(state)) }
        td.bar {}
        @for _ in 0..QUANTILES.len() + 5 { td { (NONE) } }
    }
}

fn measured(rate: f64, summary: &CaseSummary, scale: Scale) -> Markup {
    let n = summary.values.len();
    let spread = summary.rate_spread().filter(|_| n > 1);
    let range = summary.rate_range().filter(|_| n > 1);
    let latency = &summary.latency;
    let time = |ns: Option<u64>| match ns {
        Some(ns) => format::time(ns as f64),
        None => NONE.to_owned(),
    };
    let cpu = summary.cpu_ns_per_answer().map_or(NONE.into(), format::time);
    let peak = summary.memory_peak_bytes.map_or(NONE.into(), format::memory);
    let words: Vec<String> =
        summary.warnings.keys().map(|word| format::name(word)).collect();
    html! {
        td {
            b { (format::rate(rate)) }
            small {
                @match spread {
                    Some(share) => { "spread " (format::percent(share)) }
                    None => "n = 1, no spread",
                }
            }
        }
        td.bar { (bar(scale, rate, range)) }
        td { (n) " of " (summary.shots) }
        @for (q, _) in QUANTILES { td { (time(latency.quantile_ns(q))) } }
        td { (time(latency.max_ns())) }
        td { (cpu) }
        td { (peak) }
        td { @if words.is_empty() { "none" } @else { (words.join(", ")) } }
    }
}
