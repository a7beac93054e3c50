//! An entry as a child process: pinned before it runs, and gone with the tool.

use std::{
    env, io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use profiles::{cpuset::CpuSet, entry::Entry, units::Bytes};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{
    Artifact, DataPaths, Exit, Host, HostError, Launch, Server, ServiceLaunch,
    build_local, child::before_exec, local_services, log::Log,
};
use crate::{
    interrupt::Interrupt,
    watch::{self, Cgroup, Group, proc},
};

/// How long a server may take to end when asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Variables of ours that entries may see; nothing else of our environment
/// reaches a stranger's program.
const PASSED_ON: [&str; 7] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// Entries as child processes of the tool.
#[derive(Debug)]
pub struct Local {
    cache: PathBuf,
    interrupt: Interrupt,
}

impl Local {
    /// Builds go below the cache folder; `interrupt` cuts them short.
    pub fn new(interrupt: Interrupt) -> Local {
        Local { cache: cache_dir(), interrupt }
    }

    /// The same with a cache folder of its own.
    pub fn with_cache(cache: &Path, interrupt: Interrupt) -> Local {
        Local { cache: cache.to_path_buf(), interrupt }
    }
}

/// `ARENA_CACHE`, or `arena` in the user's cache folder.
pub fn cache_dir() -> PathBuf {
    let dir =
        |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    dir("ARENA_CACHE")
        .or_else(|| Some(dir("XDG_CACHE_HOME")?.join("arena")))
        .or_else(|| Some(dir("HOME")?.join(".cache/arena")))
        .unwrap_or_else(|| env::temp_dir().join("arena"))
}

impl Host for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn check(&self) -> Result<(), HostError> {
        Ok(())
    }

    fn build(
        &self,
        entry: &Entry,
        dir: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Artifact, HostError> {
        build_local::build(entry, dir, &self.cache, &self.interrupt, progress)
    }

    fn start(&self, launch: &Launch<'_>) -> Result<Box<dyn Server>, HostError> {
        Ok(Box::new(Process::start(launch)?))
    }

    fn start_service(
        &self,
        launch: &ServiceLaunch<'_>,
    ) -> Result<Box<dyn Server>, HostError> {
        local_services::start(launch)
    }

    fn clean(&self, _run: Option<&str>) -> Result<usize, HostError> {
        let groups = watch::clean_abandoned();
        local_services::sweep();
        Ok(groups)
    }
}

/// What to start, and how.
pub(super) struct Spawn<'a> {
    /// The program with its arguments, folder and environment.
    pub command: Command,
    /// What it is called in messages.
    pub what: &'a str,
    /// CPUs it may use.
    pub cpus: Option<&'a CpuSet>,
    /// Hard memory cap.
    pub memory: Option<Bytes>,
    /// File for its output.
    pub log: &'a Path,
    /// What ends it at once without loss.
    pub farewell: Signal,
}

/// One program as a child process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Group>,
    log: Log,
    shortfalls: Vec<String>,
    exit: Option<Exit>,
    stopped: bool,
    farewell: Signal,
}

impl Process {
    fn start(launch: &Launch<'_>) -> Result<Process, HostError> {
        let spawn = Spawn {
            command: command(launch),
            what: &launch.artifact.what,
            cpus: launch.cpus.as_ref(),
            memory: launch.memory,
            log: launch.log,
            farewell: Signal::TERM,
        };
        Process::spawn(spawn)
    }

    /// Starts any program of ours or a stranger's.
    pub(super) fn spawn(spawn: Spawn<'_>) -> Result<Process, HostError> {
        let Spawn { mut command, what, cpus, memory, log, farewell } = spawn;
        let group = Group::create();
        let mut shortfalls = Vec::new();
        if let Some(cap) = memory
            && !group.as_ref().is_some_and(|g| g.limit_memory(cap.0))
        {
            shortfalls.push(format!(
                "the memory cap of {} bytes is not enforced: no control group",
                cap.0
            ));
        }
        let (output, writer) = io::pipe().map_err(|e| ours("pipe", &e))?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(|e| ours("pipe", &e))?)
            .stderr(writer)
            .process_group(0);
        let entrances = match &group {
            Some(group) => group.entrances().map_err(|e| ours("cgroup", &e))?,
            None => Vec::new(),
        };
        before_exec(&mut command, cpus, entrances);
        let child = command.spawn().map_err(|e| refusal(what, cpus, &e))?;
        // The command holds the pipe's other end.
        drop(command);
        let log = Log::of(output, log);
        let (exit, stopped) = (None, false);
        let process =
            Process { child, group, log, shortfalls, exit, stopped, farewell };
        if let Some(cpus) = cpus
            && let Some(strayed) = proc::strayed(&process.pids(), cpus)
        {
            return Err(HostError::Unfit(format!(
                "pinning has no effect here: {strayed}"
            )));
        }
        Ok(process)
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    fn ended_within(&mut self, limit: Duration) -> bool {
        let started = Instant::now();
        loop {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended && self.pids().is_empty() {
                return true;
            }
            if started.elapsed() > limit {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Server for Process {
    fn pids(&self) -> Vec<i32> {
        match &self.group {
            Some(group) => group.cgroup().pids(),
            None => proc::tree(self.child.id() as i32),
        }
    }

    fn cgroup(&self) -> Option<&Cgroup> {
        self.group.as_ref().map(Group::cgroup)
    }

    fn shortfalls(&self) -> Vec<String> {
        self.shortfalls.clone()
    }

    fn exited(&mut self) -> Option<Exit> {
        if self.exit.is_some() {
            return self.exit;
        }
        let oom =
            self.group.as_ref().is_some_and(|g| g.cgroup().oom_kills() > 0);
        let status = self.child.try_wait().ok().flatten();
        if status.is_some() || oom {
            self.exit = Some(Exit {
                code: status.and_then(|s| s.code()),
                signal: status.and_then(|s| s.signal()),
                oom,
                restarts: 0,
            });
        }
        self.exit
    }

    fn log_tail(&self) -> String {
        self.log.tail()
    }

    fn stop(&mut self) -> Result<(), HostError> {
        if self.stopped {
            return Ok(());
        }
        self.stopped = true;
        self.signal(self.farewell);
        if !self.ended_within(GRACE) {
            self.signal(Signal::KILL);
            if let Some(group) = &self.group {
                group.kill();
            }
            let _ = self.child.wait();
        }
        self.log.save();
        self.group = None;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn command(launch: &Launch<'_>) -> Command {
    let run = launch.entry.local.as_ref().map(|l| &l.run[..]);
    let mut command = match run {
        Some(words @ [_, ..]) => words_of(launch.dir, words),
        _ => Command::new(&launch.artifact.what),
    };
    surroundings(&mut command, launch.dir, launch.run, &launch.env);
    serves(&mut command, launch.data);
    if !launch.certificate {
        command.env_remove("TLS_CERT").env_remove("TLS_KEY");
    }
    command
}

/// The command that `words` are in the entry's folder `dir`.
pub(super) fn words_of(dir: &Path, words: &[String]) -> Command {
    let program = words.first().map_or("", |w| w);
    // `./server` means the entry's own; a bare name is on the path.
    let own = dir.join(program);
    let relative = program.contains('/') && own.is_file();
    let program = if relative { own } else { program.into() };
    let mut command = Command::new(program);
    command.args(words.iter().skip(1));
    command
}

/// Where a program runs and what it sees: nothing else of our environment.
pub(super) fn surroundings(
    command: &mut Command,
    dir: &Path,
    run: &str,
    env: &[(String, String)],
) {
    command
        .current_dir(dir)
        .env_clear()
        .envs(PASSED_ON.iter().filter_map(|n| Some((n, env::var_os(n)?))))
        .env("ARENA_RUN", run)
        .envs(env.iter().map(|(k, v)| (k, v)));
}

/// Where the data lies that it serves.
pub(super) fn serves(command: &mut Command, data: &DataPaths) {
    command
        .env("DATASET_PATH", &data.dataset)
        .env("STATIC_DIR", &data.statics)
        .env("TLS_CERT", data.certs.join("server.crt"))
        .env("TLS_KEY", data.certs.join("server.key"));
}

fn refusal(what: &str, cpus: Option<&CpuSet>, error: &io::Error) -> HostError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            HostError::entry(format!("cannot run `{what}`: {error}"))
        }
        _ => match cpus {
            Some(cpus) => HostError::Unfit(format!(
                "cannot start `{what}` on cpus {cpus}: {error}"
            )),
            None => ours(what, error),
        },
    }
}

fn ours(what: &str, error: &io::Error) -> HostError {
    HostError::Ours(format!("{what}: {error}"))
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
