//! Against the real engine; skipped with the reason where there is none.

use std::fs;
use std::mem;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::*;

const GRACE: Duration = Duration::from_secs(1);
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

/// A run of its own for each test: they go on side by side.
fn docker(test: &str) -> Option<Docker> {
    static BUILT: OnceLock<Result<String, String>> = OnceLock::new();
    let docker = match connect(test) {
        Ok(docker) => docker,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return None;
        }
    };
    if docker.bases.is_empty() {
        eprintln!("skipped: no base images, run scripts/setup-docker.sh");
        return None;
    }
    let digest = BUILT.get_or_init(|| {
        let home = tempfile::tempdir().unwrap();
        let built = docker.build(&entry_dir(home.path(), DOCKERFILE));
        built.map_err(|error| error.to_string())
    });
    assert!(digest.as_ref().unwrap().starts_with("sha256:"));
    Some(docker)
}

fn connect(test: &str) -> Result<Docker, DockerError> {
    Docker::connect(&format!("test-{}-{test}", process::id()))
}

fn entry_dir(home: &Path, dockerfile: &str) -> std::path::PathBuf {
    let dir = home.join(ENTRY);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("Dockerfile"), dockerfile).unwrap();
    dir
}

fn spec(script: &str) -> Spec {
    Spec {
        entry: ENTRY.into(),
        image: image_name(ENTRY),
        cpus: "0".into(),
        memory_bytes: Some(64 << 20),
        env: vec![("SCRIPT".into(), script.into())],
        mounts: vec![],
    }
}

fn ended(container: &Container) -> ContainerState {
    until(container, |state| !state.running)
}

fn until(
    container: &Container,
    is_so: impl Fn(&ContainerState) -> bool,
) -> ContainerState {
    let since = Instant::now();
    loop {
        let state = container.state().unwrap();
        if is_so(&state) {
            return state;
        }
        assert!(since.elapsed() < PATIENCE, "{:?}", container.logs());
        std::thread::yield_now();
    }
}

fn left(docker: &Docker) -> usize {
    docker.engine.ours(Some(&docker.run)).unwrap().len()
}

#[test]
fn an_entry_gets_its_cpus_mounts_and_limits_and_leaves_nothing() {
    let Some(docker) = docker("whole") else { return };
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("dataset.json");
    fs::write(&data, "the data").unwrap();
    let mut spec = spec(
        "nproc; cat /data/dataset.json; touch /data/dataset.json; \
         ulimit -n; printf '\\033[31mred\\033[0m\\n' >&2; exit 7",
    );
    spec.mounts.push((data, "/data/dataset.json".into()));
    let container = docker.start(&spec).unwrap();
    let state = ended(&container);
    assert_eq!(state.exit_code, Some(7));
    assert!(!state.oom_killed);
    assert_eq!((state.pid, state.restarts), (0, 0));
    let logs = container.logs().unwrap();
    // Two streams: only each one's own order is certain.
    assert!(logs.contains("1\n") && logs.contains("the data"), "{logs}");
    assert!(logs.contains("Read-only file system"), "{logs}");
    assert!(logs.contains("red\n") && !logs.contains('\u{1b}'), "{logs}");
    if let Some(limits) = docker.engine.limits() {
        assert!(logs.contains(&format!("{}\n", limits.nofile)), "{logs}");
    }
    drop(container);
    assert_eq!(left(&docker), 0);
}

#[test]
fn a_running_entry_has_a_process_and_a_cgroup_of_its_own() {
    let Some(docker) = docker("cgroup") else { return };
    let script = "sleep 1000 & echo up; wait";
    let container = docker.start(&spec(script)).unwrap();
    until(&container, |_| {
        container.logs().is_ok_and(|logs| logs.contains("up"))
    });
    assert!(container.pid() > 1);
    let pids = container.pids();
    assert!(pids.len() == 2 && pids.contains(&container.pid()), "{pids:?}");
    assert!(container.cgroup().unwrap().contains(container.id()));
    container.remove().unwrap();
    assert_eq!(left(&docker), 0);
}

#[test]
fn an_entry_that_ignores_the_signal_is_killed_after_the_grace() {
    let Some(docker) = docker("deaf") else { return };
    let deaf = spec("trap '' TERM; while :; do sleep 1000; done");
    let container = docker.start(&deaf).unwrap();
    container.stop(GRACE).unwrap();
    let state = container.state().unwrap();
    assert_eq!((state.running, state.exit_code), (false, Some(137)));
    assert!(!state.oom_killed);
}

#[test]
fn an_entry_that_outgrows_its_memory_is_known_as_such() {
    let Some(docker) = docker("oom") else { return };
    let container = docker.start(&spec("exec tail /dev/zero")).unwrap();
    let state = ended(&container);
    assert!(state.oom_killed, "{state:?}");
}

#[test]
fn cleaning_takes_the_leftovers_of_this_run_and_nothing_else() {
    let Some(docker) = docker("clean") else { return };
    let other = connect("bystander").unwrap();
    let bystander = other.start(&spec("exec sleep 1000")).unwrap();
    // A process that was killed cannot drop anything.
    mem::forget(docker.start(&spec("exec sleep 1000")).unwrap());
    mem::forget(docker.start(&spec("exit 0")).unwrap());
    assert_eq!(docker.clean().unwrap(), 2);
    assert_eq!(docker.clean().unwrap(), 0);
    assert!(bystander.state().unwrap().running);
    bystander.remove().unwrap();
}

#[test]
fn a_container_without_our_label_is_not_seen_as_ours() {
    let Some(docker) = docker("foreign") else { return };
    let mut body = spec("exit 0").body("x", None);
    body.labels = None;
    let foreign = docker.engine.create(body).unwrap();
    let ours = docker.engine.ours(None).unwrap();
    docker.engine.remove(&foreign).unwrap();
    assert!(!ours.contains(&foreign));
}

#[test]
fn a_missing_mount_source_is_refused_and_leaves_nothing() {
    let Some(docker) = docker("mount") else { return };
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("none");
    let mut spec = spec("exit 0");
    spec.mounts.push((missing.clone(), "/certs".into()));
    let error = docker.start(&spec).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
    assert!(!missing.exists());
    assert_eq!(left(&docker), 0);
}

#[test]
fn an_image_that_was_never_built_is_named_with_what_to_run() {
    let Some(docker) = docker("unbuilt") else { return };
    let unbuilt = Spec {
        image: image_name("no-such-entry"),
        entry: "no-such-entry".into(),
        ..spec("")
    };
    let error = docker.start(&unbuilt).unwrap_err().to_string();
    assert!(error.contains("httparena-no-such-entry is not built"), "{error}");
    assert!(error.contains("arena validate no-such-entry"), "{error}");
}

#[test]
fn a_build_that_fails_shows_the_end_of_its_log() {
    let Some(docker) = docker("broken") else { return };
    let home = tempfile::tempdir().unwrap();
    let broken = format!("{DOCKERFILE}\nRUN echo the cause; exit 3\n");
    let error = docker.build(&entry_dir(home.path(), &broken)).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("does not build"), "{error}");
    assert!(error.contains("the cause"), "{error}");
}

#[test]
fn an_engine_that_never_answers_is_given_up() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("sock");
    let _silent = UnixListener::bind(&path).unwrap();
    let address = format!("unix://{}", path.display());
    let error = Engine::connect_to(&address, Duration::from_millis(50))
        .unwrap_err()
        .to_string();
    assert!(error.contains("silent"), "{error}");
    assert!(error.contains("--host local"), "{error}");
}

#[test]
fn no_engine_and_a_distant_engine_are_told_apart() {
    let to = |address| Engine::connect_to(address, GRACE).unwrap_err();
    let none = to("unix:///nonexistent/docker.sock");
    assert!(matches!(none, DockerError::NoEngine { .. }), "{none}");
    let distant = to("tcp://192.0.2.1:2375");
    assert!(matches!(distant, DockerError::Remote { .. }), "{distant}");
}
