//! Bad input and faults: each gets a clear error and loses nothing.
//!
//! The entries are the judge's honest twin with a fault of its own, run by
//! the `local` host from `meta.json`.

mod common;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Checkout, arena, contract_ports, stderr, stdout};

/// `meta.json` of an entry that runs `command` for `profiles`.
fn meta(command: &[&str], profiles: &[&str]) -> String {
    serde_json::json!({
        "type": "engine",
        "tests": profiles,
        "local": {"run": command},
    })
    .to_string()
}

/// The example that serves; built beside the tests.
fn peer() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().join("examples/peer")
}

fn with_peer(checkout: &Checkout, name: &str, mode: &str, profiles: &[&str]) {
    let dir = checkout.entry(name, &meta(&["./peer", mode], profiles));
    fs::copy(peer(), dir.join("peer")).unwrap();
}

fn bench(checkout: &Checkout) -> assert_cmd::Command {
    let mut command = arena(checkout.path());
    command.args(["bench", "--host", "local", "--preset", "smoke"]);
    command
}

#[track_caller]
fn failed(sample: &serde_json::Value, stage: &str, part: &str) {
    let outcome = &sample["outcome"];
    assert_eq!(outcome["kind"], "failed", "{sample}");
    assert_eq!(outcome["stage"], stage, "{sample}");
    let text = format!("{} {}", outcome["why"], outcome["log_tail"]);
    assert!(text.contains(part), "`{part}` is not in {text}");
}

#[test]
fn an_entry_that_does_not_build_or_start_is_a_record_and_others_go_on() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    with_peer(&checkout, "honest", "honest", &["pipelined"]);
    let no_build = r#"{"type": "engine", "tests": ["pipelined"], "local":
        {"build": ["sh", "-c", "echo no such crate >&2; exit 1"],
         "run": ["./peer"]}}"#;
    checkout.entry("no-build", no_build);
    let boom = ["sh", "-c", "echo boom; exit 7"];
    checkout.entry("no-start", &meta(&boom, &["pipelined"]));
    checkout.entry("no-way", r#"{"type": "engine", "tests": ["pipelined"]}"#);
    let ranking = stdout(&mut bench(&checkout), 4);
    assert!(ranking.contains("honest"), "{ranking}");
    let samples = checkout.samples();
    assert_eq!(samples.len(), 4);
    for sample in &samples {
        match sample["case"]["entry"].as_str().unwrap() {
            "honest" => {
                assert_eq!(sample["outcome"]["kind"], "measured", "{sample}");
                assert_eq!(sample["outcome"]["void"], serde_json::json!([]));
            }
            "no-build" => failed(sample, "build", "no such crate"),
            "no-start" => failed(sample, "gate", "exited with code 7"),
            "no-way" => failed(sample, "build", "Dockerfile"),
            other => panic!("{other}"),
        }
    }
    let mut rank = arena(checkout.path());
    let ranked = stdout(rank.args(["rank", "--json"]), 0);
    common::fits("rank", &ranked);
}

#[test]
fn a_dishonest_entry_is_never_fired_at() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    with_peer(&checkout, "wrong", "wrong", &["pipelined"]);
    let mut command = arena(checkout.path());
    let args = ["validate", "wrong", "--host", "local", "--json"];
    let verdicts = common::fits(
        "validate",
        &stdout(command.args(args).args(["--seed", "5"]), 3),
    );
    assert_eq!(verdicts["seed"], 5);
    assert!(verdicts["failed"].as_u64().unwrap() > 0);
    let err = stderr(&mut bench(&checkout), 4);
    assert!(err.contains("`arena validate wrong` shows why"), "{err}");
    failed(&checkout.samples()[0], "gate", "pipeline");
}

#[test]
fn another_protocol_is_named_by_its_first_bytes() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    with_peer(&checkout, "garbage", "garbage", &["pipelined"]);
    let mut command = arena(checkout.path());
    let args = ["validate", "garbage", "--host", "local"];
    let text = stdout(command.args(args), 3);
    assert!(text.contains("FAIL entry.ready (pipelined)"), "{text}");
    assert!(text.contains("serve HTTP/1.1 on this port"), "{text}");
}

#[test]
fn a_server_that_dies_in_the_shot_voids_it_with_its_exit_code() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    with_peer(&checkout, "fragile", "fragile", &["pipelined"]);
    // Long enough for any machine to send what it cannot take.
    let mut command = bench(&checkout);
    stdout(command.args(["--window", "3s"]), 4);
    let sample = &checkout.samples()[0];
    let outcome = sample["outcome"].to_string();
    assert!(outcome.contains("exited with code 9"), "{outcome}");
}

/// BC-22: what no judge can see before, and the gun sees in each answer.
#[test]
fn an_entry_that_turns_wrong_under_load_gets_no_number() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    with_peer(&checkout, "turncoat", "turncoat", &["pipelined"]);
    // Long enough for any machine to ask for more than the judge does.
    let mut command = bench(&checkout);
    let ranking = stdout(command.args(["--window", "3s"]), 4);
    let row = ranking.lines().find(|l| l.contains("turncoat")).unwrap();
    assert!(row.starts_with('-') && row.contains("failed"), "{ranking}");
    let sample = &checkout.samples()[0]["outcome"];
    assert!(sample["sample"]["right"].as_u64().unwrap() > 0, "{sample}");
    let void = sample["void"].to_string();
    assert!(void.contains("answers were wrong (body "), "{void}");
}

#[test]
fn a_strangers_hold_on_the_port_names_the_holder_and_blames_nobody() {
    let _ports = contract_ports();
    let held = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 8080)).unwrap();
    let checkout = Checkout::new();
    with_peer(&checkout, "honest", "honest", &["pipelined"]);
    let mut command = arena(checkout.path());
    let args = ["validate", "honest", "--host", "local"];
    let err = stderr(command.args(args), 5);
    let me = std::process::id().to_string();
    assert!(err.contains("8080") && err.contains(&me), "{err}");
    let err = stderr(&mut bench(&checkout), 5);
    assert!(err.contains(&me), "{err}");
    drop(held);
}

#[test]
fn a_missing_loadgen_stops_the_run_before_any_row() {
    let checkout = Checkout::new();
    with_peer(&checkout, "honest", "honest", &["pipelined"]);
    let mut command = bench(&checkout);
    let err = stderr(command.env("ARENA_LOADGEN", "/no/such/loadgen"), 1);
    assert!(err.contains("/no/such/loadgen cannot be run"), "{err}");
    assert!(err.contains("cargo build --release -p loadgen"), "{err}");
    assert!(!checkout.path().join("results").exists());
}

#[test]
fn a_results_folder_of_a_newer_schema_is_refused_by_its_number() {
    let checkout = Checkout::new();
    let run = checkout.path().join("results/29990101-000000-00000001");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("run.json"), r#"{"schema": 9, "era": 3}"#).unwrap();
    let err = stderr(arena(checkout.path()).arg("rank"), 2);
    assert!(err.contains("has schema 9, this version reads 1"), "{err}");
    let err = stderr(arena(checkout.path()).args(["site", "build"]), 2);
    assert!(err.contains("has schema 9"), "{err}");
}

/// A run of many shots that has stored two of them.
fn under_way(checkout: &Checkout, rounds: &str) -> std::process::Child {
    with_peer(checkout, "honest", "honest", &["pipelined"]);
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_arena"))
        .arg("--root")
        .arg(checkout.path())
        .args(["bench", "--host", "local", "--preset", "smoke"])
        .args(["--rounds", rounds])
        .env("ARENA_CACHE", common::cache())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stored = || {
        let list = fs::read_dir(checkout.path().join("results"));
        let mut runs = list.into_iter().flatten().flatten();
        let run = runs.next()?.path();
        let text = fs::read_to_string(run.join("samples.jsonl")).ok()?;
        text.ends_with('\n').then(|| text.lines().count())
    };
    wait(|| stored().is_some_and(|n| n >= 2));
    child
}

#[test]
fn ctrl_c_leaves_a_clean_machine_and_a_readable_partial_run() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    let mut child = under_way(&checkout, "500");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    // Nothing listens any more, so the port can be bound at once.
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, 8080)).unwrap();
    assert_eq!(left_over(checkout.path()), Vec::<String>::new());
    let mut rank = arena(checkout.path());
    let out = rank.arg("rank").output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(err.contains("the run was cut off"), "{err}");
    assert!(String::from_utf8(out.stdout).unwrap().contains("honest"));
}

#[test]
fn a_killed_run_loses_one_shot_and_can_be_gone_on_with() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    let mut child = under_way(&checkout, "8");
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = checkout.samples();
    let mut go_on = arena(checkout.path());
    let out = go_on.args(["bench", "--resume", "latest"]).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(matches!(out.status.code(), Some(0 | 4)), "{err}");
    let all = checkout.samples();
    assert_eq!(all[..kept.len()], kept);
    let rounds: Vec<_> =
        all.iter().map(|s| s["round"].as_u64().unwrap()).collect();
    assert_eq!(rounds, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(left_over(checkout.path()), Vec::<String>::new());
    let mut again = arena(checkout.path());
    let err = stderr(again.args(["bench", "--resume", "latest"]), 2);
    assert!(err.contains("nothing of it is left"), "{err}");
}

#[test]
fn an_entry_entered_twice_shows_the_noise_and_stands_on_no_board() {
    let _ports = contract_ports();
    let checkout = Checkout::new();
    with_peer(&checkout, "honest", "honest", &["pipelined"]);
    let mut command = bench(&checkout);
    let args = ["--aa", "honest", "--rounds", "3"];
    let out = command.args(args).output().unwrap();
    let ranking = String::from_utf8(out.stdout).unwrap();
    assert!(ranking.contains("noise floor of an A/A pair"), "{ranking}");
    assert!(!ranking.contains("honest.again"), "{ranking}");
    let samples = checkout.samples();
    let of = |name: &str| {
        samples.iter().filter(|s| s["case"]["entry"] == name).count()
    };
    assert_eq!((of("honest"), of("honest.again")), (3, 3));
    let digest = &samples[0]["artifact_digest"];
    assert!(samples.iter().all(|s| s["artifact_digest"] == *digest));
    let mut compare = arena(checkout.path());
    let args = ["compare", "honest", "honest.again", "--json"];
    common::fits("compare", &stdout(compare.args(args), 0));
    let mut nobody = bench(&checkout);
    let err = stderr(nobody.args(["--aa", "nobody"]), 2);
    assert!(err.contains("no entry `nobody`"), "{err}");
}

/// Command lines of processes that run something of `dir`.
fn left_over(dir: &Path) -> Vec<String> {
    let dir = dir.to_string_lossy().into_owned();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|p| fs::read_link(p.path().join("exe")).ok())
        .map(|exe| exe.to_string_lossy().into_owned())
        .filter(|exe| exe.starts_with(&dir))
        .collect()
}

/// Waits for an event; a minute is a hang.
#[track_caller]
fn wait(happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < Duration::from_secs(60), "it hangs");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
