//! Building an entry's image.
//!
//! Through the `docker` command and not the engine's API: BuildKit, which cache
//! mounts need, speaks a session protocol of its own there, and the command
//! also reads `.dockerignore` and prints what its users expect.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use rustix::process::{Pid, Signal, kill_process_group};

use super::super::{clean, local::cache_dir};
use super::error::DockerError;
use super::text::{Tail, last_lines};
use crate::interrupt::Interrupt;

/// The last release whose client needs no plugin for BuildKit.
const PLUGIN_SINCE: u32 = 23;
/// A cold build of many crates on two CPUs takes about six minutes.
const PATIENCE: Duration = Duration::from_secs(45 * 60);
/// For output still on its way when the build has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
const LOG_BYTES: usize = 256 << 10;
const SHOWN_LINES: usize = 30;
/// Of a line shown as progress, and of a line kept in one piece.
const SHOWN_CHARS: usize = 100;
const PIECE: u64 = 8192;
/// How often the child is looked at when it says nothing.
const TICK: Duration = Duration::from_millis(50);
/// Written by `scripts/docker-bases.sh` into the cache folder.
const ARGS_FILE: &str = "docker-build-args";

/// Build arguments by name.
pub(super) type BuildArgs = BTreeMap<String, String>;

/// The base images that the set-up script chose, empty if it never ran: the
/// Dockerfiles' own public defaults then stand.
pub(super) fn chosen_bases() -> BuildArgs {
    let file = cache_dir().join(ARGS_FILE);
    parse_args(&fs::read_to_string(file).unwrap_or_default())
}

fn parse_args(text: &str) -> BuildArgs {
    text.lines()
        .filter_map(|line| line.trim().split_once('='))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Builds the image of the entry in `dir`, by its own `build.sh` if it has one.
pub(super) fn build(
    dir: &Path,
    image: &str,
    args: &BuildArgs,
    engine: &str,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&str),
) -> Result<(), DockerError> {
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
    let (ended, log) =
        run(command, interrupt, progress).map_err(DockerError::io(dir))?;
    match ended {
        Ended::Well => Ok(()),
        Ended::Interrupted => Err(DockerError::Interrupted),
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
    Interrupted,
    Badly(String),
}

/// Runs to the end or to the limit, keeping the end of the output and showing
/// each line as it comes.
fn run(
    mut command: Command,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&str),
) -> io::Result<(Ended, String)> {
    let (reader, writer) = io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        // Of its own, so that an end by us takes its children too.
        .process_group(0)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    // The command holds the pipe's other end; the reader waits for its close.
    drop(command);
    let (pieces, arriving) = mpsc::channel();
    thread::spawn(move || read(reader, &pieces));
    let mut tail = Tail::new(LOG_BYTES);
    let started = Instant::now();
    let mut ended = None;
    loop {
        // Something a build script left running may hold the pipe open for
        // ever, so the end of the child counts, not that of the pipe.
        let wait = if ended.is_none() { TICK } else { LAST_WORDS };
        match arriving.recv_timeout(wait) {
            Ok(line) => {
                tail.push(&line);
                show(&line, progress);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) if ended.is_none() => {
                thread::sleep(TICK);
            }
            Err(_) => {}
        }
        if let Some(ended) = ended {
            return Ok((ended, tail.text()));
        }
        ended = look(&mut child, started, interrupt)?;
    }
}

/// Sends line by line; a line without an end is sent in pieces.
fn read(reader: impl Read, pieces: &mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let mut limited = reader.by_ref().take(PIECE);
        match limited.read_until(b'\n', &mut line) {
            Ok(1..) if pieces.send(line).is_ok() => {}
            _ => return,
        }
    }
}

fn show(line: &[u8], progress: &mut dyn FnMut(&str)) {
    let line: String = clean(line).trim().chars().take(SHOWN_CHARS).collect();
    if !line.is_empty() {
        progress(&line);
    }
}

/// How it ended, if it did. One that takes too long, or that the user no
/// longer wants, is ended with all it started.
fn look(
    child: &mut Child,
    started: Instant,
    interrupt: &Interrupt,
) -> io::Result<Option<Ended>> {
    if let Some(status) = child.try_wait()? {
        return Ok(Some(match status.success() {
            true => Ended::Well,
            false => Ended::Badly(status.to_string()),
        }));
    }
    let late = started.elapsed() > PATIENCE;
    if !late && !interrupt.raised() {
        return Ok(None);
    }
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    child.wait()?;
    Ok(Some(match late {
        true => Ended::Badly(format!("stopped after {} s", PATIENCE.as_secs())),
        false => Ended::Interrupted,
    }))
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
        let (ended, log) =
            run(command, &Interrupt::default(), &mut |_| {}).unwrap();
        assert!(matches!(ended, Ended::Badly(why) if why.contains('3')));
        assert_eq!(log, "out\nerr\n");
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_build_up() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo done; sleep 20 &"]);
        let (ended, log) =
            run(command, &Interrupt::default(), &mut |_| {}).unwrap();
        assert!(matches!(ended, Ended::Well));
        assert_eq!(log, "done\n");
    }

    #[test]
    fn an_interrupt_ends_a_build_with_all_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]);
        let interrupt = Interrupt::default();
        let (ended, log) =
            run(command, &interrupt, &mut |_| interrupt.raise()).unwrap();
        assert!(matches!(ended, Ended::Interrupted));
        let stat = format!("/proc/{}/stat", log.trim());
        // The kill is on its way when the build has ended, not yet there.
        let since = Instant::now();
        while let Ok(left) = fs::read_to_string(&stat)
            && !left.contains(") Z ")
        {
            assert!(since.elapsed() < Duration::from_secs(60), "{left}");
            thread::yield_now();
        }
    }

    #[test]
    fn a_base_that_cannot_be_pulled_is_named_as_the_cause() {
        let log = "ERROR: failed to resolve source metadata for rust:1";
        assert!(hint(log).contains("setup-docker.sh"));
        assert_eq!(hint("error[E0308]: mismatched types"), "");
    }
}
