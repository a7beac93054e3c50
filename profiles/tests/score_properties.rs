//! The promised properties of the score, each over random boards.

use profiles::score::{
    Board, BoardInput, Cell, EntryInput, Metric, Missing, Options, ProfileCell,
    ProfileScoring, RoundValue, Verdict, coverage_weighted, noise_floor,
};
use proptest::prelude::*;

const STATES: [Missing; 7] = [
    Missing::FailedValidation,
    Missing::Failed,
    Missing::Suspect,
    Missing::Withdrawn,
    Missing::NotSupported,
    Missing::NotEntered,
    Missing::NotRunYet,
];

fn cell(rounds: u32) -> impl Strategy<Value = Cell> {
    let value = (1e-3..1e6, 10.0..1e4);
    let values = prop::collection::vec(value, rounds as usize);
    let measured = values.prop_map(|values| {
        let one = |(round, (rate, size))| RoundValue {
            round,
            rate,
            body_bytes: Some(size),
        };
        Cell::Rounds((1..).zip(values).map(one).collect())
    });
    let missing = prop::sample::select(STATES.to_vec());
    prop_oneof![4 => measured, 1 => missing.prop_map(Cell::Missing)]
}

/// Boards of 1 to 5 profiles, one or two levels, 1 to 5 entries and 1 to 4
/// rounds, with gaps. The first profile depends on the body size.
fn boards() -> impl Strategy<Value = BoardInput> {
    let shape = (1usize..6, 1usize..3, 1usize..6, 1u32..5);
    shape.prop_flat_map(|(profiles, levels, entries, rounds)| {
        let count = profiles * levels;
        let row = prop::collection::vec(cell(rounds), count);
        prop::collection::vec(row, entries)
            .prop_map(move |rows| assemble(profiles, levels, rows))
    })
}

fn assemble(
    profiles: usize,
    levels: usize,
    rows: Vec<Vec<Cell>>,
) -> BoardInput {
    let levels: Vec<u32> = (0..levels as u32).map(|l| 512 << l).collect();
    let scoring = |i: usize| ProfileScoring {
        name: format!("p{i}"),
        levels: levels.clone(),
        metric: if i == 0 { Metric::RateBySize } else { Metric::Rate },
    };
    let keys: Vec<(String, u32)> = (0..profiles)
        .flat_map(|i| levels.iter().map(move |&l| (format!("p{i}"), l)))
        .collect();
    let entry = |(i, row): (usize, Vec<Cell>)| EntryInput {
        id: format!("e{i}"),
        cells: keys.iter().cloned().zip(row).collect(),
    };
    BoardInput {
        league: "framework".into(),
        profiles: (0..profiles).map(scoring).collect(),
        entries: rows.into_iter().enumerate().map(entry).collect(),
    }
}

fn board(input: &BoardInput) -> Board {
    Board::of(input, &Options::default()).expect("a board")
}

fn score(board: &Board, id: &str) -> Option<f64> {
    let row = board.rows.iter().find(|row| row.entry == id)?;
    row.score.map(|score| score.centre)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-300)
}

/// Every level of one profile of one entry, as measured at `rate`.
fn set(input: &mut BoardInput, entry: usize, profile: usize, rate: f64) {
    let rounds = 1..=4;
    let one = |round| RoundValue { round, rate, body_bytes: Some(100.0) };
    let scoring = &input.profiles[profile];
    for &level in &scoring.levels {
        let cell = Cell::Rounds(rounds.clone().map(one).collect());
        let key = (scoring.name.clone(), level);
        input.entries[entry].cells.insert(key, cell);
    }
}

fn scale(cell: &mut Cell, factor: f64) {
    if let Cell::Rounds(values) = cell {
        values.iter_mut().for_each(|v| v.rate *= factor);
    }
}

proptest! {
    #[test]
    fn every_number_is_finite_positive_and_at_most_100(input in boards()) {
        let board = board(&input);
        let n = board.rows.iter().filter(|r| r.score.is_some()).count() as u32;
        for row in &board.rows {
            let shown = [row.score.map(|s| s.centre), row.speed,
                row.zero_filled_mean];
            for v in shown.into_iter().flatten() {
                prop_assert!(v > 0.0 && v <= 100.0 + 1e-9, "{v}");
            }
            prop_assert_eq!(row.score.is_some(), row.coverage.ran > 0);
            prop_assert_eq!(row.rank.is_some(), row.score.is_some());
            if let (Some(rank), Some(tally)) = (row.rank, row.tally) {
                prop_assert!(1 <= rank.lo && rank.lo <= rank.hi && rank.hi <= n);
                prop_assert_eq!(tally.wins + tally.ties + tally.losses, n - 1);
            }
            let interval = row.score.and_then(|s| Some((s, s.interval?)));
            if let Some((score, range)) = interval {
                prop_assert!(range.lo > 0.0 && range.hi.is_finite());
                prop_assert!(range.lo <= score.centre);
                prop_assert!(score.centre <= range.hi);
            }
            let ran = row.profiles.values().filter(|cell| {
                matches!(cell, ProfileCell::Measured { .. })
            });
            prop_assert_eq!(ran.count() as u32, row.coverage.ran);
        }
    }

    #[test]
    fn a_value_common_to_all_profiles_is_the_score(
        value in 0.001f64..=100.0,
        n in 1usize..28,
    ) {
        let score = coverage_weighted(&vec![value; n], n).unwrap();
        prop_assert!(close(score, value), "{score} is not {value}");
    }

    #[test]
    fn adding_a_result_never_lowers_the_score(
        s in prop::collection::vec(1e-6f64..=100.0, 0..26),
        more in 1e-6f64..=100.0,
    ) {
        let before = coverage_weighted(&s, 27).unwrap_or(0.0);
        let after = coverage_weighted(&[s, vec![more]].concat(), 27).unwrap();
        prop_assert!(after >= before * (1.0 - 1e-12));
    }

    #[test]
    fn a_valid_result_in_place_of_a_gap_never_lowers_the_score(
        mut input in boards(),
        rate in 1e-3..1e6,
        pick in any::<prop::sample::Index>(),
    ) {
        let before = board(&input);
        let profile = pick.index(input.profiles.len());
        let gap = matches!(
            before.rows.iter().find(|r| r.entry == "e0").unwrap()
                .profiles[&format!("p{profile}")],
            ProfileCell::Missing { .. }
        );
        prop_assume!(gap);
        set(&mut input, 0, profile, rate);
        let old = score(&before, "e0").unwrap_or(0.0);
        let new = score(&board(&input), "e0").unwrap();
        prop_assert!(new >= old * (1.0 - 1e-9), "{new} is below {old}");
    }

    #[test]
    fn improving_a_result_never_lowers_the_score(
        mut input in boards(),
        factor in 1.0..1e3,
        pick in any::<prop::sample::Index>(),
    ) {
        let old = score(&board(&input), "e0");
        let cells = &mut input.entries[0].cells;
        let at = pick.index(cells.len());
        scale(cells.values_mut().nth(at).unwrap(), factor);
        let new = score(&board(&input), "e0");
        let (old, new) = (old.unwrap_or(0.0), new.unwrap_or(0.0));
        prop_assert!(new >= old * (1.0 - 1e-9), "{new} is below {old}");
    }

    #[test]
    fn scaling_one_profile_for_all_changes_nothing(
        mut input in boards(),
        factor in 1e-3..1e3,
    ) {
        let before = board(&input);
        for entry in &mut input.entries {
            for ((profile, _), cell) in &mut entry.cells {
                if profile == "p0" {
                    scale(cell, factor);
                }
            }
        }
        let after = board(&input);
        for row in &before.rows {
            let new = score(&after, &row.entry);
            prop_assert_eq!(row.score.is_some(), new.is_some());
            if let (Some(old), Some(new)) = (row.score, new) {
                prop_assert!(close(old.centre, new));
            }
        }
    }

    #[test]
    fn filters_change_no_score(
        input in boards(),
        keep in prop::collection::vec(any::<bool>(), 5),
    ) {
        let whole = board(&input);
        let mut some = input;
        let mut keep = keep.into_iter();
        some.entries.retain(|_| keep.next().unwrap());
        let options = Options {
            frozen: Some(whole.references.clone()),
            ..Options::default()
        };
        for row in Board::of(&some, &options).unwrap().rows {
            let old = whole.rows.iter().find(|r| r.entry == row.entry).unwrap();
            prop_assert_eq!(row.score, old.score);
            prop_assert_eq!(row.speed, old.speed);
        }
    }

    #[test]
    fn the_order_of_input_changes_nothing(
        input in boards(),
        by in any::<prop::sample::Index>(),
    ) {
        let mut turned = input.clone();
        turned.entries.rotate_left(by.index(input.entries.len()));
        turned.profiles.reverse();
        for profile in &mut turned.profiles {
            profile.levels.reverse();
        }
        for cell in turned.entries.iter_mut().flat_map(|e| e.cells.values_mut()) {
            if let Cell::Rounds(values) = cell {
                values.reverse();
            }
        }
        let (a, b) = (board(&input), board(&turned));
        for (x, y) in a.rows.iter().zip(&b.rows) {
            prop_assert_eq!(&x.entry, &y.entry);
            prop_assert_eq!(x.rank, y.rank);
            prop_assert_eq!(x.coverage, y.coverage);
            let pair = x.score.zip(y.score);
            prop_assert!(pair.is_none_or(|(a, b)| close(a.centre, b.centre)));
        }
    }

    #[test]
    fn a_pair_is_never_told_apart_by_the_floor_it_sets(input in boards()) {
        let floor = noise_floor(&input, "e0", "e1").unwrap();
        let options = Options { frozen: None, floor };
        let board = Board::of(&input, &options).unwrap();
        let names = input.profiles.iter().map(|p| p.name.as_str());
        let tables = names.filter_map(|name| board.profile_verdicts(name));
        for table in tables.chain([board.verdicts()]) {
            let verdict = table.get("e0", "e1");
            prop_assert!(matches!(verdict, None | Some(Verdict::Tie)));
        }
    }
}
