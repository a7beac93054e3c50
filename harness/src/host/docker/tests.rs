//! Against the real engine; skipped with the reason where there is none.

use std::fs;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use profiles::catalog::Catalog;
use profiles::units::Bytes;

use super::super::{DataPaths, Exit};
use super::config::Spec;
use super::*;

/// Only ends tests that would hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Runs what it is told, so one image does for all tests. It is left for the
/// next time; tests of other checkouts may be using it too.
const DOCKERFILE: &str = r#"
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
ENTRYPOINT ["sh", "-c", "eval \"$SCRIPT\""]
"#;
const ENTRY: &str = "harness-test";

/// The engine, and a run's name of its own for each test: they go on side by
/// side, and colleagues' tests with them.
struct Bench {
    host: DockerHost,
    run: String,
}

fn bench(test: &str) -> Option<Bench> {
    static BUILT: OnceLock<Result<Artifact, String>> = OnceLock::new();
    let host = match DockerHost::connect(Interrupt::default()) {
        Ok(host) => host,
        Err(reason) => {
            skipped(&reason.to_string());
            return None;
        }
    };
    if host.bases.is_empty() {
        skipped("no base images: run scripts/setup-docker.sh");
        return None;
    }
    let built = BUILT.get_or_init(|| {
        let home = tempfile::tempdir().unwrap();
        let dir = entry_dir(home.path(), DOCKERFILE);
        let built = host.build_image(ENTRY, &dir, &mut |_| {});
        built.map_err(|error| error.to_string())
    });
    assert!(built.as_ref().unwrap().digest.starts_with("sha256:"));
    Some(Bench { host, run: format!("test-{}-{test}", process::id()) })
}

/// Past the capture of passing tests' output: a skip is never silent.
fn skipped(reason: &str) {
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}

fn entry_dir(home: &Path, dockerfile: &str) -> PathBuf {
    let dir = home.join(ENTRY);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("Dockerfile"), dockerfile).unwrap();
    dir
}

impl Bench {
    fn spec(&self, script: &str) -> Spec {
        Spec {
            run: self.run.clone(),
            entry: ENTRY.into(),
            image: image_name(ENTRY),
            cpus: Some("0".into()),
            memory_bytes: Some(64 << 20),
            env: vec![("SCRIPT".into(), script.into())],
            mounts: vec![],
            in_memory: None,
            args: vec![],
        }
    }

    fn try_start(&self, spec: &Spec) -> Result<Container, DockerError> {
        Container::start(&self.host.engine, spec)
    }

    fn start(&self, script: &str) -> Container {
        self.try_start(&self.spec(script)).unwrap()
    }

    fn left(&self) -> usize {
        self.host.engine.ours(Some(&self.run)).unwrap().len()
    }
}

fn ended(container: &mut Container) -> Exit {
    until(container, |container| container.exited())
}

fn says(container: &mut Container, word: &str) {
    until(container, |it| it.log_tail().contains(word).then_some(()));
}

fn until<T>(
    container: &mut Container,
    mut is_so: impl FnMut(&mut Container) -> Option<T>,
) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = is_so(container) {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "{}", container.log_tail());
        std::thread::yield_now();
    }
}

#[test]
fn an_entry_gets_its_cpus_mounts_and_limits_and_leaves_nothing() {
    let Some(bench) = bench("whole") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let catalog = Catalog::load(root).unwrap();
    let home = tempfile::tempdir().unwrap();
    let data = DataPaths::under(home.path());
    fs::write(&data.dataset, "the data").unwrap();
    fs::create_dir(&data.statics).unwrap();
    fs::create_dir(&data.certs).unwrap();
    fs::write(data.certs.join("server.key"), "the key").unwrap();
    let log = home.path().join("log");
    let script = "nproc; cat /data/dataset.json /certs/server.key; \
        touch /data/dataset.json /data/static/x; ulimit -n; \
        printf '\\033[31mred\\033[0m\\n' >&2; exit 7";
    let launch = Launch {
        run: &bench.run,
        entry: &catalog.entries[0],
        dir: root,
        profile: &catalog.profiles[0],
        artifact: &Artifact {
            digest: image_name(ENTRY),
            what: image_name(ENTRY),
        },
        cpus: Some("0".parse().unwrap()),
        memory: Some(Bytes(64 << 20)),
        data: &data,
        env: vec![("SCRIPT".into(), script.into())],
        log: &log,
        open_files: 100,
        certificate: true,
    };
    let mut container = Container::launch(&bench.host.engine, &launch).unwrap();
    let end = ended(&mut container);
    assert_eq!(end, Exit { code: Some(7), ..Exit::default() });
    assert!(container.pids().is_empty());
    assert!(container.shortfalls().is_empty());
    container.stop().unwrap();
    assert_eq!(bench.left(), 0);
    container.stop().unwrap();
    assert_eq!(container.exited(), Some(end));
    let logs = fs::read_to_string(&log).unwrap();
    assert_eq!(logs, container.log_tail());
    // Two streams: only each one's own order is certain.
    assert!(logs.contains("1\n") && logs.contains("the datathe key"), "{logs}");
    assert_eq!(logs.matches("Read-only file system").count(), 2, "{logs}");
    assert!(logs.contains("red\n") && !logs.contains('\u{1b}'), "{logs}");
    if let Some(limits) = bench.host.engine.limits() {
        assert!(logs.contains(&format!("{}\n", limits.nofile)), "{logs}");
    }
}

#[test]
fn a_running_entry_has_processes_and_a_cgroup_of_its_own() {
    let Some(bench) = bench("cgroup") else { return };
    let mut container = bench.start("sleep 1000 & echo up; wait");
    says(&mut container, "up");
    let cgroup = container.cgroup().unwrap();
    assert!(cgroup.cpu.to_string_lossy().contains(container.id()));
    assert!(cgroup.cpu_ns().unwrap() > 0);
    assert_eq!(container.pids().len(), 2);
    assert!(!container.pids().contains(&1));
    assert_eq!(container.exited(), None);
    container.stop().unwrap();
    assert_eq!(bench.left(), 0);
}

#[test]
fn an_entry_that_ignores_the_signal_is_killed_after_the_grace() {
    let Some(bench) = bench("deaf") else { return };
    let mut container = bench.start(
        "trap 'echo no' TERM; echo up; while :; do sleep 1000 & wait; done",
    );
    says(&mut container, "up");
    container.stop().unwrap();
    assert!(container.log_tail().ends_with("no\n"));
    // It was ended by us: that is no end of its own.
    assert_eq!(container.exited(), None);
    assert_eq!(bench.left(), 0);
}

#[test]
fn a_signal_from_elsewhere_is_told_as_one() {
    let Some(bench) = bench("signal") else { return };
    let mut container = bench.start("exec sleep 1000");
    let pid = rustix::process::Pid::from_raw(container.pids()[0]).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let end = ended(&mut container);
    assert_eq!(end, Exit { signal: Some(9), ..Exit::default() });
}

#[test]
fn an_entry_that_outgrows_its_memory_is_known_as_such() {
    let Some(bench) = bench("oom") else { return };
    assert!(ended(&mut bench.start("exec tail /dev/zero")).oom);
}

#[test]
fn a_worker_lost_to_memory_is_known_while_the_entry_lives() {
    let Some(bench) = bench("worker") else { return };
    let mut container = bench.start("tail /dev/zero; exec sleep 1000");
    let end = ended(&mut container);
    assert_eq!(end, Exit { oom: true, ..Exit::default() });
    assert!(container.state().unwrap().running);
}

#[test]
fn cleaning_takes_the_leftovers_of_this_run_and_nothing_else() {
    let Some(bench) = bench("clean") else { return };
    let other = self::bench("bystander").unwrap();
    let mut bystander = other.start("exec sleep 1000");
    // A process that was killed cannot drop anything.
    mem::forget(bench.start("exec sleep 1000"));
    mem::forget(bench.start("exit 0"));
    let clean = || bench.host.clean(Some(&bench.run)).unwrap();
    assert_eq!((clean(), clean()), (2, 0));
    assert_eq!(bystander.exited(), None);
}

#[test]
fn cleaning_up_after_the_dead_spares_the_living_and_strangers() {
    let Some(bench) = bench("dead") else { return };
    let create = |owner: Option<&str>| {
        let mut body =
            bench.spec("exit 0").body(owner.unwrap_or_default(), None);
        if owner.is_none() {
            body.labels = None;
        }
        bench.host.engine.create(body).unwrap()
    };
    let dead = create(Some("4294967295:1"));
    let living = create(Some(&owner::this()));
    let strange = create(None);
    let found = bench.host.engine.ours(None).unwrap();
    for id in [&dead, &living, &strange] {
        bench.host.engine.remove(id).unwrap();
    }
    assert!(found.contains(&dead));
    assert!(!found.contains(&living) && !found.contains(&strange));
}

#[test]
fn a_missing_mount_source_is_refused_and_leaves_nothing() {
    let Some(bench) = bench("mount") else { return };
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("none");
    let mut spec = bench.spec("exit 0");
    spec.mounts.push((missing.clone(), "/certs"));
    let error = bench.try_start(&spec).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
    assert!(!missing.exists());
    assert_eq!(bench.left(), 0);
}

#[test]
fn an_image_that_was_never_built_is_named_with_what_to_run() {
    let Some(bench) = bench("unbuilt") else { return };
    let unbuilt = Spec {
        image: image_name("no-such-entry"),
        entry: "no-such-entry".into(),
        ..bench.spec("")
    };
    let error = bench.try_start(&unbuilt).unwrap_err().to_string();
    assert!(error.contains("httparena-no-such-entry is not built"), "{error}");
    assert!(error.contains("arena validate no-such-entry"), "{error}");
}

#[track_caller]
fn build_fails(bench: &Bench, dockerfile: &str, why: &str, log: &str) {
    let home = tempfile::tempdir().unwrap();
    let dir = entry_dir(home.path(), dockerfile);
    let mut lines = vec![];
    let error = bench
        .host
        .build_image("harness-broken", &dir, &mut |l| lines.push(l.to_owned()))
        .unwrap_err();
    let HostError::Entry { why: told, log_tail } = error.into() else {
        panic!("not the entry's fault");
    };
    assert!(told.contains(why), "{told}");
    assert!(log_tail.contains(log), "{log_tail}");
    assert!(!lines.is_empty());
}

#[test]
fn a_build_that_fails_is_the_entrys_fault_and_shows_its_log() {
    let Some(bench) = bench("broken") else { return };
    let failing = format!("{DOCKERFILE}\nRUN echo the cause; exit 3\n");
    build_fails(&bench, &failing, "does not build", "the cause");
    build_fails(&bench, "FORM scratch\n", "does not build", "FORM");
}

#[test]
fn a_program_that_is_not_there_is_the_entrys_fault() {
    let Some(bench) = bench("noexec") else { return };
    let home = tempfile::tempdir().unwrap();
    let dockerfile = format!("{DOCKERFILE}\nENTRYPOINT [\"/nothing\"]\n");
    let dir = entry_dir(home.path(), &dockerfile);
    let name = "harness-noexec";
    let built = bench.host.build_image(name, &dir, &mut |_| {}).unwrap();
    let spec = Spec { image: built.digest, ..bench.spec("") };
    let error = HostError::from(bench.try_start(&spec).unwrap_err());
    assert!(matches!(error, HostError::Entry { .. }), "{error}");
    assert!(error.to_string().contains("/nothing"), "{error}");
    assert_eq!(bench.left(), 0);
}

#[test]
fn a_build_script_must_leave_the_image_by_its_name() {
    let Some(bench) = bench("script") else { return };
    let home = tempfile::tempdir().unwrap();
    let dir = entry_dir(home.path(), DOCKERFILE);
    let script = dir.join("build.sh");
    fs::write(&script, "#!/bin/sh\necho done\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let error = bench
        .host
        .build_image("harness-untagged", &dir, &mut |_| {})
        .unwrap_err();
    assert!(matches!(error, DockerError::NotTagged { .. }), "{error}");
}

#[test]
fn an_engine_that_never_answers_is_given_up() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("sock");
    let _silent = UnixListener::bind(&path).unwrap();
    let address = format!("unix://{}", path.display());
    let patience = Duration::from_millis(50);
    let error = Engine::connect_to(&address, patience).unwrap_err();
    assert!(error.to_string().contains("silent"), "{error}");
    assert!(matches!(HostError::from(error), HostError::Unfit(_)));
}

#[test]
fn no_engine_and_a_distant_engine_are_told_apart() {
    let to = |address| Engine::connect_to(address, PATIENCE).unwrap_err();
    let none = to("unix:///nonexistent/docker.sock");
    assert!(matches!(none, DockerError::NoEngine { .. }), "{none}");
    let distant = to("tcp://192.0.2.1:2375");
    assert!(matches!(distant, DockerError::Remote { .. }), "{distant}");
}
