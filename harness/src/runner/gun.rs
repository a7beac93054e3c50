//! Firing the load generator: its own process, watched and bounded.
//!
//! The spec goes to its stdin, one JSON document comes back on its stdout. On
//! stderr it says when its window opens and closes, so that the cost of both
//! pools is read over exactly the window.

use std::{
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use profiles::{sample::Shot, spec::Spec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::watching::{LOOK_EVERY, Watching};
use crate::{
    host::{child::before_exec, clean, last_line},
    problem::Problem,
    watch::{Group, Meter},
};

/// The gun's line when its window opens.
pub const OPENED: &str = "loadgen: window open";
/// The gun's line when it closes.
pub const CLOSED: &str = "loadgen: window closed";
/// What a shot may take beyond its planned phases: merging of histograms, a
/// busy machine.
const GRACE: Duration = Duration::from_secs(10);
/// Far above any honest sample.
const LONGEST_SAMPLE: usize = 32 << 20;
/// Of its stderr, for a message.
const KEPT_STDERR: usize = 8 << 10;

/// Something that fires shots.
pub trait Gun {
    /// Its version, or why it cannot be used at all.
    fn version(&self) -> Result<String, Problem>;

    /// Fires one shot; `watching` is told of the window.
    fn fire(
        &self,
        spec: &Spec,
        watching: &mut Watching<'_>,
    ) -> Result<Shot, Misfire>;
}

/// Why a shot gave no document. Never the entry's fault.
#[derive(Debug, thiserror::Error)]
pub enum Misfire {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// It could not be run.
    #[error("{0}")]
    NotRun(String),
    /// It did not end.
    #[error(
        "loadgen hung and was killed after {} s; its planned total was {} s",
        after.as_secs(), planned.as_secs()
    )]
    Hung {
        /// When it was killed.
        after: Duration,
        /// All its phases.
        planned: Duration,
    },
    /// What it said is no shot.
    #[error("loadgen {how} without a sample: {why}")]
    NoSample {
        /// Its exit status.
        how: String,
        /// What was wrong, or its last words.
        why: String,
    },
}

/// The real one.
#[derive(Clone, Debug)]
pub struct Loadgen {
    path: PathBuf,
    grace: Duration,
}

impl Loadgen {
    /// The binary at `path`; [`Gun::version`] finds out whether it works.
    pub fn new(path: impl Into<PathBuf>) -> Loadgen {
        Loadgen { path: path.into(), grace: GRACE }
    }

    fn missing(path: &Path, why: &dyn std::fmt::Display) -> String {
        format!(
            "the load generator {} cannot be run ({why}); build it with \
             `cargo build --release -p loadgen`",
            path.display()
        )
    }
}

impl Gun for Loadgen {
    fn version(&self) -> Result<String, Problem> {
        let mut child = Command::new(&self.path)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Problem::Ours(Loadgen::missing(&self.path, &e)))?;
        let started = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if started.elapsed() > self.grace {
                let _ = child.kill();
            }
            thread::sleep(Duration::from_millis(2));
        }
        let out = child
            .wait_with_output()
            .map_err(|e| Problem::Ours(Loadgen::missing(&self.path, &e)))?;
        let text = clean(&out.stdout);
        let line = text.lines().next().unwrap_or_default().trim();
        if !out.status.success() || line.is_empty() {
            let why = format!("`--version` gave {}", out.status);
            return Err(Problem::Ours(Loadgen::missing(&self.path, &why)));
        }
        Ok(line.chars().take(100).collect())
    }

    fn fire(
        &self,
        spec: &Spec,
        watching: &mut Watching<'_>,
    ) -> Result<Shot, Misfire> {
        let group = Group::create();
        let entrances =
            group.as_ref().and_then(|g| g.entrances().ok()).unwrap_or_default();
        let mut command = Command::new(&self.path);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        before_exec(&mut command, spec.cpus.as_ref(), entrances);
        let child = command
            .spawn()
            .map_err(|e| Misfire::NotRun(Loadgen::missing(&self.path, &e)))?;
        let mut gun = Fired { child, group };
        watching.gun(match &gun.group {
            Some(group) => Meter::Group(group.cgroup().clone()),
            None => Meter::Tree(gun.child.id() as i32),
        });
        let text = serde_json::to_vec(spec).unwrap_or_default();
        if let Some(mut stdin) = gun.child.stdin.take() {
            // If it is gone already, its status says more than this error.
            let _ = stdin.write_all(&text);
        }
        let planned = planned(spec);
        gun.listen(planned, planned + self.grace, watching)
    }
}

/// The longest time the phases of a shot can take together.
fn planned(spec: &Spec) -> Duration {
    Duration::from_nanos(
        spec.connect_timeout_ns
            .saturating_add(spec.warmup_ns)
            .saturating_add(spec.gap_ns)
            .saturating_add(spec.window_ns),
    )
}

/// A running gun; dropped, it is killed.
#[derive(Debug)]
struct Fired {
    child: Child,
    group: Option<Group>,
}

impl Drop for Fired {
    fn drop(&mut self) {
        let _ = self.child.kill();
        if let Some(group) = &self.group {
            group.kill();
        }
        let _ = self.child.wait();
    }
}

impl Fired {
    fn listen(
        &mut self,
        planned: Duration,
        limit: Duration,
        watching: &mut Watching<'_>,
    ) -> Result<Shot, Misfire> {
        let started = Instant::now();
        let mut out = self.child.stdout.take();
        let mut err = self.child.stderr.take();
        let (mut document, mut said) = (Vec::new(), Vec::new());
        let status = loop {
            if watching.interrupt.raised() {
                return Err(Misfire::Interrupted);
            }
            if started.elapsed() > limit {
                let after = started.elapsed();
                return Err(Misfire::Hung { after, planned });
            }
            // Both closed: only its end is waited for.
            if out.is_none() && err.is_none() {
                if let Ok(Some(status)) = self.child.try_wait() {
                    break status;
                }
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            // First what it says, since a mark is worth nothing when late.
            let ready = readable(
                [err.as_ref().map(AsFd::as_fd), out.as_ref().map(AsFd::as_fd)],
                LOOK_EVERY,
            );
            if ready[0] {
                drain(&mut err, &mut said);
                marks(&mut said, watching);
            }
            if ready[1] {
                drain(&mut out, &mut document);
                if document.len() > LONGEST_SAMPLE {
                    let how = "sent more than 32 MiB".into();
                    let why = "a bug of the load generator".into();
                    return Err(Misfire::NoSample { how, why });
                }
            }
            watching.look();
        };
        shot(&document, status, &said)
    }
}

fn shot(
    document: &[u8],
    status: ExitStatus,
    said: &[u8],
) -> Result<Shot, Misfire> {
    serde_json::from_slice(document).map_err(|e| Misfire::NoSample {
        how: format!("ended with {status}"),
        why: last_line(&clean(said)).unwrap_or_else(|| e.to_string()),
    })
}

/// Which of two pipes can be read; waits up to `timeout`.
fn readable(fds: [Option<BorrowedFd<'_>>; 2], timeout: Duration) -> [bool; 2] {
    let mut polled: Vec<(usize, PollFd<'_>)> = fds
        .iter()
        .enumerate()
        .filter_map(|(i, fd)| {
            Some((i, PollFd::from_borrowed_fd((*fd)?, PollFlags::IN)))
        })
        .collect();
    let mut list: Vec<PollFd<'_>> =
        polled.iter().map(|(_, fd)| fd.clone()).collect();
    let timeout = Timespec::try_from(timeout).ok();
    let mut ready = [false; 2];
    if poll(&mut list, timeout.as_ref()).is_ok() {
        for ((i, _), fd) in polled.iter_mut().zip(&list) {
            ready[*i] = !fd.revents().is_empty();
        }
    }
    ready
}

/// Reads once; a closed pipe is let go.
fn drain(from: &mut Option<impl Read>, to: &mut Vec<u8>) {
    let Some(pipe) = from else { return };
    let mut piece = [0; 64 << 10];
    match pipe.read(&mut piece) {
        Ok(len @ 1..) => to.extend(&piece[..len]),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
        _ => *from = None,
    }
}

/// Acts on whole lines; other lines are kept for a message.
fn marks(said: &mut Vec<u8>, watching: &mut Watching<'_>) {
    let mut kept = Vec::new();
    let mut rest = &said[..];
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        if line == OPENED.as_bytes() {
            watching.open();
        } else if line == CLOSED.as_bytes() {
            watching.close();
        } else {
            kept.extend(line);
            kept.push(b'\n');
        }
        rest = after;
    }
    kept.extend(rest);
    let over = kept.len().saturating_sub(KEPT_STDERR);
    kept.drain(..over);
    *said = kept;
}

#[cfg(test)]
#[path = "gun_tests.rs"]
mod tests;
