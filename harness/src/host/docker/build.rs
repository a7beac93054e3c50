//! Building an entry's image.
//!
//! Through the `docker` command and not the engine's API: BuildKit, which cache
//! mounts need, speaks a session protocol of its own there, and the command
//! also reads `.dockerignore` and prints what its users expect.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Access;

use super::error::DockerError;
use super::text::{Tail, last_lines};

/// The last release whose client needs no plugin for BuildKit.
const PLUGIN_SINCE: u32 = 23;
/// A cold build of many crates on two CPUs takes about six minutes.
const PATIENCE: Duration = Duration::from_secs(45 * 60);
/// For output still on its way when the build has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LOG_BYTES: usize = 256 << 10;
const SHOWN_LINES: usize = 30;
/// Written by `scripts/docker-bases.sh` into the cache folder.
const ARGS_FILE: &str = "docker-build-args";

/// Build arguments by name.
pub type BuildArgs = BTreeMap<String, String>;

/// The base images that the set-up script chose, empty if it never ran: the
/// Dockerfiles' own public defaults then stand.
pub fn chosen_bases() -> BuildArgs {
    let dir =
        |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = dir("ARENA_CACHE").or_else(|| {
        let caches = dir("XDG_CACHE_HOME")
            .or_else(|| Some(dir("HOME")?.join(".cache")))?;
        Some(caches.join("arena"))
    });
    let text = cache.and_then(|c| fs::read_to_string(c.join(ARGS_FILE)).ok());
    parse_args(&text.unwrap_or_default())
}

fn parse_args(text: &str) -> BuildArgs {
    text.lines()
        .filter_map(|line| line.trim().split_once('='))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Builds the image of the entry in `dir`; its own `build.sh` goes first.
/// Gives the end of the build's output.
pub(super) fn build(
    dir: &Path,
    image: &str,
    args: &BuildArgs,
    engine: &str,
) -> Result<String, DockerError> {
    let own = dir.join("build.sh");
    let mut command = if rustix::fs::access(&own, Access::EXEC_OK).is_ok() {
        let own = own.canonicalize().map_err(DockerError::io(&own))?;
        let mut command = Command::new(own);
        command.current_dir(dir).envs(args);
        command
    } else {
        docker_build(dir, image, args)?
    };
    command.env("DOCKER_HOST", engine);
    let (ended, log) = run(command).map_err(DockerError::io(dir))?;
    match ended {
        Ended::Well => Ok(log),
        Ended::Badly(why) => Err(DockerError::Build {
            image: image.to_owned(),
            why,
            hint: hint(&log),
            log: last_lines(&log, SHOWN_LINES),
        }),
    }
}

fn docker_build(
    dir: &Path,
    image: &str,
    args: &BuildArgs,
) -> Result<Command, DockerError> {
    let client = Client::pick().ok_or(DockerError::NoClient)?;
    let mut command = Command::new(&client.path);
    command.args(["build", "-t", image]);
    if client.buildkit {
        command.env("DOCKER_BUILDKIT", "1").arg("--progress=plain");
    } else {
        command.env("DOCKER_BUILDKIT", "0");
    }
    for (name, value) in args {
        command.arg("--build-arg").arg(format!("{name}={value}"));
    }
    // Without a value the client takes it from its own environment.
    for name in ["http_proxy", "https_proxy", "no_proxy"] {
        if env::var_os(name).is_some() {
            command.args(["--build-arg", name]);
        }
    }
    command.arg(dir);
    Ok(command)
}

/// What the log tells about the way out.
fn hint(log: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| log.contains(word));
    if says(&["failed to resolve source", "pull access denied", "registry-1"]) {
        return "; a base image cannot be pulled: run scripts/setup-docker.sh, \
                and name the base as an ARG that takes RUST_IMAGE or BASE_IMAGE";
    }
    if says(&["the --mount option requires BuildKit"]) {
        return "; this `docker` cannot use BuildKit: install docker-buildx";
    }
    if says(&["No space left on device"]) {
        return "; the disk is full: docker builder prune";
    }
    ""
}

/// A `docker` command on the path.
#[derive(Debug, PartialEq, Eq)]
struct Client {
    path: PathBuf,
    buildkit: bool,
}

impl Client {
    /// The first that can use BuildKit, else the first. A newer one without
    /// the plugin often stands before the distribution's own.
    fn pick() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let all = env::split_paths(&path)
            .map(|dir| dir.join("docker"))
            .filter(|file| rustix::fs::access(file, Access::EXEC_OK).is_ok());
        let mut first = None;
        for path in all {
            let buildkit = can_buildkit(&path);
            let client = Self { path, buildkit };
            if buildkit {
                return Some(client);
            }
            first.get_or_insert(client);
        }
        first
    }
}

fn can_buildkit(client: &Path) -> bool {
    let says = |args: &[&str]| {
        let out = Command::new(client).args(args).output().ok()?;
        out.status
            .success()
            .then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    };
    says(&["buildx", "version"]).is_some()
        || says(&["--version"])
            .and_then(|text| major(&text))
            .is_some_and(|major| major < PLUGIN_SINCE)
}

/// The major version in `Docker version 20.10.24+dfsg1, build 297e128`.
fn major(version: &str) -> Option<u32> {
    let number = version.strip_prefix("Docker version ")?;
    number.split('.').next()?.parse().ok()
}

enum Ended {
    Well,
    Badly(String),
}

/// Runs to the end or to the limit, keeping the end of the output.
fn run(mut command: Command) -> io::Result<(Ended, String)> {
    let (mut reader, writer) = io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    // The command holds the pipe's other end; the reader waits for its close.
    drop(command);
    let tail = Arc::new(Mutex::new(Tail::new(LOG_BYTES)));
    let (closed, closing) = mpsc::channel::<()>();
    let kept = Arc::clone(&tail);
    thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(len @ 1..) = reader.read(&mut piece) {
            lock(&kept).push(&piece[..len]);
        }
        drop(closed);
    });
    let ended = wait(&mut child)?;
    // Something a build script left running may hold the pipe open for ever.
    let _ = closing.recv_timeout(LAST_WORDS);
    let log = lock(&tail).text();
    Ok((ended, log))
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(child: &mut Child) -> io::Result<Ended> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() {
                Ended::Well
            } else {
                Ended::Badly(status.to_string())
            });
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            let why = format!("stopped after {} s", PATIENCE.as_secs());
            return Ok(Ended::Badly(why));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_arguments_are_read_line_by_line() {
        let args = parse_args("A=b=c\n\n# no\n=x\nRUST_IMAGE=arena-rust:1\n");
        assert_eq!(args.len(), 2);
        assert_eq!(args["A"], "b=c");
        assert_eq!(args["RUST_IMAGE"], "arena-rust:1");
    }

    #[test]
    fn the_major_version_tells_old_clients_from_new() {
        assert_eq!(major("Docker version 20.10.24+dfsg1, build 2"), Some(20));
        assert_eq!(major("Docker version 28.2.2, build e6534b4"), Some(28));
        assert_eq!(major("podman version 4.3.1"), None);
    }

    #[test]
    fn output_and_failure_of_a_build_are_told() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let (ended, log) = run(command).unwrap();
        assert!(matches!(ended, Ended::Badly(why) if why.contains('3')));
        assert_eq!(log, "out\nerr\n");
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_build_up() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo done; sleep 20 &"]);
        let (ended, log) = run(command).unwrap();
        assert!(matches!(ended, Ended::Well));
        assert_eq!(log, "done\n");
    }

    #[test]
    fn a_base_that_cannot_be_pulled_is_named_as_the_cause() {
        let log = "ERROR: failed to resolve source metadata for rust:1";
        assert!(hint(log).contains("setup-docker.sh"));
        assert_eq!(hint("error[E0308]: mismatched types"), "");
    }
}
