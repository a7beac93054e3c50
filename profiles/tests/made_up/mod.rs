//! Made-up runs for tests of the ranking and of the pages. Nothing here was
//! ever measured, and the rig says so.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;

use profiles::board::Stored;
use profiles::hist::Hist;
use profiles::profile::{Family, League, Metric};
use profiles::record::{
    Case, Contestant, EPOCH, Environment, Fired, Outcome, Pools, RECORD_SCHEMA,
    Record, Run, Settings, Usage, Warning,
};
use profiles::sample::{ClassCount, PerConnection, SAMPLE_SCHEMA, Sample};

const SECOND_NS: u64 = 1_000_000_000;
const WHEN: &str = "2001-02-03T04:05:06Z";

pub fn contestant(name: &str, kind: &str, profiles: &[&str]) -> Contestant {
    let league = match kind {
        "engine" => League::Engine,
        "infrastructure" => League::Infrastructure,
        _ => League::Framework,
    };
    Contestant {
        name: name.parse().unwrap(),
        display_name: name.to_owned(),
        kind: kind.to_owned(),
        league,
        language: "Rust".into(),
        engine: "hyper".into(),
        version: "1.0.0".into(),
        repo: "https://example.org/made-up".into(),
        twin_of: None,
        artifact_digest: "00".repeat(32),
        profiles: profiles.iter().map(|p| p.parse().unwrap()).collect(),
    }
}

pub fn fired(name: &str, levels: &[u32], leagues: &[League]) -> Fired {
    Fired {
        name: name.parse().unwrap(),
        title: name.to_owned(),
        digest: "11".repeat(32),
        family: Family::H1Core,
        metric: Metric::Answers,
        leagues: leagues.to_vec(),
        fired: !levels.is_empty(),
        levels: levels.to_vec(),
    }
}

pub fn run(entries: Vec<Contestant>, profiles: Vec<Fired>) -> Run {
    Run {
        schema: RECORD_SCHEMA,
        epoch: EPOCH,
        run: "made-up".into(),
        started_at: WHEN.into(),
        resumed_at: Vec::new(),
        ended_at: Some(WHEN.into()),
        arena: "0.0.0".into(),
        loadgen: "0.0.0".into(),
        host: "fake".into(),
        seed: 7,
        settings: Settings {
            preset: "quick".into(),
            rounds: 3,
            window_ns: Some(SECOND_NS),
            warmup_ns: 0,
            gap_ns: 0,
            levels: None,
            connections_cap: None,
        },
        pools: Pools {
            server: "0".parse().unwrap(),
            load: "1".parse().unwrap(),
            aux: "1".parse().unwrap(),
            compromises: vec!["aux shares the load pool".into()],
        },
        environment: Environment {
            rig: "made-up rig".into(),
            cpu: "Made-up CPU".into(),
            cores: 2,
            threads: 2,
            memory_bytes: 8 << 30,
            kernel: "6.1".into(),
            os: "Made-up Linux".into(),
            governor: "performance".into(),
            boost: "off".into(),
            engine: "none".into(),
            rustc: "1.88.0".into(),
            ..Environment::default()
        },
        data_digest: "22".repeat(32),
        entries,
        profiles,
    }
}

pub fn case(entry: &str, profile: &str, level: u32) -> Case {
    Case {
        entry: entry.parse().unwrap(),
        profile: profile.parse().unwrap(),
        level,
    }
}

/// One second of `rate` right answers whose books and latencies agree.
pub fn sample(rate: u64, level: u32) -> Sample {
    let mean_ns = u64::from(level) * SECOND_NS / rate;
    let mut latency = Hist::new();
    latency.record_n(mean_ns * 4 / 5, rate / 2);
    latency.record_n(mean_ns * 6 / 5, rate - rate / 2);
    Sample {
        schema: SAMPLE_SCHEMA,
        loadgen: "0.0.0".into(),
        seed: 7,
        connections_asked: level,
        connections_made: level,
        in_flight: 1,
        requests_per_connection: None,
        window_asked_ns: SECOND_NS,
        window_ns: SECOND_NS,
        warmup_right: 0,
        warmup_unanswered: 0,
        sent: rate,
        right: rate,
        wrong: 0,
        wrong_by: BTreeMap::new(),
        faults: BTreeMap::new(),
        timed_out: 0,
        unanswered: 0,
        unanswered_age: Hist::new(),
        surplus: 0,
        statuses: BTreeMap::from([(200, rate)]),
        classes: BTreeMap::from([(
            "all".into(),
            ClassCount { sent: rate, right: rate },
        )]),
        right_body_bytes: rate * 100,
        sent_bytes: rate * 60,
        received_bytes: rate * 200,
        latency,
        latency_wrong: Hist::new(),
        reconnects: 0,
        connect_errors: BTreeMap::new(),
        per_connection: PerConnection::default(),
        threads: Vec::new(),
        examples: Vec::new(),
        engine: "epoll".into(),
        retried: 0,
        withheld: 0,
        messages: 0,
        open_loop: None,
    }
}

pub fn record(round: u32, case: Case, outcome: Outcome) -> Record {
    Record {
        schema: RECORD_SCHEMA,
        run: "made-up".into(),
        round,
        order: 1,
        case,
        capped_from: None,
        started_at: WHEN.into(),
        artifact_digest: "00".repeat(32),
        profile_digest: "11".repeat(32),
        seed: 7,
        ready_ns: Some(1_000_000),
        outcome,
        warnings: Vec::new(),
        testimony: None,
    }
}

pub fn measured(round: u32, case: Case, sample: Sample) -> Record {
    let server = Usage {
        cpu_ns: SECOND_NS / 2,
        memory_median_bytes: Some(10 << 20),
        memory_peak_bytes: Some(12 << 20),
    };
    let load = Usage { cpu_ns: SECOND_NS / 4, ..Usage::default() };
    let sample = Box::new(sample);
    let void = Vec::new();
    record(
        round,
        case,
        Outcome::Measured {
            sample,
            server,
            load,
            services: Default::default(),
            void,
        },
    )
}

pub fn failed(round: u32, case: Case, stage: &str, why: &str) -> Record {
    let (stage, why) = (stage.to_owned(), why.to_owned());
    let log_tail = String::new();
    record(round, case, Outcome::Failed { stage, why, log_tail })
}

pub fn warn(record: &mut Record, word: &str, disqualifies: bool) {
    record.warnings.push(Warning {
        word: word.to_owned(),
        text: format!("made up: {word}"),
        disqualifies,
    });
}

/// Valid shots of one case, a round for each rate.
pub fn rounds(entry: &str, profile: &str, rates: &[u64]) -> Vec<Record> {
    let one = |(round, &rate): (u32, &u64)| {
        measured(round, case(entry, profile, 512), sample(rate, 512))
    };
    (1..).zip(rates).map(one).collect()
}

/// Two entries of the framework league over three profiles, one of which the
/// tool cannot run.
pub fn small() -> Stored {
    let framework = [League::Framework];
    let profiles = vec![
        fired("baseline", &[512], &framework),
        fired("json", &[512], &framework),
        fired("echo-ws", &[], &framework),
    ];
    let all = ["baseline", "json", "echo-ws"];
    let entries = vec![
        contestant("alpha", "production", &all),
        contestant("beta", "tuned", &["baseline"]),
    ];
    let records = [
        rounds("alpha", "baseline", &[100_000, 101_000, 99_000]),
        rounds("alpha", "json", &[50_000, 50_500, 49_500]),
        rounds("beta", "baseline", &[50_000, 50_400, 49_600]),
    ];
    Stored { run: run(entries, profiles), records: records.concat() }
}
