//! A run that was cut off goes on as if it never had been.

use super::tests::Bench;
use super::*;
use crate::plan::PlannedShot;

/// Cut off in its shot `at`, from 1.
fn cut(bench: &mut Bench, at: u32) -> BenchSummary {
    bench.gun.interrupt = Some((at, bench.interrupt.clone()));
    let (summary, records) = bench.stored();
    assert_eq!(records.len() as u32, at - 1);
    bench.gun.interrupt = None;
    bench.interrupt = Interrupt::default();
    bench.before = Some(crate::store::read(&summary.dir).unwrap().stored);
    summary
}

#[test]
fn a_run_that_was_cut_off_goes_on_with_the_shot_it_lost() {
    let mut bench = Bench::new();
    let first = cut(&mut bench, 4);
    let (summary, records) = bench.stored();
    assert_eq!(summary.run, first.run);
    assert_eq!(summary.class(), ExitClass::Done);
    assert_eq!((summary.shots, summary.planned, summary.valid), (8, 8, 8));
    let planned = bench.plan.rounds.iter().flat_map(|r| {
        let key = |s: &PlannedShot| (r.number, s.order, s.case.clone(), s.seed);
        r.shots.iter().map(key).collect::<Vec<_>>()
    });
    let key = |r: &Record| (r.round, r.order, r.case.clone(), r.seed);
    assert!(planned.eq(records.iter().map(key)));
    let run = crate::store::read(&summary.dir).unwrap().stored.run;
    assert_eq!(run.resumed_at.len(), 1);
    assert!(run.ended_at.is_some());
}

#[test]
fn half_a_line_is_cut_off_and_its_shot_fired_again() {
    let mut bench = Bench::new();
    let first = cut(&mut bench, 3);
    let path = first.dir.join("samples.jsonl");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    bench.before = Some(crate::store::read(&first.dir).unwrap().stored);
    let (summary, records) = bench.stored();
    assert_eq!((summary.class(), records.len()), (ExitClass::Done, 8));
}

#[track_caller]
fn refused(bench: &mut Bench, part: &str) {
    let before = bench.before.clone().unwrap();
    let problem = bench.run().unwrap_err();
    assert_eq!(problem.class(), ExitClass::Usage);
    assert!(problem.to_string().contains(part), "{problem}");
    let dir = bench.results.path().join(&before.run.run);
    let read = crate::store::read(&dir).unwrap().stored;
    assert_eq!(read.records.len(), before.records.len());
    assert_eq!(read.run.ended_at, None);
}

#[test]
fn another_build_rig_or_plan_is_refused_and_what_is_stored_stays() {
    let mut bench = Bench::new();
    cut(&mut bench, 4);
    let known = bench.before.clone().unwrap();
    let run = &mut bench.before.as_mut().unwrap().run;
    run.entries[0].artifact_digest = "sha256:old".into();
    refused(&mut bench, "a was built as sha256:old, and is sha256:a now");

    bench.before = Some(known.clone());
    bench.before.as_mut().unwrap().run.environment.rig = "other".into();
    refused(&mut bench, "differ in rig");

    bench.before = Some(known.clone());
    bench.before.as_mut().unwrap().run.loadgen = "fake 0".into();
    refused(&mut bench, "the load generator was fake 0, and is fake 1 now");

    bench.before = Some(known.clone());
    bench.before.as_mut().unwrap().run.entries[1].profiles.pop();
    refused(&mut bench, "the profiles of b");

    bench.before = Some(known);
    bench.catalog.profiles[0].digest = "changed".into();
    refused(&mut bench, "definition of baseline");
}

#[test]
fn two_tools_never_write_one_run() {
    let mut bench = Bench::new();
    let first = cut(&mut bench, 4);
    let before = bench.before.clone().unwrap();
    let held = Store::reopen(bench.results.path(), &before.run, 3).unwrap();
    let problem = bench.run().unwrap_err();
    assert!(problem.to_string().contains("another `arena`"), "{problem}");
    drop(held);
    // Somebody else went on with it after it was read.
    let again = Store::reopen(bench.results.path(), &before.run, 2);
    assert!(matches!(again, Err(crate::store::StoreError::Busy { .. })));
    assert_eq!(crate::store::read(&first.dir).unwrap().stored.records.len(), 3);
    assert_eq!(bench.stored().1.len(), 8);
}
