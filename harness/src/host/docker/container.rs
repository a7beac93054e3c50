//! One running container of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use profiles::cpuset::CpuSet;

use super::super::{Exit, HostError, Launch, Server};
use super::config::Spec;
use super::engine::{ContainerState, Engine};
use super::error::DockerError;
use super::limits::Limits;
use super::owner;
use crate::watch::{Cgroup, proc};

/// From asking a server to end until it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// A container that is removed when this is dropped, whatever happened to it.
#[derive(Debug)]
pub(super) struct Container {
    engine: Arc<Engine>,
    id: String,
    pid: i32,
    cgroup: Option<Cgroup>,
    log: Option<PathBuf>,
    shortfalls: Vec<String>,
    /// Its last words and its end, once it was stopped.
    stopped: Option<(String, Option<Exit>)>,
}

impl Container {
    /// Creates and starts it.
    pub(super) fn start(
        engine: &Arc<Engine>,
        spec: &Spec,
    ) -> Result<Self, DockerError> {
        if engine.image_id(&spec.image)?.is_none() {
            return Err(DockerError::NoImage {
                image: spec.image.clone(),
                dir: spec.entry.clone(),
            });
        }
        let body = spec.body(&owner::this(), engine.limits());
        let id = engine.create(body)?;
        // From here on it is removed on every way out.
        let mut made = Self {
            engine: Arc::clone(engine),
            id,
            pid: 0,
            cgroup: None,
            log: None,
            shortfalls: Vec::new(),
            stopped: None,
        };
        made.engine.start(&made.id, &spec.image)?;
        made.pid = made.state()?.pid;
        // One that ended at once has none, and a look at 0 would find ours.
        made.cgroup = (made.pid > 0).then(|| Cgroup::of(made.pid)).flatten();
        Ok(made)
    }

    /// The contract's container for a launch, which is held to what it asked.
    pub(super) fn launch(
        engine: &Arc<Engine>,
        launch: &Launch<'_>,
    ) -> Result<Self, DockerError> {
        let spec = Spec::of(launch);
        let mut made =
            Self::held(engine, &spec, launch.cpus.as_ref(), launch.log)?;
        made.shortfalls = shortfalls(engine.limits(), launch.open_files);
        Ok(made)
    }

    /// Starts one that runs where it was put and leaves its output in a file.
    pub(super) fn held(
        engine: &Arc<Engine>,
        spec: &Spec,
        cpus: Option<&CpuSet>,
        log: &Path,
    ) -> Result<Self, DockerError> {
        let mut made = Self::start(engine, spec)?;
        made.log = Some(log.to_owned());
        match cpus.and_then(|cpus| proc::strayed(&made.pids(), cpus)) {
            Some(thread) => Err(DockerError::Strayed(thread)),
            None => Ok(made),
        }
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether it lives, and how it ended.
    pub(super) fn state(&self) -> Result<ContainerState, DockerError> {
        self.engine.state(&self.id)
    }

    /// Whether its first process is still there, without asking the engine:
    /// that would take CPU time in the middle of a window.
    fn is_there(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/cgroup", self.pid))
            .is_ok_and(|lines| lines.contains(&self.id))
    }

    fn oom_kills(&self) -> u64 {
        self.cgroup.as_ref().map_or(0, Cgroup::oom_kills)
    }

    fn end(&self) -> Option<Exit> {
        let oom = self.oom_kills() > 0;
        if self.is_there() {
            return oom.then(|| Exit { oom, ..Exit::default() });
        }
        match self.state() {
            Ok(mut state) => {
                // Another process in its place: someone started it again.
                if state.running && state.pid != self.pid {
                    state.restarts = state.restarts.max(1);
                }
                state.end(oom)
            }
            // It was removed by someone else.
            Err(_) => Some(Exit { oom, ..Exit::default() }),
        }
    }

    fn save_log(&self, text: &str) -> Result<(), DockerError> {
        match &self.log {
            Some(path) => fs::write(path, text).map_err(DockerError::io(path)),
            None => Ok(()),
        }
    }
}

/// What the engine may not give, though the case needs it.
fn shortfalls(limits: Option<Limits>, open_files: u64) -> Vec<String> {
    let most = limits.and_then(|limits| u64::try_from(limits.nofile).ok());
    match most {
        Some(most) if most < open_files => vec![format!(
            "{most} open files, {open_files} are needed: the engine may not \
             give more"
        )],
        _ => vec![],
    }
}

impl Server for Container {
    fn pids(&self) -> Vec<i32> {
        self.cgroup.as_ref().map(Cgroup::pids).unwrap_or_default()
    }

    fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    fn shortfalls(&self) -> Vec<String> {
        self.shortfalls.clone()
    }

    fn exited(&mut self) -> Option<Exit> {
        match &self.stopped {
            Some((_, end)) => *end,
            None => self.end(),
        }
    }

    fn log_tail(&self) -> String {
        match &self.stopped {
            Some((log, _)) => log.clone(),
            None => self
                .engine
                .logs(&self.id)
                .unwrap_or_else(|error| format!("[no log: {error}]")),
        }
    }

    fn stop(&mut self) -> Result<(), HostError> {
        if self.stopped.is_some() {
            return Ok(());
        }
        let end = self.end();
        let stopped = self.engine.stop(&self.id, GRACE);
        let log = self.log_tail();
        let saved = self.save_log(&log);
        self.stopped = Some((log, end));
        // Whatever failed above, it goes.
        self.engine.remove(&self.id)?;
        Ok(stopped.and(saved)?)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("warning: container {}: {error}", self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_limit_below_the_need_is_a_shortfall() {
        let limits = Limits { nofile: 1024, memlock: -1 };
        assert_eq!(shortfalls(Some(limits), 1025).len(), 1);
        assert!(shortfalls(Some(limits), 1024).is_empty());
        assert!(shortfalls(None, u64::MAX).is_empty());
    }
}
