//! Building an entry without containers: a Rust crate with cargo, anything
//! else with the commands its `meta.json` names.

use std::{
    collections::VecDeque,
    env,
    fs::{self, File},
    io::{self, Read},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread,
    time::{Duration, Instant},
};

use profiles::entry::{Entry, LocalRun};
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest, Sha256};

use super::{Artifact, HostError, child::before_exec, clean};
use crate::{interrupt::Interrupt, watch::Group};

/// A cold build of many crates on two CPUs takes about six minutes.
const PATIENCE: Duration = Duration::from_secs(45 * 60);
/// Lines of a failed build that are shown.
const SHOWN_LINES: usize = 40;
/// A longer line is cut: the rest is a stranger's noise.
const LONGEST_LINE: usize = 64 << 10;
/// Of its stdout, the end that is kept. What cargo says of a crate of 500
/// dependencies is a tenth of it.
const KEPT_STDOUT: usize = 16 << 20;
/// Lines read ahead: a build that floods waits and takes no memory of ours.
const READ_AHEAD: usize = 256;
/// Never part of what runs.
const NOT_PART: [&str; 3] = [".git", "target", "__pycache__"];

/// Builds the entry in `dir`; what is made goes below `cache`.
pub fn build(
    entry: &Entry,
    dir: &Path,
    cache: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, HostError> {
    match &entry.local {
        Some(local) => by_commands(local, dir, interrupt, progress),
        None if dir.join("Cargo.toml").is_file() => {
            by_cargo(entry, dir, cache, interrupt, progress)
        }
        None => Err(HostError::entry(format!(
            "{} has only a Dockerfile; use --host docker, or add `local` with \
             `build` and `run` to its meta.json",
            dir.display()
        ))),
    }
}

fn by_commands(
    local: &LocalRun,
    dir: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, HostError> {
    lacks_nothing(local)?;
    if let [program, args @ ..] = &local.build[..] {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir);
        run(command, interrupt, progress)?;
    }
    let digest = tree_digest(dir).map_err(|e| ours(dir, &e))?;
    Ok(Artifact { digest, what: local.run.join(" ") })
}

/// Fails unless all that the entry says it needs is on this machine.
fn lacks_nothing(local: &LocalRun) -> Result<(), HostError> {
    let all = local.packages.iter();
    lacks_none(all.map(|n| (&n.command[..], &n.package[..])))
}

/// Fails unless every command of these pairs of command and package is there.
pub(super) fn lacks_none<'a>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), HostError> {
    let missing: Vec<_> = pairs.filter(|(c, _)| !is_there(c)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let commands: Vec<_> =
        missing.iter().map(|(command, _)| format!("`{command}`")).collect();
    let packages: Vec<_> =
        missing.iter().map(|(_, package)| *package).collect();
    Err(HostError::entry(format!(
        "{} {} missing: apt-get install {}, then run this again",
        commands.join(", "),
        if missing.len() == 1 { "is" } else { "are" },
        packages.join(" ")
    )))
}

/// Whether a command is on the path, or an absolute path names something.
fn is_there(command: &str) -> bool {
    if command.starts_with('/') {
        return Path::new(command).exists();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| {
        fs::metadata(dir.join(command)).is_ok_and(|found| {
            found.is_file() && found.permissions().mode() & 0o111 != 0
        })
    })
}

fn by_cargo(
    entry: &Entry,
    dir: &Path,
    cache: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&str),
) -> Result<Artifact, HostError> {
    let mut command = Command::new("cargo");
    command
        .args(["build", "--release", "--locked"])
        .args(["--message-format", "json-render-diagnostics"])
        .arg("--target-dir")
        .arg(cache.join("entries"))
        .current_dir(dir);
    let made = run(command, interrupt, progress)?;
    let binary = pick(entry.home.as_str(), executables(&made))?;
    let digest = file_digest(&binary).map_err(|e| ours(&binary, &e))?;
    // Entries share the target folder, where the next build may overwrite a
    // binary of the same name: what will run is kept under its digest.
    let short = &digest["sha256:".len()..][..16];
    let kept = cache
        .join("artifacts")
        .join(format!("{}-{short}", entry.name))
        .join(binary.file_name().unwrap_or_default());
    keep(&binary, &kept, &digest).map_err(|e| ours(&kept, &e))?;
    Ok(Artifact { digest, what: kept.display().to_string() })
}

/// Binaries named in cargo's messages, with the names of their targets.
fn executables(messages: &[String]) -> Vec<(String, PathBuf)> {
    messages
        .iter()
        .filter_map(|line| {
            let m: serde_json::Value = serde_json::from_str(line).ok()?;
            let is_bin = m["target"]["kind"]
                .as_array()?
                .iter()
                .any(|kind| kind == "bin");
            let path = m["executable"].as_str()?;
            let name = m["target"]["name"].as_str()?;
            is_bin.then(|| (name.to_string(), path.into()))
        })
        .collect()
}

fn pick(
    entry: &str,
    mut found: Vec<(String, PathBuf)>,
) -> Result<PathBuf, HostError> {
    if found.len() > 1
        && let Some(i) = found.iter().position(|(name, _)| name == entry)
    {
        found.swap(0, i);
        found.truncate(1);
    }
    match &found[..] {
        [(_, path)] => Ok(path.clone()),
        [] => Err(HostError::entry(
            "the crate builds no binary; add src/main.rs or a [[bin]]",
        )),
        many => {
            let names: Vec<_> = many.iter().map(|(n, _)| n.as_str()).collect();
            Err(HostError::entry(format!(
                "the crate builds {} binaries ({}); leave one, or call one of \
                 them `{entry}`",
                many.len(),
                names.join(", ")
            )))
        }
    }
}

/// Copies `from` unless `to` holds it already. The digest names what will
/// run, so what lies there is read again and never taken on trust.
fn keep(from: &Path, to: &Path, digest: &str) -> io::Result<()> {
    let dir = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    if to.is_file() && file_digest(to)? == digest {
        return Ok(());
    }
    let part = dir.join(format!(".part-{}", std::process::id()));
    fs::copy(from, &part)?;
    File::open(&part)?.sync_all()?;
    fs::rename(&part, to)
}

/// `sha256:` and hex of one file.
pub fn file_digest(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash_file(&mut hash, path)?;
    Ok(finish(hash))
}

/// `sha256:` and hex over names, modes and contents of a folder.
fn tree_digest(dir: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    list(dir, &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for path in files {
        let name = path.strip_prefix(dir).unwrap_or(&path);
        let meta = fs::symlink_metadata(&path)?;
        let mode = meta.permissions().mode() & 0o111;
        let shown = name.to_string_lossy();
        hash.update(format!("{}:{shown}:{mode}:", shown.len()));
        if meta.is_symlink() {
            let to = fs::read_link(&path)?;
            hash.update(format!("->{}", to.to_string_lossy()));
        } else {
            hash.update(format!("{}:", meta.len()));
            hash_file(&mut hash, &path)?;
        }
    }
    Ok(finish(hash))
}

fn list(dir: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    for item in fs::read_dir(dir)? {
        let item = item?;
        let name = item.file_name();
        if NOT_PART.iter().any(|n| name == *n) {
            continue;
        }
        let kind = item.file_type()?;
        if kind.is_dir() {
            list(&item.path(), out)?;
        } else if kind.is_file() || kind.is_symlink() {
            out.push(item.path());
        }
    }
    Ok(())
}

fn hash_file(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            len => hash.update(&piece[..len]),
        }
    }
}

fn finish(hash: Sha256) -> String {
    let hex: String =
        hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}

fn ours(path: &Path, error: &io::Error) -> HostError {
    HostError::Ours(format!("{}: {error}", path.display()))
}

enum Line {
    Out(String),
    Err(String),
}

/// Runs a build to its end and gives the last lines of its stdout. Lines of
/// its stderr are progress; the last of them explain a failure. Nothing it
/// started outlives it.
fn run(
    mut command: Command,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<String>, HostError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let around = Group::create();
    let entrances = match &around {
        Some(group) => group
            .entrances()
            .map_err(|e| HostError::Ours(format!("cgroup: {e}")))?,
        None => Vec::new(),
    };
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    before_exec(&mut command, None, entrances);
    let mut child = command.spawn().map_err(|e| {
        let why = format!("{program}: {e}; install it, then try again");
        HostError::Ours(why)
    })?;
    let group = Pid::from_child(&child);
    let end_all = || {
        let _ = kill_process_group(group, Signal::KILL);
        if let Some(around) = &around {
            around.kill();
        }
    };
    let (send, lines) = mpsc::sync_channel(READ_AHEAD);
    if let Some(out) = child.stdout.take() {
        read_lines(out, send.clone(), Line::Out);
    }
    if let Some(err) = child.stderr.take() {
        read_lines(err, send, Line::Err);
    }
    let started = Instant::now();
    let (mut out, mut held) = (VecDeque::new(), 0);
    let mut tail = Vec::new();
    let mut ended = None;
    let status = loop {
        let line = lines.recv_timeout(Duration::from_millis(50));
        match line {
            Ok(Line::Out(line)) => {
                held += line.len() + size_of::<String>();
                out.push_back(line);
                while held > KEPT_STDOUT
                    && let Some(gone) = out.pop_front()
                {
                    held -= gone.len() + size_of::<String>();
                }
            }
            Ok(Line::Err(line)) => {
                progress(line.trim());
                tail.push(line);
                let over = tail.len().saturating_sub(SHOWN_LINES);
                tail.drain(..over);
            }
            // Something that escaped may hold its output open for ever.
            Err(RecvTimeoutError::Timeout) if ended.is_none() => {}
            Err(_) => match ended {
                Some(status) => break status,
                None => {
                    break child.wait().map_err(|e| {
                        HostError::Ours(format!("{program}: {e}"))
                    })?;
                }
            },
        }
        if ended.is_none()
            && let Ok(Some(status)) = child.try_wait()
        {
            ended = Some(status);
            // What it left running would disturb the measuring, and might
            // write for ever.
            end_all();
        }
        let late = started.elapsed() > PATIENCE;
        if late || interrupt.raised() {
            end_all();
            let _ = child.wait();
            return Err(if late {
                let limit = PATIENCE.as_secs() / 60;
                failed(&format!("still built after {limit} minutes"), &tail)
            } else {
                HostError::Ours("interrupted while building".into())
            });
        }
    };
    if status.success() {
        Ok(out.into())
    } else {
        Err(failed(&format!("does not build: {program} {status}"), &tail))
    }
}

fn failed(why: &str, tail: &[String]) -> HostError {
    HostError::Entry { why: why.to_string(), log_tail: tail.join("\n") }
}

fn read_lines(
    mut from: impl Read + Send + 'static,
    to: SyncSender<Line>,
    kind: fn(String) -> Line,
) {
    thread::spawn(move || {
        let (mut piece, mut line) = ([0; 8192], Vec::new());
        while let Ok(len @ 1..) = from.read(&mut piece) {
            for byte in &piece[..len] {
                match byte {
                    b'\n' => {
                        let text = clean(&line);
                        line.clear();
                        if to.send(kind(text)).is_err() {
                            return;
                        }
                    }
                    _ if line.len() < LONGEST_LINE => line.push(*byte),
                    _ => {}
                }
            }
        }
        if !line.is_empty() {
            let _ = to.send(kind(clean(&line)));
        }
    });
}

#[cfg(test)]
#[path = "build_local_tests.rs"]
mod tests;
