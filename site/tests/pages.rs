//! The pages of made-up rounds.

#[path = "../../profiles/tests/made_up/mod.rs"]
mod made_up;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};

use made_up::{case, measured, sample};
use profiles::board::Stored;
use profiles::hist::Hist;
use profiles::profile::League;
use profiles::rule::Rule;
use profiles::score::Options;
use rounds::{hostile, normal};

type Files = BTreeMap<String, String>;

/// Two rules, one of them announced.
fn rules() -> Vec<Rule> {
    let one = Rule {
        id: "sum.get",
        version: 2,
        profiles: vec!["baseline", "limited-conn"],
        rule: "The sum of a & b is answered.",
        source: "contract, endpoint SUM",
        legal: "200 and the sum",
        hint: "add them",
        announced: None,
    };
    let day = time::Date::from_ordinal_date(2027, 1).unwrap();
    let two = Rule { id: "tls.version", announced: Some(day), ..one.clone() };
    vec![one, two]
}

#[test]
fn the_rules_are_a_page_of_their_own() {
    let page = &files(&[normal()])["rules/index.html"];
    assert!(page.contains("The sum of a &amp; b is answered."), "{page}");
    assert!(page.contains("id=\"tls.version\""), "{page}");
    assert!(page.contains("Only a warning until 2027-01-01."), "{page}");
    assert!(page.contains("2 rules for 2 profiles"), "{page}");
}

#[track_caller]
fn files(stored: &[Stored]) -> Files {
    site::files(stored, &rules(), &Options::default()).expect("a site")
}

fn pages(files: &Files) -> impl Iterator<Item = (&String, &String)> {
    files.iter().filter(|(name, _)| name.ends_with(".html"))
}

/// All parts between two marks, for instance the tables of a page.
fn parts<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let after = text.split(from).skip(1);
    after.map(|part| part.split(to).next().unwrap_or(part)).collect()
}

/// The page without its style sheet, so that a golden page shows content.
fn content(page: &str) -> String {
    let css = parts(page, "<style>", "</style>")[0];
    page.replace(css, "").replace("><", ">\n<")
}

#[test]
fn the_board_of_a_normal_round_is_as_it_was() {
    let files = files(&[normal()]);
    insta::assert_snapshot!("board", content(&files["index.html"]));
    insta::assert_snapshot!("engines", content(&files["b/engine/index.html"]));
    insta::assert_snapshot!("json", content(&files["p/json/index.html"]));
    insta::assert_snapshot!("cells", files["data/cells.csv"]);
}

#[test]
fn the_same_records_give_the_same_bytes_in_any_order() {
    let mut turned = normal();
    turned.records.reverse();
    turned.run.entries.reverse();
    assert_eq!(files(&[normal()]), files(&[normal()]));
    // The raw copies and their digests keep the order they were given in.
    let made = |stored| {
        let mut files = files(&[stored]);
        files.retain(|name, _| !name.contains("runs/"));
        files.remove("data/SHA256SUMS");
        files
    };
    assert_eq!(made(normal()), made(turned));
}

#[test]
fn no_stranger_gets_markup_or_an_address_into_a_page() {
    let files = files(&[hostile()]);
    assert!(files["index.html"].contains("&lt;img src=x onerror=alert(1)&gt;"));
    for (name, page) in pages(&files) {
        for bad in ["<img", "<script", "javascript:", "\u{202e}", "onerror=\""]
        {
            assert!(!page.contains(bad), "{bad} in {name}");
        }
        assert!(!page.contains("\"'&<"), "{name}");
    }
    let csv = &files["data/cells.csv"];
    assert!(!csv.contains("\n<"), "a text broke out of its line");
}

#[test]
fn each_state_of_the_hostile_round_has_its_own_word() {
    let files = files(&[hostile()]);
    let heat = parts(&files["index.html"], "<table class=\"heat\"", "</table>");
    for word in ["invalid", "failed", "suspect †", "not entered", "not run"] {
        assert!(heat[0].contains(word), "{word}");
    }
    assert!(files["index.html"].contains("Not ranked"));
    let states: BTreeSet<&str> = files["data/cells.csv"]
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(5))
        .collect();
    let expected = [
        "failed",
        "failed-validation",
        "measured",
        "not-entered",
        "not-run-yet",
        "suspect",
    ];
    assert_eq!(states, BTreeSet::from(expected));
}

#[test]
fn a_missing_number_is_never_shown_as_zero() {
    let files = files(&[hostile()]);
    for line in files["data/cells.csv"].lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let empty = fields[8..20].iter().all(|field| field.is_empty());
        assert_eq!(empty, fields[5] != "measured", "{line}");
    }
    let heat = parts(&files["index.html"], "<table class=\"heat\"", "</table>");
    assert!(!heat[0].contains(">0<") && !heat[0].contains(">0.00<"));
}

/// BC-30: each column shows the statistic its head names, and n/a where there
/// are too few answers for it; never a mean, never another one's number.
#[test]
fn each_latency_column_shows_what_its_head_says() {
    let shown = |shares: &[(u64, u64)]| {
        let at = case("swift-fox", "json", 512);
        let mut sample = sample(shares.iter().map(|(_, n)| n).sum(), 512);
        sample.latency = Hist::new();
        for (ms, times) in shares {
            sample.latency.record_n(ms * 1_000_000, *times);
        }
        // So its slots may have been empty now and then.
        sample.reconnects = 1;
        let mut stored = normal();
        stored.records.retain(|record| record.case != at);
        stored.records.push(measured(1, at, sample));
        let files = files(&[stored]);
        let row = parts(&files["p/json/index.html"], "swift-fox", "</tr>")[0];
        let cells = parts(row, "<td>", "</td>")[2..7].join(" | ");
        let mut lines = files["data/cells.csv"].lines();
        let line = lines.find(|l| l.contains(",swift-fox,json,")).unwrap();
        let fields: Vec<&str> = line.split(',').skip(13).take(5).collect();
        (cells, fields.join(" "))
    };
    let (cells, _) = shown(&[(1, 98_500), (100, 1_500)]);
    assert_eq!(cells, "1.00 ms | 1.00 ms | 100 ms | 100 ms | 100 ms");
    let all = [(1, 60_000), (3, 38_500), (100, 1_300), (200, 190), (400, 10)];
    let (cells, fields) = shown(&all);
    assert_eq!(cells, "1.00 ms | 3.00 ms | 100 ms | 200 ms | 400 ms");
    let ms: Vec<u64> = fields
        .split(' ')
        .map(|ns| (ns.parse::<f64>().unwrap() / 1e6).round() as u64)
        .collect();
    assert_eq!(ms, [1, 3, 100, 200, 400]);
    let (cells, fields) = shown(&[(7, 99)]);
    assert_eq!(cells, "7.00 ms | n/a | n/a | n/a | 7.00 ms");
    assert_eq!(fields.split(' ').filter(|f| f.is_empty()).count(), 3);
    let (cells, _) = shown(&[(7, 19)]);
    assert_eq!(cells, "n/a | n/a | n/a | n/a | 7.00 ms");
}

#[test]
fn one_round_has_no_interval_and_separates_nothing() {
    let page = &files(&[hostile()])["index.html"];
    assert!(page.contains("n = 1, no interval"));
    assert!(page.contains("nothing is told apart"));
    assert!(!page.contains(" cut\""), "no dividing line");
    assert!(page.contains("(rank 1–2)"), "both entries may lead");
}

#[test]
fn a_tie_shares_a_rank_and_a_clear_gap_draws_a_line() {
    let page = &files(&[normal()])["index.html"];
    let table = parts(page, "<table class=\"rank\"", "</table>")[0];
    let rows = parts(table, "<tr class=", "</tr>");
    assert_eq!(rows.len(), 4);
    let cut: Vec<bool> = rows.iter().map(|r| r.contains(" cut\"")).collect();
    assert_eq!(cut, [false, true, true, false]);
    assert!(rows[0].contains("1–2") && rows[1].contains("1–2"));
    assert!(rows[2].contains("red-panda") && rows[3].contains("slow-loris"));
}

#[test]
fn nothing_measured_is_an_honest_page() {
    let files = files(&[]);
    let page = &files["index.html"];
    assert!(page.contains("Nothing has been measured yet"));
    assert!(!page.contains("<table"));
    assert_eq!(files["data/cells.csv"].lines().count(), 1);
}

#[test]
fn a_round_with_engines_only_says_so_on_the_first_page() {
    let mut stored = normal();
    stored.run.entries.retain(|e| e.league == League::Engine);
    stored.records.retain(|r| r.case.entry.as_str() == "bare-bear");
    let page = &files(&[stored])["index.html"];
    assert!(page.contains("No entry of this league took part"));
    let link = "See <a href=\"b/engine/index.html\">Engines</a>";
    assert!(page.contains(link));
}

#[test]
fn made_up_numbers_are_marked_and_real_ones_are_not() {
    let mark = "Made-up data";
    for (name, page) in pages(&files(&[normal()])) {
        assert!(page.contains(mark), "{name}");
    }
    let mut real = normal();
    real.run.host = "local".into();
    assert!(!files(&[real])["index.html"].contains(mark));
}

#[test]
fn every_page_is_built_for_all_readers() {
    for stored in [vec![normal()], vec![hostile()], vec![]] {
        for (name, page) in pages(&files(&stored)) {
            assert_eq!(page.matches("<h1").count(), 1, "{name}");
            assert!(page.contains("<html lang=\"en\""), "{name}");
            assert!(page.contains("href=\"#main\""), "{name}");
            assert!(!page.contains("<script"), "{name}");
            let tables = page.matches("<table").count();
            assert_eq!(page.matches("<caption>").count(), tables, "{name}");
            for head in parts(page, "<th", ">") {
                let is_head = !head.starts_with("ead");
                assert!(!is_head || head.contains("scope="), "{name}: {head}");
            }
            for drawing in parts(page, "<svg", ">") {
                assert!(drawing.contains("aria-hidden"), "{name}");
            }
        }
    }
}

#[test]
fn ids_are_unique_and_every_link_within_the_site_resolves() {
    let files = files(&[normal()]);
    for (name, page) in pages(&files) {
        let ids = parts(page, " id=\"", "\"");
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), distinct.len(), "{name}");
        for label in parts(page, "aria-labelledby=\"", "\"") {
            assert!(ids.contains(&label), "{name}: {label}");
        }
        for link in parts(page, " href=\"", "\"") {
            if let Some(id) = link.strip_prefix('#') {
                assert!(ids.contains(&id), "{name}: {link}");
            } else if !link.contains(':') {
                let (path, id) = link.split_once('#').unwrap_or((link, ""));
                let target = files.get(&resolve(name, path));
                let found = target.is_some_and(|page| {
                    id.is_empty() || page.contains(&format!(" id=\"{id}\""))
                });
                assert!(found, "{name}: {link}");
            }
        }
    }
}

fn resolve(page: &str, link: &str) -> String {
    let mut at: Vec<&str> = page.split('/').collect();
    at.pop();
    for part in link.split('/') {
        match part {
            ".." => assert!(at.pop().is_some(), "{link} leaves the site"),
            part => at.push(part),
        }
    }
    at.join("/")
}

#[test]
fn filters_hide_by_rules_and_only_where_they_can() {
    let files = files(&[normal()]);
    let page = &files["index.html"];
    assert!(
        page.contains(
            "body:has(#fT:not(:checked)) tr.rT{display:none!important}"
        )
    );
    assert!(page.contains("<option value=\"0\">Go</option>"));
    assert!(!files["b/engine/index.html"].contains("<form"));
}

#[test]
fn the_style_and_the_page_keep_to_their_budget() {
    let files = files(&[normal()]);
    let page = &files["index.html"];
    assert!(parts(page, "<style>", "</style>")[0].len() <= 10 * 1024);
    assert!(!page.contains("//fonts") && !page.contains("url("));
    assert!(page.len() <= 100 * 1024, "{}", page.len());
}

#[test]
fn pages_and_files_show_the_same_numbers() {
    let files = files(&[normal()]);
    let json: serde_json::Value =
        serde_json::from_str(&files["data/board.json"]).unwrap();
    let row = &json["boards"][0]["rows"][2];
    assert_eq!(row["entry"], "red-panda");
    let score = row["score"]["centre"].as_f64().unwrap();
    let shown = format!("<b>{score:.1}</b>");
    assert!(files["index.html"].contains(&shown), "{shown}");
    let csv = &files["data/cells.csv"];
    let width = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() >= width));
}

#[test]
fn the_raw_records_are_published_with_their_digests() {
    let files = files(&[normal()]);
    let sums = &files["data/SHA256SUMS"];
    assert_eq!(sums.lines().count(), 4);
    for line in sums.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        let text = &files[&format!("data/{name}")];
        assert_eq!(digest, site::sha256(text), "{name}");
    }
    let raw = &files["data/runs/made-up/samples.jsonl"];
    let again: Vec<profiles::record::Record> =
        raw.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(again, normal().records);
}

#[test]
fn a_run_whose_name_is_a_path_gives_no_site() {
    for name in ["../../etc", "/etc", "", "a/b", "..", "<b>"] {
        let mut stored = normal();
        stored.run.run = name.into();
        for record in &mut stored.records {
            record.run = name.into();
        }
        let error = site::files(&[stored], &rules(), &Options::default());
        assert!(matches!(error, Err(site::BuildError::RunName(_))), "{name}");
    }
}

#[test]
fn a_run_given_twice_gives_no_site() {
    let error =
        site::files(&[normal(), normal()], &rules(), &Options::default());
    assert!(matches!(error, Err(site::BuildError::Twice(_))));
}

#[test]
fn a_site_is_written_and_an_unwritable_place_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a/b");
    let first =
        site::build(&[normal()], &rules(), &Options::default(), &out).unwrap();
    let written = std::fs::read_to_string(&first).unwrap();
    assert_eq!(written, files(&[normal()])["index.html"]);
    assert!(out.join("p/json/index.html").is_file());
    let error =
        site::build(&[], &rules(), &Options::default(), &first).unwrap_err();
    assert!(error.to_string().contains("index.html"), "{error}");
}

#[test]
fn runs_that_do_not_belong_together_give_no_site() {
    let mut other = normal();
    other.run.environment.rig = "another".into();
    other.run.run = "other".into();
    other.records.clear();
    let error = site::files(&[normal(), other], &rules(), &Options::default());
    assert!(matches!(error, Err(site::BuildError::Mix(_))));
}
