use std::{fs, os::unix::fs::PermissionsExt};

use profiles::{cpuset::CpuSet, spec::SPEC_SCHEMA};

use super::*;
use crate::interrupt::Interrupt;

const FAILED: &str = r#"{"outcome":"failed","schema":1,"stage":"connect","why":"x","connections_asked":1,"connections_made":0,"connect_errors":{}}"#;

fn spec() -> Spec {
    Spec {
        schema: SPEC_SCHEMA,
        profile: "baseline".parse().unwrap(),
        definition: String::new(),
        target: ([127, 0, 0, 1], 1).into(),
        connections: 1,
        threads: 1,
        cpus: None,
        seed: 1,
        connect_timeout_ns: 0,
        warmup_ns: 0,
        gap_ns: 0,
        window_ns: 0,
        timeout_ns: 1,
        data_dir: "/nowhere".into(),
        rate_per_s: None,
        engine: Default::default(),
        tokens: Vec::new(),
    }
}

struct Script {
    _dir: tempfile::TempDir,
    gun: Loadgen,
}

impl Script {
    fn new(body: &str) -> Script {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gun");
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Script { _dir: dir, gun: Loadgen::new(path) }
    }

    fn fire(&self, interrupt: &Interrupt) -> (Result<Shot, Misfire>, bool) {
        let cpus: CpuSet = "0".parse().unwrap();
        let me = Meter::Tree(std::process::id() as i32);
        let mut watching = Watching::new(Some(me), cpus, interrupt);
        let shot = self.gun.fire(&spec(), &mut watching);
        (shot, watching.watched().marked)
    }
}

#[test]
fn the_spec_goes_in_and_the_document_comes_out_with_its_marks() {
    let body = format!(
        "read spec; case $spec in *baseline*) ;; *) exit 1;; esac\n\
         echo '{OPENED}' >&2; echo noise >&2; echo '{CLOSED}' >&2\n\
         echo '{FAILED}'"
    );
    let (shot, marked) = Script::new(&body).fire(&Interrupt::default());
    assert!(matches!(shot, Ok(Shot::Failed(f)) if f.stage == "connect"));
    assert!(marked);
}

#[test]
fn a_long_document_is_read_whole() {
    let body = "head -c 300000 /dev/zero | tr '\\0' ' '; echo; echo '"
        .to_string()
        + FAILED
        + "'";
    let (shot, marked) = Script::new(&body).fire(&Interrupt::default());
    assert!(matches!(shot, Ok(Shot::Failed(_))));
    assert!(!marked);
}

#[test]
fn a_gun_without_a_sample_is_quoted_with_its_last_words() {
    let (shot, _) =
        Script::new("echo 'it broke' >&2; exit 3").fire(&Interrupt::default());
    let text = shot.unwrap_err().to_string();
    assert!(text.contains("exit status: 3"), "{text}");
    assert!(text.contains("it broke"), "{text}");
}

#[test]
fn a_gun_that_hangs_is_killed_after_its_planned_total() {
    let mut script = Script::new("sleep 60 & sleep 60");
    script.gun.grace = Duration::from_millis(50);
    let (shot, _) = script.fire(&Interrupt::default());
    assert!(matches!(shot, Err(Misfire::Hung { .. })));
}

#[test]
fn an_interrupt_ends_the_gun_at_once() {
    let interrupt = Interrupt::default();
    interrupt.raise();
    let (shot, _) = Script::new("sleep 60").fire(&interrupt);
    assert!(matches!(shot, Err(Misfire::Interrupted)));
}

#[test]
fn a_missing_gun_says_how_to_build_it() {
    let gun = Loadgen::new("/nowhere/loadgen");
    let text = gun.version().unwrap_err().to_string();
    assert!(text.contains("/nowhere/loadgen"), "{text}");
    assert!(text.contains("cargo build --release -p loadgen"), "{text}");
}

#[test]
fn a_version_is_the_first_line_it_prints() {
    let script = Script::new("echo loadgen 1.2; echo more");
    assert_eq!(script.gun.version().unwrap(), "loadgen 1.2");
    assert!(Script::new("exit 2").gun.version().is_err());
}
