use std::fs;

use profiles::{cpuset::CpuSet, profile::Profile, units::Bytes};

use super::*;
use crate::host::DataPaths;

const PROFILE: &str = include_str!("../../../profiles/defs/baseline.toml");

struct Bench {
    dir: tempfile::TempDir,
    entry: Entry,
    profile: Profile,
    artifact: Artifact,
    memory: Option<Bytes>,
}

impl Bench {
    fn of(script: &str) -> Bench {
        let run = serde_json::json!(["sh", "-c", script]);
        let meta = serde_json::json!({
            "type": "engine", "tests": ["baseline"], "local": {"run": run},
        });
        let name = "baseline".parse().unwrap();
        let known = [name];
        let entry = Entry::parse(
            "x".parse().unwrap(),
            "meta.json",
            &meta.to_string(),
            &known,
        )
        .unwrap();
        let [name] = known;
        Bench {
            dir: tempfile::tempdir().unwrap(),
            entry,
            profile: Profile::parse(name, "baseline.toml", PROFILE).unwrap(),
            artifact: Artifact { digest: "sha256:0".into(), what: "sh".into() },
            memory: None,
        }
    }

    fn start(&self, cpus: Option<CpuSet>) -> Result<Process, HostError> {
        Process::start(&Launch {
            run: "test",
            entry: &self.entry,
            dir: self.dir.path(),
            profile: &self.profile,
            artifact: &self.artifact,
            cpus,
            memory: self.memory,
            data: &DataPaths::under(Path::new("/nowhere")),
            env: vec![("EXTRA".into(), "1".into())],
            log: &self.dir.path().join("x.log"),
            open_files: 64,
            certificate: true,
        })
    }
}

fn wait_for_exit(process: &mut Process) -> Exit {
    loop {
        if let Some(exit) = process.exited() {
            return exit;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_server_is_pinned_before_it_runs_and_gone_when_stopped() {
    let first = crate::rig::allowed().iter().next().unwrap();
    let cpus = CpuSet::new([first]).unwrap();
    let mut process =
        Bench::of("sleep 60 & sleep 60").start(Some(cpus.clone())).unwrap();
    let pids = process.pids();
    assert!(!pids.is_empty());
    assert_eq!(proc::strayed(&pids, &cpus), None);
    assert_eq!(process.exited(), None);
    process.stop().unwrap();
    assert!(process.pids().is_empty());
    process.stop().unwrap();
    for pid in pids {
        assert_eq!(proc::Stat::of(pid), None, "{pid} is still there");
    }
}

#[test]
fn a_server_that_ignores_the_polite_signal_is_killed() {
    let bench = Bench::of("trap '' TERM; echo up; while :; do sleep 1; done");
    let mut process = bench.start(None).unwrap();
    while !process.log_tail().contains("up") {
        thread::sleep(Duration::from_millis(2));
    }
    let pid = process.child.id() as i32;
    process.stop().unwrap();
    assert_eq!(proc::Stat::of(pid), None);
}

#[test]
fn how_a_server_ended_and_its_last_words_are_kept() {
    let bench = Bench::of("echo $EXTRA $DATASET_PATH; exit 7");
    let mut process = bench.start(None).unwrap();
    let exit = wait_for_exit(&mut process);
    assert_eq!(exit.code, Some(7));
    assert_eq!(exit.to_string(), "exited with code 7");
    process.stop().unwrap();
    let log = fs::read_to_string(bench.dir.path().join("x.log")).unwrap();
    assert_eq!(log, "1 /nowhere/dataset.json\n");
}

#[test]
fn our_environment_does_not_reach_a_strangers_program() {
    let bench = Bench::of("env; exit 0");
    let mut process = bench.start(None).unwrap();
    wait_for_exit(&mut process);
    process.stop().unwrap();
    let log = process.log_tail();
    assert!(log.contains("ARENA_RUN=test"), "{log}");
    assert!(!log.contains("CARGO"), "{log}");
}

#[test]
fn a_program_that_is_not_there_is_the_entrys_failure() {
    let mut bench = Bench::of("true");
    bench.entry.local = None;
    bench.artifact.what = "/nowhere/server".into();
    let error = bench.start(None).unwrap_err();
    assert!(matches!(error, HostError::Entry { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/server"), "{error}");
}

#[test]
fn a_server_that_outgrows_its_memory_cap_is_known_as_such() {
    // `tail` keeps the last line, and this one has no end.
    let mut bench = Bench::of("tail /dev/zero");
    bench.memory = Some(Bytes(16 << 20));
    let mut process = bench.start(None).unwrap();
    if !process.shortfalls().is_empty() {
        println!("skipped: {}", process.shortfalls()[0]);
        return;
    }
    let exit = wait_for_exit(&mut process);
    assert!(exit.oom, "{exit}");
}
