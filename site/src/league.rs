//! The leaderboard of one league.

use maud::{Markup, html};
use profiles::profile::League;
use profiles::score::{Board, Row};

use crate::filter::Filters;
use crate::format::{count, list};
use crate::frame::Frame;
use crate::{Site, answer, cells, heat, rank, rig, trouble};

/// Where a league's page lies.
pub fn path(league: League) -> String {
    match league {
        League::Framework => "index.html".to_owned(),
        other => format!("b/{other}/index.html"),
    }
}

/// The way back to the root from there.
fn root(league: League) -> &'static str {
    if league == League::Framework { "" } else { "../../" }
}

/// The name of a board in links.
pub fn title(league: League) -> &'static str {
    match league {
        League::Framework => "Frameworks",
        League::Engine => "Engines",
        League::Infrastructure => "Infrastructure",
    }
}

/// The page.
pub fn page(site: &Site, league: League) -> String {
    let frame = Frame {
        site,
        root: root(league),
        title: format!("{}: ranking over all profiles", title(league)),
    };
    let content = match site.boards.get(&league) {
        Some(board) => content(site, league, board),
        None => nothing(site),
    };
    frame.page(html! { (content) (rig::section(site)) })
}

fn nothing(site: &Site) -> Markup {
    html! {
        p.answer {
            @if site.stored.is_empty() {
                "Nothing has been measured yet. Run "
                code { "./scripts/arena.sh" }
                " and build this page again."
            } @else {
                "No entry of this league took part in what was measured."
                @for other in site.boards.keys().copied() {
                    " See " a href=(path(other)) { (title(other)) } "."
                }
            }
        }
    }
}

fn content(site: &Site, league: League, board: &Board) -> Markup {
    let rows: Vec<&Row> = board.rows.iter().collect();
    let shown =
        rows.iter().filter_map(|r| cells::contestant(&site.results, &r.entry));
    let filters = Filters::of(shown);
    let root = root(league);
    html! {
        p.answer { (answer::sentence(board)) }
        (filters.controls())
        (rank::table(site, board, &filters))
        (unranked(site, board))
        (heat::table(site, league, board, &filters, root))
        (not_run(site, league, board))
        (trouble::section(site, league))
        (how_to_read(board))
    }
}

fn unranked(site: &Site, board: &Board) -> Markup {
    let names: Vec<_> = board
        .rows
        .iter()
        .filter(|row| row.rank.is_none())
        .filter_map(|row| cells::contestant(&site.results, &row.entry))
        .collect();
    html! {
        @if !names.is_empty() {
            h2 { "Not ranked" }
            p { "No valid result in any scored profile; the reasons stand \
                 below." }
            ul {
                @for one in names { li { (cells::entry(one)) } }
            }
        }
    }
}

fn not_run(site: &Site, league: League, board: &Board) -> Markup {
    let missing: Vec<String> = site
        .results
        .scored(league)
        .filter(|fired| !heat::has_news(board, fired.name.as_str()))
        .map(|fired| fired.name.to_string())
        .collect();
    html! {
        @if !missing.is_empty() {
            p {
                (count(missing.len(), "scored profile", "scored profiles"))
                " without any result in this run: " (list(&missing))
                ". Each counts in N and is covered by nobody."
            }
        }
    }
}

fn how_to_read(board: &Board) -> Markup {
    let n = board.profiles.len();
    html! {
        h2 #read { "How to read this" }
        ul.read {
            li {
                b { "Score. " }
                "In each profile the best entry of the league has 100. The \
                 score is the largest value of (k / " (n) ") × geometric mean \
                 of the k best profiles. While no profile is hopeless this is \
                 speed × coverage."
            }
            li {
                b { "Speed " } "is the geometric mean over the profiles an \
                 entry ran; " b { "coverage " } "is how many of the " (n)
                " scored profiles those are. A missing result is never a zero."
            }
            li {
                b { "Interval. " }
                "95 %, Student t on the logarithms over rounds; the centre is \
                 the median over rounds, never the best of them. With one \
                 round there is none."
            }
            li {
                b { "Rank " } "is a range: 1 + the entries that are \
                 significantly faster, to N − those that are significantly \
                 slower (paired t, Benjamini-Hochberg at 5 %, and outside the \
                 noise floor where one was measured)."
            }
            li {
                b { "Places " } "shows the best and worst place in the order \
                 of scores when any one profile is left out. "
                b { "W-T-L " } "counts the entries told to be slower, not \
                 told apart, and faster."
            }
        }
    }
}
