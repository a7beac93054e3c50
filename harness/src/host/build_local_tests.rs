use super::*;

fn entry(meta: &str) -> Entry {
    let json = format!("{{\"type\":\"engine\",\"tests\":[\"json\"]{meta}}}");
    let known = ["json".parse().unwrap()];
    Entry::parse("x".parse().unwrap(), "meta.json", &json, &known).unwrap()
}

fn try_build(meta: &str, dir: &Path) -> Result<Artifact, HostError> {
    let cache = tempfile::tempdir().unwrap();
    let mut said = Vec::new();
    build(&entry(meta), dir, cache.path(), &Interrupt::default(), &mut |l| {
        said.push(l.to_string());
    })
}

#[test]
fn an_entry_with_only_a_dockerfile_is_told_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Dockerfile"), "FROM x").unwrap();
    let error = try_build("", dir.path()).unwrap_err();
    assert!(error.to_string().contains("--host docker"), "{error}");
}

#[test]
fn a_failed_build_shows_the_end_of_its_output() {
    let dir = tempfile::tempdir().unwrap();
    let meta = r#","local":{"build":["sh","-c","echo broken >&2; exit 3"],
        "run":["true"]}"#;
    let Err(HostError::Entry { why, log_tail }) = try_build(meta, dir.path())
    else {
        panic!()
    };
    assert!(why.contains("does not build"), "{why}");
    assert_eq!(log_tail, "broken");
}

#[test]
fn an_entry_whose_programs_are_missing_is_told_what_to_install() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("there");
    fs::write(&file, "").unwrap();
    let meta = |packages: &str| {
        format!(
            r#","local":{{"build":["sh","-c","echo >built"],"run":["true"],
            "packages":[{packages}"sh:dash","{}:x"]}}"#,
            file.display()
        )
    };
    let lacks = meta(r#""nobody-has-this:some-package","#);
    let error = try_build(&lacks, dir.path()).unwrap_err();
    assert!(matches!(error, HostError::Entry { .. }), "{error}");
    let told = "`nobody-has-this` is missing: apt-get install some-package, \
                then run this again";
    assert!(error.to_string().contains(told), "{error}");
    assert!(!dir.path().join("built").exists());
    try_build(&meta(""), dir.path()).unwrap();
}

/// A process that stays makes the test hang.
fn wait_for_the_end_of(dir: &Path) {
    let pid = fs::read_to_string(dir.join("pid")).unwrap();
    let pid = pid.trim().parse().unwrap();
    while crate::watch::proc::Stat::of(pid).is_some() {
        thread::yield_now();
    }
}

#[test]
fn what_a_build_leaves_running_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let meta = r#","local":{"build":["sh","-c","sleep 1000 & echo $! >pid"],
        "run":["true"]}"#;
    try_build(meta, dir.path()).unwrap();
    wait_for_the_end_of(dir.path());
}

#[test]
fn a_build_that_leaves_a_chatterbox_behind_ends_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let meta = r#","local":{"build":["sh","-c","yes & echo $! >pid"],
        "run":["true"]}"#;
    try_build(meta, dir.path()).unwrap();
    wait_for_the_end_of(dir.path());
}

#[test]
fn of_a_flood_only_the_end_is_kept() {
    let mut command = Command::new("sh");
    let flood = "head -c 40000000 /dev/zero | tr '\\0' x | fold -w 40000; \
                 echo; echo last";
    command.args(["-c", flood]);
    let kept = run(command, &Interrupt::default(), &mut |_| {}).unwrap();
    assert_eq!(kept.last().unwrap(), "last");
    let bytes: usize = kept.iter().map(String::len).sum();
    assert!((KEPT_STDOUT / 2..=KEPT_STDOUT).contains(&bytes), "{bytes}");
}

#[test]
fn an_interrupt_ends_a_build_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::default();
    let mut command = Command::new("sh");
    command
        .args(["-c", "sleep 1000 & echo $! >pid; echo up >&2; wait"])
        .current_dir(dir.path());
    let error = run(command, &interrupt, &mut |_| interrupt.raise());
    assert!(error.unwrap_err().to_string().contains("interrupted"));
    wait_for_the_end_of(dir.path());
}

#[test]
fn a_crate_that_does_not_compile_is_the_entrys_failure() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/main.rs"), "fn main() { nonsense }")
        .unwrap();
    let manifest = "[package]\nname='x'\nversion='0.1.0'\n[workspace]\n";
    fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    let lock = "version = 4\n[[package]]\nname='x'\nversion='0.1.0'\n";
    fs::write(dir.path().join("Cargo.lock"), lock).unwrap();
    let Err(HostError::Entry { log_tail, .. }) = try_build("", dir.path())
    else {
        panic!()
    };
    assert!(log_tail.contains("nonsense"), "{log_tail}");
}

#[test]
fn any_byte_name_or_mode_changes_the_digest_of_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.py");
    let digest = || tree_digest(dir.path()).unwrap();
    fs::write(&file, "1").unwrap();
    let first = digest();
    assert!(first.starts_with("sha256:"));
    fs::create_dir(dir.path().join("target")).unwrap();
    fs::write(dir.path().join("target/x"), "made").unwrap();
    assert_eq!(digest(), first);
    fs::write(&file, "2").unwrap();
    let second = digest();
    assert_ne!(second, first);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let third = digest();
    assert_ne!(third, second);
    fs::rename(&file, dir.path().join("b.py")).unwrap();
    assert_ne!(digest(), third);
}

#[test]
fn among_several_binaries_the_one_named_as_the_entry_runs() {
    let many = |names: &[&str]| {
        names.iter().map(|n| (n.to_string(), n.into())).collect::<Vec<_>>()
    };
    assert_eq!(pick("x", many(&["a", "x"])).unwrap(), Path::new("x"));
    assert_eq!(pick("x", many(&["a"])).unwrap(), Path::new("a"));
    assert!(
        pick("x", many(&["a", "b"])).unwrap_err().to_string().contains("2")
    );
    assert!(
        pick("x", many(&[])).unwrap_err().to_string().contains("no binary")
    );
}

#[test]
fn binaries_are_found_in_cargos_messages() {
    let lines = [
        "not json",
        r#"{"target":{"kind":["lib"],"name":"l"},"executable":null}"#,
        r#"{"target":{"kind":["bin"],"name":"b"},"executable":"/t/b"}"#,
    ]
    .map(String::from);
    assert_eq!(executables(&lines), [("b".to_string(), "/t/b".into())]);
}
