//! The ranking on cases worked out by hand.

use std::collections::BTreeMap;

use profiles::score::{
    Board, BoardInput, Cell, EntryInput, InputError, Metric, Missing,
    NoiseFloor, Options, ProfileCell, ProfileScoring, RankRange, References,
    RoundValue, Row, Verdict, coverage_times_speed, coverage_weighted,
    noise_floor, plain_sum, speed, zero_filled_mean,
};

const LEVEL: u32 = 512;

fn profiles(names: &[&str]) -> Vec<ProfileScoring> {
    let one = |name: &&str| ProfileScoring {
        name: (*name).to_owned(),
        levels: vec![LEVEL],
        metric: Metric::Rate,
    };
    names.iter().map(one).collect()
}

fn rates(values: &[f64]) -> Cell {
    let value = |(round, &rate): (u32, &f64)| RoundValue {
        round,
        rate,
        body_bytes: None,
    };
    Cell::Rounds((1..).zip(values).map(value).collect())
}

fn entry(id: &str, cells: &[(&str, Cell)]) -> EntryInput {
    let keyed = |(name, cell): &(&str, Cell)| {
        (((*name).to_owned(), LEVEL), cell.clone())
    };
    EntryInput { id: id.to_owned(), cells: cells.iter().map(keyed).collect() }
}

fn input(names: &[&str], entries: Vec<EntryInput>) -> BoardInput {
    let league = "framework".to_owned();
    BoardInput { league, profiles: profiles(names), entries }
}

#[track_caller]
fn board(input: &BoardInput) -> Board {
    Board::of(input, &Options::default()).expect("a board")
}

#[track_caller]
fn row<'a>(board: &'a Board, id: &str) -> &'a Row {
    board.rows.iter().find(|row| row.entry == id).expect("a row")
}

#[track_caller]
fn near(got: Option<f64>, expected: f64) {
    let got = got.expect("a value");
    assert!((got - expected).abs() < 0.05, "{got} is not {expected}");
}

fn centre(row: &Row) -> Option<f64> {
    row.score.map(|score| score.centre)
}

fn reason(row: &Row, profile: &str) -> Option<Missing> {
    match row.profiles[profile] {
        ProfileCell::Missing { reason } => Some(reason),
        ProfileCell::Measured { .. } => None,
    }
}

#[test]
fn the_worked_table_comes_out_as_published() {
    let mixed = |n: usize, s: f64, last: Option<f64>| {
        let mut row = vec![s; n];
        row.extend(last);
        row
    };
    let table = [
        (mixed(3, 95.0, None), [95.0, 285.0, 10.6, 10.6]),
        (mixed(14, 90.0, None), [90.0, 1260.0, 46.7, 46.7]),
        (mixed(27, 80.0, None), [80.0, 2160.0, 80.0, 80.0]),
        (mixed(26, 80.0, None), [80.0, 2080.0, 77.0, 77.0]),
        (mixed(26, 80.0, Some(5.0)), [72.2, 2085.0, 72.2, 77.0]),
    ];
    for (s, [naive, sum, coverage, ours]) in table {
        near(speed(&s), naive);
        near(plain_sum(&s), sum);
        near(coverage_times_speed(&s, 27), coverage);
        near(coverage_weighted(&s, 27), ours);
        near(zero_filled_mean(&s, 27), sum / 27.0);
    }
}

#[test]
fn a_score_is_refused_for_nothing_zero_or_too_many() {
    for s in [&[][..], &[0.0], &[f64::NAN], &[-1.0, 50.0], &[1.0; 28]] {
        assert_eq!(coverage_weighted(s, 27), None, "{s:?}");
    }
}

#[test]
fn an_interval_never_promises_a_score_above_the_scale() {
    let made = input(&["a"], vec![entry("x", &[("a", rates(&[1.0, 9.0]))])]);
    let score = row(&board(&made), "x").score.expect("a score");
    let interval = score.interval.expect("two rounds give an interval");
    assert_eq!((score.centre, interval.hi), (100.0, 100.0));
    assert!(interval.lo < 100.0, "{interval:?}");
}

/// BC-45: three entries over four profiles.
#[test]
fn failed_and_not_subscribed_differ_and_neither_is_zero_or_infinite() {
    let names = ["a", "b", "c", "d"];
    let full = |v: f64| names.map(|name| (name, rates(&[v])));
    let mut zero = full(50.0);
    zero[3].1 = rates(&[0.0]);
    let mut absent = full(50.0);
    absent[3].1 = Cell::Missing(Missing::NotEntered);
    let made = input(
        &names,
        vec![
            entry("all", &full(100.0)),
            entry("zero", &zero),
            entry("absent", &absent),
        ],
    );
    let board = board(&made);
    assert_eq!(reason(row(&board, "zero"), "d"), Some(Missing::Failed));
    assert_eq!(reason(row(&board, "absent"), "d"), Some(Missing::NotEntered));
    for id in ["zero", "absent"] {
        let row = row(&board, id);
        near(row.speed, 50.0);
        near(centre(row), 0.75 * 50.0);
        assert_eq!((row.coverage.ran, row.coverage.of), (3, 4));
    }
    near(centre(row(&board, "all")), 100.0);
}

/// BC-45: only 2 of 13 profiles, each at half of the best.
#[test]
fn coverage_is_applied_once() {
    let names: Vec<String> = (0..13).map(|i| format!("p{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all: Vec<_> = names.iter().map(|n| (*n, rates(&[8.0]))).collect();
    let two = [(names[0], rates(&[4.0])), (names[1], rates(&[4.0]))];
    let made = input(&names, vec![entry("all", &all), entry("two", &two)]);
    let board = board(&made);
    let two = row(&board, "two");
    near(two.speed, 50.0);
    assert_eq!((two.coverage.ran, two.coverage.of), (2, 13));
    near(centre(two), 50.0 * 2.0 / 13.0);
    assert_eq!(reason(two, "p05"), Some(Missing::NotRunYet));
}

/// BC-47: two entries keep their scores and their order under a filter.
#[test]
fn a_filter_changes_no_score_and_no_order() {
    let x = entry("x", &[("a", rates(&[90.0])), ("b", rates(&[5.0]))]);
    let y = entry("y", &[("a", rates(&[60.0])), ("b", rates(&[60.0]))]);
    let fast = entry("fast", &[("a", rates(&[60.0])), ("b", rates(&[900.0]))]);
    let all = input(&["a", "b"], vec![x.clone(), y.clone(), fast]);
    let some = input(&["a", "b"], vec![x, y]);
    let whole = board(&all);
    let frozen = Some(whole.references.clone());
    let options = Options { frozen, floor: NoiseFloor::default() };
    let filtered = Board::of(&some, &options).unwrap();
    let order = |board: &Board| {
        let names = board.rows.iter().map(|r| r.entry.clone());
        names.filter(|id| id != "fast").collect::<Vec<_>>()
    };
    assert_eq!(order(&whole), order(&filtered));
    for id in ["x", "y"] {
        assert_eq!(row(&whole, id).score, row(&filtered, id).score);
    }
    // With the visible rows as reference the order would have flipped.
    let naive = board(&some);
    assert_ne!(order(&naive), order(&whole), "the case must be able to fail");
}

fn noisy(id: &str, base: f64) -> EntryInput {
    let shape = [1.0, 1.02, 0.97, 1.01, 0.99, 1.005];
    entry(id, &[("a", rates(&shape.map(|f| f * base)))])
}

#[test]
fn clear_differences_rank_apart_and_noise_shares_a_rank() {
    let twin = [100.5, 101.5, 97.5, 100.0, 99.5, 100.2];
    let made = input(
        &["a"],
        vec![
            noisy("slow", 50.0),
            noisy("one", 100.0),
            entry("twin", &[("a", rates(&twin))]),
        ],
    );
    let board = board(&made);
    let rank = |id| row(&board, id).rank;
    assert_eq!(rank("one"), Some(RankRange { lo: 1, hi: 2 }));
    assert_eq!(rank("twin"), Some(RankRange { lo: 1, hi: 2 }));
    assert_eq!(rank("slow"), Some(RankRange { lo: 3, hi: 3 }));
    assert_eq!(board.verdicts().get("one", "slow"), Some(Verdict::Faster));
    assert_eq!(board.verdicts().get("slow", "one"), Some(Verdict::Slower));
    assert_eq!(board.verdicts().get("one", "twin"), Some(Verdict::Tie));
    assert_eq!(board.verdicts().get("one", "nobody"), None);
    assert!(board.separated_after(1) && !board.separated_after(0));
    let tally = row(&board, "one").tally.unwrap();
    assert_eq!((tally.wins, tally.ties, tally.losses), (1, 1, 0));
}

/// BC-43: the same entry under two names is never told apart, although the
/// test alone would do so.
#[test]
fn a_pair_of_twins_sets_the_noise_floor_and_shares_a_rank() {
    let made = input(&["a"], vec![noisy("a1", 100.0), noisy("a2", 101.0)]);
    let sharp = board(&made);
    assert_eq!(sharp.verdicts().get("a2", "a1"), Some(Verdict::Faster));
    let floor = noise_floor(&made, "a1", "a2").unwrap();
    near(floor.score.map(|f| f * 100.0), 1.0);
    near(floor.profiles.get("a").map(|f| f * 100.0), 1.0);
    let blunt = Board::of(&made, &Options { frozen: None, floor }).unwrap();
    let both = Some(RankRange { lo: 1, hi: 2 });
    assert_eq!(row(&blunt, "a1").rank, both);
    assert_eq!(row(&blunt, "a2").rank, both);
    let verdicts = blunt.profile_verdicts("a").unwrap();
    assert_eq!(verdicts.get("a1", "a2"), Some(Verdict::Tie));
}

#[test]
fn one_round_gives_an_order_but_no_interval_and_no_separation() {
    let one = |id: &str, v: f64| entry(id, &[("a", rates(&[v]))]);
    let made =
        input(&["a"], vec![one("low", 1.0), one("high", 9.0), one("mid", 5.0)]);
    let board = board(&made);
    let order: Vec<_> = board.rows.iter().map(|r| r.entry.as_str()).collect();
    assert_eq!(order, ["high", "mid", "low"]);
    for row in &board.rows {
        assert_eq!(row.rank, Some(RankRange { lo: 1, hi: 3 }));
        let score = row.score.unwrap();
        assert_eq!((score.interval, score.rounds), (None, 1));
    }
}

#[test]
fn the_centre_is_the_median_and_lies_within_its_interval() {
    let made = input(
        &["a"],
        vec![
            entry("best", &[("a", rates(&[100.0, 100.0, 100.0]))]),
            entry("odd", &[("a", rates(&[80.0, 10.0, 80.0]))]),
        ],
    );
    let board = board(&made);
    let score = row(&board, "odd").score.unwrap();
    near(Some(score.centre), 80.0);
    let interval = score.interval.unwrap();
    assert!(interval.lo <= 80.0 && 80.0 <= interval.hi, "{interval:?}");
}

#[test]
fn a_level_that_failed_is_a_failed_profile() {
    let mut made = input(&["a"], vec![entry("e", &[("a", rates(&[5.0]))])]);
    made.profiles[0].levels = vec![LEVEL, 4096];
    let failed = Cell::Missing(Missing::Failed);
    made.entries[0].cells.insert(("a".into(), 4096), failed);
    let board = board(&made);
    let row = row(&board, "e");
    assert_eq!(reason(row, "a"), Some(Missing::Failed));
    assert_eq!((row.score, row.rank, row.speed), (None, None, None));
    assert_eq!((row.coverage.ran, row.coverage.of), (0, 1));
}

#[test]
fn levels_are_averaged_as_ratios() {
    let cells = |low: f64, high: f64| {
        BTreeMap::from([
            (("a".to_owned(), LEVEL), rates(&[low])),
            (("a".to_owned(), 4096), rates(&[high])),
        ])
    };
    let mut made = input(&["a"], vec![entry("x", &[]), entry("y", &[])]);
    made.profiles[0].levels = vec![LEVEL, 4096];
    made.entries[0].cells = cells(4.0, 9.0);
    made.entries[1].cells = cells(1.0, 9.0);
    let board = board(&made);
    let ProfileCell::Measured { number, .. } = row(&board, "x").profiles["a"]
    else {
        panic!("x was measured");
    };
    near(Some(number), 6.0);
    near(centre(row(&board, "y")), 50.0);
}

#[test]
fn twice_the_body_is_a_quarter_of_the_score() {
    let sized = |rate: f64, size: f64| {
        let body_bytes = Some(size);
        Cell::Rounds(vec![RoundValue { round: 1, rate, body_bytes }])
    };
    let mut made = input(
        &["a"],
        vec![
            entry("small", &[("a", sized(100.0, 500.0))]),
            entry("large", &[("a", sized(100.0, 1000.0))]),
            entry("unknown", &[("a", rates(&[100.0]))]),
        ],
    );
    made.profiles[0].metric = Metric::RateBySize;
    let board = board(&made);
    near(centre(row(&board, "small")), 100.0);
    near(centre(row(&board, "large")), 25.0);
    assert_eq!(reason(row(&board, "unknown"), "a"), Some(Missing::Failed));
    let reference = board.references.0["a"];
    near(reference.smallest_body_bytes, 500.0);
    near(Some(reference.best), 100.0);
}

#[test]
fn sensitivity_shows_what_one_profile_can_change() {
    let made = input(
        &["a", "b", "c"],
        vec![
            entry(
                "even",
                &[
                    ("a", rates(&[80.0])),
                    ("b", rates(&[80.0])),
                    ("c", rates(&[80.0])),
                ],
            ),
            entry(
                "spike",
                &[
                    ("a", rates(&[100.0])),
                    ("b", rates(&[100.0])),
                    ("c", rates(&[45.0])),
                ],
            ),
        ],
    );
    let board = board(&made);
    let range = Some(RankRange { lo: 1, hi: 2 });
    assert_eq!(row(&board, "even").sensitivity, range);
    assert_eq!(row(&board, "spike").sensitivity, range);
}

#[test]
fn a_board_without_entries_or_results_is_a_board() {
    assert_eq!(board(&input(&["a"], vec![])).rows, vec![]);
    let board = board(&input(&["a"], vec![entry("new", &[])]));
    assert_eq!(board.rows[0].score, None);
    assert_eq!(board.references, References::default());
}

#[test]
fn frozen_values_that_nothing_can_be_divided_by_are_not_used() {
    let made = input(&["a"], vec![entry("e", &[("a", rates(&[5.0]))])]);
    let text = r#"{"a": {"best": 0.0}}"#;
    let frozen = Some(serde_json::from_str::<References>(text).unwrap());
    let floor = NoiseFloor::default();
    let board = Board::of(&made, &Options { frozen, floor }).unwrap();
    assert_eq!(board.rows[0].score, None);
}

#[test]
fn input_that_would_count_something_twice_is_refused() {
    let twice = input(&["a"], vec![entry("e", &[]), entry("e", &[])]);
    let error = Board::of(&twice, &Options::default()).unwrap_err();
    assert!(matches!(error, InputError::DuplicateEntry(..)), "{error}");
    let error = Board::of(&input(&["a", "a"], vec![]), &Options::default())
        .unwrap_err();
    assert!(matches!(error, InputError::DuplicateProfile(_)), "{error}");
    for levels in [vec![], vec![512, 512]] {
        let mut made = input(&["a"], vec![]);
        made.profiles[0].levels = levels;
        let error = References::of(&made).unwrap_err();
        assert!(matches!(error, InputError::Levels(_)), "{error}");
    }
}
