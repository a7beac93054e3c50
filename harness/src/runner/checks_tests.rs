use std::collections::BTreeMap;

use profiles::{
    hist::Hist,
    sample::{ClassCount, Fault, PerConnection, SAMPLE_SCHEMA, ThreadUse},
};

use super::*;

/// A sound sample of 10 000 right answers in a second.
fn sample() -> Sample {
    let right = 10_000;
    let mut latency = Hist::new();
    latency.record_n(1_000_000, right);
    let count = ClassCount { sent: right, right };
    Sample {
        schema: SAMPLE_SCHEMA,
        loadgen: "0".into(),
        seed: 1,
        connections_asked: 10,
        connections_made: 10,
        in_flight: 1,
        requests_per_connection: None,
        window_asked_ns: 1_000_000_000,
        window_ns: 1_000_000_000,
        warmup_right: 0,
        warmup_unanswered: 0,
        sent: right,
        right,
        wrong: 0,
        wrong_by: BTreeMap::new(),
        faults: BTreeMap::new(),
        timed_out: 0,
        unanswered: 0,
        unanswered_age: Hist::new(),
        surplus: 0,
        statuses: BTreeMap::from([(200, right)]),
        classes: BTreeMap::from([("get".into(), count)]),
        right_body_bytes: 0,
        sent_bytes: 0,
        received_bytes: 0,
        latency,
        latency_wrong: Hist::new(),
        reconnects: 0,
        connect_errors: BTreeMap::new(),
        per_connection: PerConnection::default(),
        threads: vec![ThreadUse { cpu_ns: 50, wall_ns: 100 }],
        examples: Vec::new(),
        engine: "epoll".into(),
        retried: 0,
        withheld: 0,
        messages: 0,
        open_loop: None,
    }
}

fn pools(server: &str, load: &str) -> Pools {
    Pools {
        server: server.parse().unwrap(),
        load: load.parse().unwrap(),
        aux: load.parse().unwrap(),
        compromises: Vec::new(),
    }
}

fn seen(pools: &Pools) -> Seen<'_> {
    Seen {
        pools,
        exit: None,
        last_words: None,
        strayed: None,
        watched: Watched { marked: true, ..Watched::default() },
        shortfalls: &[],
    }
}

type Change = fn(&mut Sample, &mut Seen<'_>);

#[track_caller]
fn is_void(change: Change, because: &str) {
    let pools = pools("0", "1");
    let (mut sample, mut seen) = (sample(), seen(&pools));
    change(&mut sample, &mut seen);
    let found = void(&sample, &seen).join("; ");
    match because {
        "" => assert_eq!(found, ""),
        _ => assert!(found.contains(because), "{found:?}"),
    }
}

#[track_caller]
fn warns(change: Change, words: &[&str]) {
    let pools = pools("0", "1");
    let (mut sample, mut seen) = (sample(), seen(&pools));
    change(&mut sample, &mut seen);
    let found: Vec<_> =
        warnings(&sample, &seen).iter().map(Warn::word).collect();
    assert_eq!(found, words);
}

#[test]
fn what_makes_a_shot_void() {
    is_void(|_, _| {}, "");
    is_void(
        |_, seen| {
            seen.exit = Some(Exit { oom: true, ..Exit::default() });
            seen.last_words = Some("too big".into());
        },
        "killed for want of memory (OOM) during the shot; its last words: too",
    );
    is_void(
        |_, seen| seen.exit = Some(Exit { restarts: 2, ..Exit::default() }),
        "restarted 2 times",
    );
    is_void(|_, seen| seen.strayed = Some("thread 7".into()), "own pinning");
    is_void(|s, _| s.connections_made = 9, "only 9 of 10 connections");
    is_void(
        |s, _| {
            s.wrong = 1;
            s.wrong_by.insert("body".into(), 1);
            s.examples.push("expected\n7".into());
        },
        "1 of 10001 answers were wrong (body 1), e.g. expected 7",
    );
    is_void(|s, _| s.timed_out = 11, "11 of 10000 requests timed out");
    is_void(|s, _| s.right = 0, "not one right answer");
}

#[test]
fn one_fault_in_a_thousand_is_the_most_that_is_forgiven() {
    is_void(|s, _| s.faults = [(Fault::Torn, 10)].into(), "");
    is_void(|s, _| s.faults = [(Fault::Torn, 11)].into(), "(torn 11)");
    is_void(|s, _| s.timed_out = 10, "");
    is_void(|s, _| s.surplus = 11, "11 faults");
}

#[test]
fn what_a_reader_is_warned_of() {
    warns(|_, _| {}, &[]);
    warns(|s, _| s.threads[0].cpu_ns = 91, &["client-bound"]);
    warns(|s, _| s.threads[0].cpu_ns = 90, &[]);
    warns(|_, seen| seen.watched.foreign_share = Some(0.031), &["noisy"]);
    warns(|_, seen| seen.watched.foreign_share = Some(0.03), &[]);
    warns(|_, seen| seen.watched.marked = false, &["no-usage"]);
    warns(|s, _| s.per_connection.silent = 1, &["starved"]);
    warns(|s, _| s.window_ns += 20_000_001, &["window-cut"]);
    warns(|s, _| s.window_ns -= 20_000_000, &[]);
    warns(|s, _| s.sent += 1, &["inconsistent"]);
}

#[test]
fn shared_cpus_are_said_on_every_row() {
    let shared = pools("0", "0");
    let found = warnings(&sample(), &seen(&shared));
    assert_eq!(found, [Warn::SharedCpus]);
    assert!(!found[0].to_record().disqualifies);
    let mut halves = pools("0", "1");
    halves.compromises.push("server and load share one physical core".into());
    assert_eq!(warnings(&sample(), &seen(&halves)), [Warn::SharedCore]);
}

#[test]
fn only_what_is_not_the_entrys_doing_disqualifies_without_voiding() {
    let disqualifying = |w: Warn| w.to_record().disqualifies;
    assert!(disqualifying(Warn::Inconsistent("x".into())));
    let cut = |got_ms| Warn::WindowCut { asked_ms: 1000.0, got_ms };
    assert!(disqualifying(cut(899.0)));
    assert!(!disqualifying(cut(1100.0)));
    assert!(!disqualifying(Warn::ClientBound { busiest: 1.0 }));
    assert!(!disqualifying(Warn::Noisy { share: 1.0 }));
}
