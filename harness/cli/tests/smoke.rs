//! The real thing, small: the entries of this repository built, judged, shot
//! at, ranked and shown, on host `local` and where possible in containers.

mod common;

use std::fs;

use common::{arena, contract_ports, root, stdout};
use serde_json::Value;

const ALL: [&str; 3] = ["actix-web", "axum", "hyper"];
/// Images of more would take longer than the tests may.
const IN_CONTAINERS: [&str; 1] = ["hyper"];

/// The repository's entries in a checkout of its own, so that its results
/// and its site stay apart.
fn checkout(entries: &[&str]) -> common::Checkout {
    let checkout = common::Checkout::new();
    for entry in entries {
        let from = root().join("frameworks").join(entry);
        let to = checkout.path().join("frameworks").join(entry);
        let mut copy = std::process::Command::new("cp");
        copy.arg("-r").arg(from).arg(to);
        assert!(copy.status().unwrap().success());
    }
    checkout
}

fn run(host: &str, entries: &[&str]) {
    let checkout = checkout(entries);
    let mut command = arena(checkout.path());
    // Builds and images are kept where a user's are, not made for the test.
    match std::env::var_os("ARENA_CACHE") {
        Some(cache) => command.env("ARENA_CACHE", cache),
        None => command.env_remove("ARENA_CACHE"),
    };
    let args = ["bench", "--preset", "smoke", "--site", "--json"];
    let out = command.args(args).args(["--host", host]).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    let samples = checkout.samples();
    let subscribed: usize = entries.iter().map(|e| profiles(e)).sum();
    assert_eq!(samples.len(), subscribed, "{err}");
    for sample in &samples {
        right(sample);
    }
    let ranking = String::from_utf8(out.stdout).unwrap();
    let ranking = common::fits("rank", &ranking);
    let leagues: Vec<_> =
        ranking["boards"].as_array().unwrap().iter().collect();
    assert_eq!(leagues.len(), entries.len().min(2), "framework and engine");
    // A noisy machine may disqualify a number, never a whole run.
    assert!(matches!(out.status.code(), Some(0 | 4)), "{err}");
    let dist = checkout.path().join("site/dist");
    let first = fs::read_to_string(dist.join("index.html")).unwrap();
    let engines = fs::read_to_string(dist.join("b/engine/index.html")).unwrap();
    let pages = [first, engines].concat();
    for part in ["<table", "<svg"].iter().chain(entries) {
        assert!(pages.contains(part), "{part} is on no board");
    }
    for entry in entries {
        let verdicts = checkout.run().join(format!("verdicts/{entry}.json"));
        let verdicts: Value =
            serde_json::from_slice(&fs::read(verdicts).unwrap()).unwrap();
        assert_eq!(verdicts["failed"], 0, "{verdicts}");
    }
    if let [a, b, ..] = entries {
        let compared = arena(checkout.path())
            .args(["compare", a, b, "--json"])
            .output()
            .unwrap();
        common::fits("compare", &String::from_utf8(compared.stdout).unwrap());
    }
}

/// How many profiles an entry subscribes to: a shot each at this preset.
fn profiles(entry: &str) -> usize {
    let meta = root().join("frameworks").join(entry).join("meta.json");
    let meta: Value = serde_json::from_slice(&fs::read(meta).unwrap()).unwrap();
    meta["tests"].as_array().unwrap().len()
}

/// A shot that was measured and in which every answer was right.
#[track_caller]
fn right(sample: &Value) {
    let outcome = &sample["outcome"];
    assert_eq!(outcome["kind"], "measured", "{sample}");
    assert_eq!(outcome["void"], serde_json::json!([]), "{sample}");
    let books = &outcome["sample"];
    let count = |key: &str| books[key].as_u64().unwrap();
    assert!(count("right") > 0, "{sample}");
    let gone = ["wrong", "timed_out", "surplus"].map(count);
    assert_eq!(gone, [0, 0, 0], "{sample}");
    assert_eq!(count("sent"), count("right") + count("unanswered"));
    assert_eq!(books["connections_made"], books["connections_asked"]);
}

#[test]
fn the_entries_of_this_repository_run_on_host_local() {
    let _ports = contract_ports();
    run("local", &ALL);
}

#[test]
fn the_entries_of_this_repository_run_in_containers() {
    let mut doctor = arena(&root());
    let text = stdout(doctor.args(["doctor", "--json"]), 0);
    let machine: Value = serde_json::from_str(&text).unwrap();
    let docker = &machine["hosts"][1];
    if docker["usable"] != true {
        // Past the test runner's capture, so that it is never silent.
        let reason = format!("skipped: containers: {}\n", docker["why"]);
        let _ = fs::write("/dev/stderr", reason);
        return;
    }
    let _ports = contract_ports();
    run("docker", &IN_CONTAINERS);
}
