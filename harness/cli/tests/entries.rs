//! Every entry of this repository is judged on host `local`, beside the real
//! database, cache and stacks, and passes what it subscribes to.

mod common;

use std::fs;

use common::{arena, contract_ports, root};
use serde_json::Value;

/// Past the test runner's capture, so that it is never silent.
fn say(text: &str) {
    let _ = fs::write("/dev/stderr", format!("{text}\n"));
}

fn entries() -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(root().join("frameworks"))
        .unwrap()
        .map(|item| item.unwrap())
        .filter(|item| item.path().join("meta.json").is_file())
        .map(|item| item.file_name().into_string().unwrap())
        .collect();
    all.sort();
    all
}

/// What is wrong with an entry, a line each.
fn judged(entry: &str) -> Vec<String> {
    let mut command = arena(&root());
    // Builds are kept where a user's are, not made for the test.
    match std::env::var_os("ARENA_CACHE") {
        Some(cache) => command.env("ARENA_CACHE", cache),
        None => command.env_remove("ARENA_CACHE"),
    };
    let args = ["validate", entry, "--host", "local", "--json"];
    let out = command.args(args).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    if err.contains("is missing: apt-get install") {
        say(&format!("skipped: {entry}: {}", err.trim()));
        return Vec::new();
    }
    let Ok(verdicts) = serde_json::from_slice::<Value>(&out.stdout) else {
        return vec![format!("{entry}: no verdicts: {err}")];
    };
    let probes = verdicts["probes"].as_array().unwrap();
    let missing = probes.iter().find(|p| {
        let got = p["got"].as_str().unwrap();
        p["id"] == "entry.build" && got.contains("is missing: apt-get install")
    });
    if let Some(missing) = missing {
        say(&format!("skipped: {entry}: {}", missing["got"]));
        return Vec::new();
    }
    say(&format!(
        "{entry}: {} passed, {} failed, {} skipped (seed {})",
        verdicts["passed"],
        verdicts["failed"],
        verdicts["skipped"],
        verdicts["seed"],
    ));
    let fine = ["pass", "skip", "warn", "flaky"];
    let wrong = probes.iter().filter(|p| {
        let verdict = p["verdict"].as_str().unwrap();
        !fine.contains(&verdict)
    });
    let mut wrong: Vec<String> = wrong
        .map(|p| {
            format!("{entry}: {} ({}): {}", p["id"], p["profile"], p["got"])
        })
        .collect();
    if verdicts["passed"].as_u64() == Some(0) {
        wrong.push(format!("{entry}: nothing was asked: {err}"));
    }
    wrong
}

#[test]
fn every_entry_passes_what_it_subscribes_to() {
    let _ports = contract_ports();
    let all = entries();
    assert!(all.len() >= 3, "{all:?}");
    let wrong: Vec<String> = all.iter().flat_map(|e| judged(e)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
