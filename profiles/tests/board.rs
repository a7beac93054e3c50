//! From stored records to a ranking.

mod made_up;

use made_up::{case, failed, measured, rounds, sample, small, warn};
use profiles::board::{MixError, Results, Stored};
use profiles::profile::League;
use profiles::record::{Outcome, Record};
use profiles::sample::Fault;
use profiles::score::{Board, Metric, Missing, Options, ProfileCell};

#[track_caller]
fn ranked(stored: &[Stored]) -> Board {
    let results = Results::of(stored).expect("results");
    results.board(League::Framework, &Options::default()).expect("a board")
}

#[track_caller]
fn state(board: &Board, entry: &str, profile: &str) -> Option<Missing> {
    let row = board.rows.iter().find(|row| row.entry == entry);
    match row.expect("a row").profiles[profile] {
        ProfileCell::Measured { .. } => None,
        ProfileCell::Missing { reason } => Some(reason),
    }
}

/// The small run with the records of one case replaced.
fn with(entry: &str, profile: &str, records: Vec<Record>) -> Stored {
    let mut stored = small();
    let one = case(entry, profile, 512);
    stored.records.retain(|record| record.case != one);
    stored.records.extend(records);
    stored
}

#[track_caller]
fn becomes(records: Vec<Record>, expected: Option<Missing>) {
    let stored = with("beta", "baseline", records);
    assert_eq!(state(&ranked(&[stored]), "beta", "baseline"), expected);
}

fn beta(round: u32) -> Record {
    measured(round, case("beta", "baseline", 512), sample(50_000, 512))
}

/// One valid record of beta with its sample changed.
fn broken(change: impl FnOnce(&mut profiles::sample::Sample)) -> Record {
    let mut record = beta(1);
    if let Outcome::Measured { sample, .. } = &mut record.outcome {
        change(sample);
    }
    record
}

#[test]
fn records_become_scores_over_all_scored_profiles() {
    let board = ranked(&[small()]);
    let row = &board.rows[0];
    assert_eq!(row.entry, "alpha");
    assert_eq!((row.coverage.ran, row.coverage.of), (2, 3));
    let score = row.score.unwrap();
    assert!((score.centre - 200.0 / 3.0).abs() < 1e-9, "{score:?}");
    assert_eq!(score.rounds, 3);
    assert_eq!(state(&board, "alpha", "echo-ws"), Some(Missing::NotRunYet));
    assert_eq!(state(&board, "beta", "json"), Some(Missing::NotEntered));
}

#[test]
fn streams_are_ranked_by_their_messages() {
    let mut stored = small();
    stored.run.profiles[0].metric = profiles::profile::Metric::Messages;
    for record in &mut stored.records {
        if let Outcome::Measured { sample, .. } = &mut record.outcome {
            sample.messages = 3 * sample.right;
        }
    }
    let (first, second) =
        (stored.run.profiles[0].name.clone(), stored.run.profiles[1].clone());
    let results = Results::of(&[stored]).unwrap();
    assert_eq!((first.as_str(), second.name.as_str()), ("baseline", "json"));
    let rate = |profile| {
        let (_, summary) = results
            .cases
            .iter()
            .find(|(case, _)| {
                case.entry.as_str() == "alpha"
                    && case.profile.as_str() == profile
            })
            .unwrap();
        (summary.rate().unwrap(), summary.right)
    };
    // Three messages a stream; the other profile still counts answers.
    let (messages, right) = rate("baseline");
    assert_eq!((messages, right), (300_000.0, 300_000));
    let (answers, right) = rate("json");
    assert!((answers * 3.0 / right as f64 - 1.0).abs() < 0.1);
}

#[test]
fn a_summary_holds_what_a_table_shows() {
    let results = Results::of(&[small()]).unwrap();
    let summary = &results.cases[&case("alpha", "baseline", 512)];
    assert_eq!((summary.shots, summary.missing), (3, None));
    assert_eq!(summary.rate(), Some(100_000.0));
    assert_eq!(summary.rate_range().unwrap().hi, 101_000.0);
    assert!((summary.rate_spread().unwrap() - 0.02).abs() < 1e-12);
    assert_eq!(summary.latency.count(), 300_000);
    assert_eq!(summary.body_bytes(), Some(100.0));
    assert_eq!(summary.cpu_ns_per_answer(), Some(1.5e9 / 300_000.0));
    assert_eq!(summary.memory_peak_bytes, Some(12 << 20));
}

#[test]
fn the_judge_and_a_wrong_answer_settle_a_case() {
    let gate =
        |round| failed(round, case("beta", "baseline", 512), "gate", "probe x");
    becomes(vec![beta(1), beta(2), gate(3)], Some(Missing::FailedValidation));
    let wrong = broken(|sample| {
        sample.wrong = 1;
        sample.sent += 1;
    });
    becomes(vec![wrong, beta(2), beta(3)], Some(Missing::Failed));
}

#[test]
fn one_failed_start_of_three_is_listed_and_one_of_two_decides() {
    let no_start =
        |round| failed(round, case("beta", "baseline", 512), "start", "exit 1");
    becomes(vec![beta(1), no_start(2), beta(3)], None);
    becomes(vec![beta(1), no_start(2)], Some(Missing::Failed));
    becomes(vec![no_start(1)], Some(Missing::Failed));
    becomes(vec![], Some(Missing::NotRunYet));

    let records = vec![beta(1), no_start(2), beta(3)];
    let stored = with("beta", "baseline", records);
    let results = Results::of(&[stored]).unwrap();
    let summary = &results.cases[&case("beta", "baseline", 512)];
    assert_eq!(summary.reasons, ["round 2: start: exit 1"]);
    assert_eq!((summary.shots, summary.values.len()), (3, 2));
}

#[test]
fn a_void_or_empty_window_is_a_failure() {
    let mut void = beta(1);
    if let Outcome::Measured { void, .. } = &mut void.outcome {
        void.push("the server restarted".into());
    }
    becomes(vec![void], Some(Missing::Failed));
    let silent = broken(|sample| sample.right = 0);
    becomes(vec![silent], Some(Missing::Failed));
}

#[test]
fn only_a_disqualifying_warning_costs_the_number() {
    for (disqualifies, expected) in
        [(true, Some(Missing::Suspect)), (false, None)]
    {
        let mut record = beta(1);
        warn(&mut record, "noisy", disqualifies);
        becomes(vec![record], expected);
    }
}

#[test]
fn numbers_that_contradict_themselves_are_suspect() {
    let open_books = broken(|sample| sample.sent += 1);
    becomes(vec![open_books], Some(Missing::Suspect));
    // Twice the rate in half of the window: Little's law does not hold.
    let too_fast = broken(|sample| sample.window_ns /= 2);
    becomes(vec![too_fast], Some(Missing::Suspect));
    let too_slow = broken(|sample| sample.window_ns *= 2);
    becomes(vec![too_slow], Some(Missing::Suspect));
}

#[test]
fn idle_slots_are_believed_where_the_client_reconnects() {
    let reconnects = broken(|sample| {
        sample.window_ns *= 2;
        sample.requests_per_connection = Some(10);
    });
    becomes(vec![reconnects], None);
    let faults = broken(|sample| {
        sample.window_ns *= 2;
        sample.sent += 1;
        sample.classes.get_mut("all").unwrap().sent += 1;
        sample.faults.insert(Fault::Reset, 1);
    });
    becomes(vec![faults], None);
    let mut bound = broken(|sample| sample.window_ns *= 2);
    warn(&mut bound, "client-bound", false);
    becomes(vec![bound], None);
}

#[test]
fn a_metric_by_size_reaches_the_board() {
    let mut stored = small();
    stored.run.profiles[0].metric = profiles::profile::Metric::AnswersBySize;
    let results = Results::of(&[stored]).unwrap();
    let input = results.board_input(League::Framework);
    assert_eq!(input.profiles[0].metric, Metric::RateBySize);
    assert_eq!(input.profiles[1].metric, Metric::Rate);
}

#[test]
fn runs_of_one_rig_join_and_their_rounds_stay_apart() {
    let mut second = small();
    second.run.run = "second".into();
    for record in &mut second.records {
        record.run = "second".into();
    }
    let results = Results::of(&[small(), second]).unwrap();
    let summary = &results.cases[&case("alpha", "json", 512)];
    let rounds: Vec<u32> = summary.values.iter().map(|v| v.round).collect();
    assert_eq!(rounds, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn one_run_given_twice_is_refused_and_not_counted_as_more_rounds() {
    let error = Results::of(&[small(), small()]).unwrap_err();
    assert_eq!(error, MixError::Twice("made-up".into()));
}

#[test]
fn a_round_number_of_any_size_is_taken_without_a_panic() {
    let mut stored = small();
    stored.records[0].round = u32::MAX;
    let mut second = small();
    second.run.run = "second".into();
    second.records.clear();
    let mut third = small();
    third.run.run = "third".into();
    third.records.iter_mut().for_each(|r| r.run = "third".into());
    Results::of(&[stored, second, third]).unwrap();
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Stored), what: &str) {
    let mut second = small();
    change(&mut second);
    let error = Results::of(&[small(), second]).unwrap_err();
    assert!(matches!(error, MixError::Differ { .. }), "{error}");
    assert!(error.to_string().contains(what), "{error}");
}

#[test]
fn runs_that_are_not_comparable_are_refused() {
    refused(|s| s.run.environment.rig = "other".into(), "rig");
    refused(|s| s.run.epoch += 1, "epoch");
    refused(|s| s.run.host = "docker".into(), "host");
    refused(|s| s.run.data_digest = "33".into(), "data");
    refused(|s| s.run.profiles[0].digest = "44".into(), "definition");
    refused(|s| s.run.profiles[0].levels.push(4096), "levels");
    refused(|s| s.run.entries[1].artifact_digest = "55".into(), "beta");
}

#[test]
fn a_record_that_no_list_knows_is_refused() {
    let strangers = [
        rounds("gamma", "baseline", &[10]),
        rounds("alpha", "upload", &[10]),
        vec![measured(1, case("alpha", "json", 513), sample(10, 513))],
    ];
    for records in strangers {
        let mut stored = small();
        stored.records.extend(records);
        let error = Results::of(&[stored]).unwrap_err();
        assert!(matches!(error, MixError::Orphan { .. }), "{error}");
    }
    let mut stored = small();
    stored.records[0].run = "another".into();
    assert!(Results::of(&[stored]).is_err());
}

#[test]
fn no_run_is_an_empty_board() {
    let results = Results::of(&[]).unwrap();
    assert!(results.leagues().is_empty());
    assert!(ranked(&[]).rows.is_empty());
}

#[test]
fn two_records_of_one_case_in_one_round_are_refused() {
    let stored = with("beta", "baseline", vec![beta(1), beta(2), beta(2)]);
    let why = Results::of(&[stored]).unwrap_err().to_string();
    assert!(
        why.contains("two records of beta/baseline/512 in round 2"),
        "{why}"
    );
}

/// Alpha entered twice: its second rows are 2 % off in one profile.
fn with_twin() -> Stored {
    let mut stored = small();
    let mut twin = stored.run.entries[0].clone();
    assert_eq!(twin.name.as_str(), "alpha");
    twin.twin_of = Some(twin.name.clone());
    twin.name = "alpha.again".parse().unwrap();
    let own =
        stored.records.iter().filter(|r| r.case.entry.as_str() == "alpha");
    let mut second: Vec<Record> = own.cloned().collect();
    for record in &mut second {
        record.case.entry = twin.name.clone();
        let baseline = record.case.profile.as_str() == "baseline";
        if let Outcome::Measured { sample: of, .. } = &mut record.outcome
            && baseline
        {
            let rate = of.right * 98 / 100;
            **of = sample(rate, record.case.level);
        }
    }
    stored.records.extend(second);
    stored.run.entries.push(twin);
    stored
}

#[test]
fn a_twin_is_the_noise_floor_and_no_row() {
    let board = ranked(&[with_twin()]);
    let plain = ranked(&[small()]);
    let names = |b: &Board| -> Vec<String> {
        b.rows.iter().map(|row| row.entry.clone()).collect()
    };
    assert_eq!(names(&board), names(&plain));
    assert_eq!(board.rows[0].score, plain.rows[0].score);
    assert_eq!(plain.floor.score, None);
    let near = |share: f64, wish: f64| (share - wish).abs() < 1e-3;
    let floor = &board.floor;
    assert!(near(floor.profiles["baseline"], 1.0 / 0.98 - 1.0), "{floor:?}");
    let others = floor.profiles.iter().filter(|(p, _)| *p != "baseline");
    assert!(others.clone().count() > 0);
    assert!(others.clone().all(|(_, share)| near(*share, 0.0)), "{floor:?}");
    let score = floor.score.unwrap();
    assert!(score > 0.0 && score < 0.021, "{score}");
}

#[test]
fn slots_that_the_server_granted_no_stream_for_may_be_empty() {
    let half = |withheld: u64| {
        broken(|sample| {
            // As if every other slot had been empty all the time.
            sample.in_flight *= 2;
            sample.withheld = withheld;
        })
    };
    becomes(vec![half(0)], Some(Missing::Suspect));
    becomes(vec![half(1)], None);
}
