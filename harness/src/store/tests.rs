//! A run on disk: what is written reads back, what is damaged says so.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

use profiles::record::{
    Case, EPOCH, Environment, Outcome, Pools, RECORD_SCHEMA, Settings,
};
use time::macros::datetime;

use super::*;

fn run() -> Run {
    Run {
        schema: RECORD_SCHEMA,
        epoch: EPOCH,
        run: "20260102-030405-0000002a".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        resumed_at: Vec::new(),
        ended_at: None,
        arena: "0.1.0".into(),
        loadgen: "0.1.0".into(),
        host: "fake".into(),
        seed: 42,
        settings: Settings {
            preset: "smoke".into(),
            rounds: 1,
            window_ns: None,
            warmup_ns: 1,
            gap_ns: 1,
            levels: None,
            connections_cap: None,
        },
        pools: Pools {
            server: "0".parse().unwrap(),
            load: "1".parse().unwrap(),
            aux: "1".parse().unwrap(),
            compromises: Vec::new(),
        },
        environment: Environment {
            sysctls: BTreeMap::new(),
            ..Environment::default()
        },
        data_digest: "d".into(),
        entries: Vec::new(),
        profiles: Vec::new(),
    }
}

fn record(order: u32) -> Record {
    Record {
        schema: RECORD_SCHEMA,
        run: run().run,
        round: 1,
        order,
        case: Case {
            entry: "axum".parse().unwrap(),
            profile: "json".parse().unwrap(),
            level: 16,
        },
        capped_from: Some(4096),
        started_at: "2026-01-02T03:04:06Z".into(),
        artifact_digest: String::new(),
        profile_digest: String::new(),
        seed: u64::MAX >> 11,
        ready_ns: None,
        outcome: Outcome::Failed {
            stage: "start".into(),
            why: "it ended".into(),
            log_tail: "<script>".into(),
        },
        warnings: Vec::new(),
        testimony: None,
    }
}

fn stored() -> (tempfile::TempDir, Store) {
    let results = tempfile::tempdir().unwrap();
    let mut store = Store::create(results.path(), &run()).unwrap();
    store.append(&record(1)).unwrap();
    store.append(&record(2)).unwrap();
    (results, store)
}

#[test]
fn an_id_sorts_by_time_and_names_the_seed() {
    let id = run_id(datetime!(2026-01-02 03:04:05 UTC), 42);
    assert_eq!(id, run().run);
}

#[test]
fn what_is_stored_reads_back() {
    let (_results, store) = stored();
    let read = read(store.dir()).unwrap();
    assert_eq!(read.stored.run, run());
    assert_eq!(read.stored.records, [record(1), record(2)]);
    assert!(read.notes[0].contains("cut off"), "{:?}", read.notes);
    let mut ended = run();
    ended.ended_at = Some("2026-01-02T03:05:00Z".into());
    store.put_run(&ended).unwrap();
    let read = super::read(store.dir()).unwrap();
    assert_eq!((read.stored.run, read.notes.len()), (ended, 0));
}

#[test]
fn a_cut_last_line_is_noted_at_every_length_and_the_rest_kept() {
    let (_results, store) = stored();
    let path = store.dir().join("samples.jsonl");
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    for cut in [first + 1, first + 40, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        let read = read(store.dir()).unwrap();
        assert_eq!(read.stored.records, [record(1)], "cut at {cut}");
        assert!(read.notes.iter().any(|n| n.contains("line 2")));
    }
}

#[test]
fn a_newer_schema_is_refused_by_its_number() {
    let (_results, store) = stored();
    let path = store.dir().join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    let newer = text.replacen("\"schema\": 1", "\"schema\": 9", 1);
    fs::write(&path, newer.replacen("\"epoch\"", "\"era\"", 1)).unwrap();
    let error = read(store.dir()).unwrap_err().to_string();
    assert!(error.contains("has schema 9, this version reads 1"), "{error}");
    assert!(error.contains("use the version"), "{error}");
}

#[test]
fn damage_in_the_middle_names_its_line() {
    let (_results, store) = stored();
    let path = store.dir().join("samples.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"round\":1", "\"round\":x", 1)).unwrap();
    let error = read(store.dir()).unwrap_err().to_string();
    assert!(error.contains("samples.jsonl:1: "), "{error}");
}

/// BC-49: without a date or a version there is nothing to publish.
#[test]
fn a_run_without_its_date_or_versions_is_refused() {
    let (_results, store) = stored();
    let refused = |file: &str, from: &str, to: &str, words: &str| {
        let path = store.dir().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = read(store.dir()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(file), "{error}");
        fs::write(&path, text).unwrap();
    };
    let run = "\"started_at\": \"2026-01-02T03:04:05Z\"";
    let missing = "missing field `started_at`";
    refused("run.json", &format!("{run},"), "", missing);
    refused("run.json", run, "\"started_at\": \"\"", "started_at is \"\"");
    refused("run.json", run, "\"started_at\": \"May\"", "like 2026-01-02T");
    refused("run.json", "\"arena\": \"0.1.0\"", "\"arena\": \" \"", "version");
    let gun = "\"loadgen\": \"0.1.0\"";
    refused("run.json", gun, "\"loadgen\": \"\"", "loadgen is empty");
    let record = "\"2026-01-02T03:04:06Z\"";
    refused("samples.jsonl", record, "\"\"", "samples.jsonl:1: started_at");
    assert_eq!(read(store.dir()).unwrap().stored.records.len(), 2);
}

#[test]
fn records_that_are_no_file_are_refused_and_not_waited_for() {
    let (_results, store) = stored();
    let path = store.dir().join("samples.jsonl");
    fs::remove_file(&path).unwrap();
    symlink("/dev/zero", &path).unwrap();
    let error = read(store.dir()).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let (_results, mut store) = stored();
    let kept = fs::read(store.dir().join("samples.jsonl")).unwrap();
    store.samples = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let error = store.append(&record(3)).unwrap_err().to_string();
    assert!(error.contains("No space left on device"), "{error}");
    assert!(error.contains("make room"), "{error}");
    let now = fs::read(store.dir().join("samples.jsonl")).unwrap();
    assert_eq!(kept, now);
    assert_eq!(read(store.dir()).unwrap().stored.records.len(), 2);
}

#[test]
fn a_folder_that_cannot_be_made_is_said() {
    let results = tempfile::tempdir().unwrap();
    symlink("/dev/null", results.path().join("x")).unwrap();
    let error = Store::create(&results.path().join("x"), &run()).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
}

#[test]
fn verdicts_are_one_file_an_entry() {
    let (_results, store) = stored();
    let verdicts =
        Verdicts::new("axum".parse().unwrap(), "d".into(), 1, Vec::new());
    store.put_verdicts(&verdicts).unwrap();
    let back = read_verdicts(store.dir(), "axum").unwrap();
    assert_eq!(back, Some(verdicts));
    assert_eq!(read_verdicts(store.dir(), "hyper").unwrap(), None);
}
