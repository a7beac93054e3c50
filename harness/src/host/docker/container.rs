//! One running container of ours.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::config::Spec;
use super::engine::{ContainerState, Engine};
use super::error::DockerError;

/// A container that is removed when this is dropped, whatever happened to it.
#[derive(Debug)]
pub struct Container {
    engine: Arc<Engine>,
    id: String,
    pid: u32,
    removed: bool,
}

impl Container {
    /// Creates and starts it for `run`.
    pub fn start(
        engine: &Arc<Engine>,
        spec: &Spec,
        run: &str,
    ) -> Result<Self, DockerError> {
        if engine.image_id(&spec.image)?.is_none() {
            return Err(DockerError::NoImage {
                image: spec.image.clone(),
                dir: spec.entry.clone(),
            });
        }
        let id = engine.create(spec.body(run, engine.limits()))?;
        // From here on it is removed on every way out.
        let mut made =
            Self { engine: Arc::clone(engine), id, pid: 0, removed: false };
        made.engine.start(&made.id)?;
        made.pid = made.state()?.pid;
        Ok(made)
    }

    /// The engine's id of it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its first process as numbered on this machine; 0 if it ended at once.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lines of `/proc/<pid>/cgroup`: where its accounting lies.
    pub fn cgroup(&self) -> Result<String, DockerError> {
        let path = format!("/proc/{}/cgroup", self.pid);
        fs::read_to_string(&path).map_err(DockerError::io(path))
    }

    /// All its processes: who may hold the ports it is asked on.
    pub fn pids(&self) -> Vec<u32> {
        let ours = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/cgroup"))
                .is_ok_and(|lines| lines.contains(&self.id))
        };
        fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|one| one.ok()?.file_name().to_str()?.parse().ok())
            .filter(ours)
            .collect()
    }

    /// Whether it lives, and how it ended.
    pub fn state(&self) -> Result<ContainerState, DockerError> {
        self.engine.state(&self.id)
    }

    /// The end of its output, without control characters.
    pub fn logs(&self) -> Result<String, DockerError> {
        self.engine.logs(&self.id)
    }

    /// Asks it to stop, kills it after `grace`; it stays for [`Self::state`]
    /// and [`Self::logs`] until dropped.
    pub fn stop(&self, grace: Duration) -> Result<(), DockerError> {
        self.engine.stop(&self.id, grace)
    }

    /// Removes it, running or not.
    pub fn remove(mut self) -> Result<(), DockerError> {
        self.removed = true;
        self.engine.remove(&self.id)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if !self.removed
            && let Err(error) = self.engine.remove(&self.id)
        {
            eprintln!(
                "warning: container {} stays behind ({error}); \
                 `arena clean` removes it",
                self.id
            );
        }
    }
}
