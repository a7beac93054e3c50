//! Entries as containers, through the engine of this machine.
//!
//! Sync outside; inside, a one-thread runtime drives the Engine API. Every
//! container carries the label of its run, and only labelled ones are removed.

mod build;
mod config;
mod container;
mod engine;
mod error;
mod limits;
mod owner;
mod services;
mod text;

use std::path::Path;
use std::sync::Arc;

use profiles::entry::Entry;

use super::{Artifact, Host, HostError, Launch, Server, ServiceLaunch};
use build::BuildArgs;
use container::Container;
use engine::Engine;
use error::DockerError;
use services::Services;

use crate::interrupt::Interrupt;

/// The container engine as a place entries run.
#[derive(Debug)]
pub struct DockerHost {
    engine: Arc<Engine>,
    bases: BuildArgs,
    interrupt: Interrupt,
    services: Services,
}

impl DockerHost {
    /// Connects to the engine at `DOCKER_HOST` or the usual socket;
    /// [`HostError::Unfit`] where none answers. `interrupt` cuts builds short.
    pub fn connect(interrupt: Interrupt) -> Result<DockerHost, HostError> {
        Ok(Self {
            engine: Arc::new(Engine::connect()?),
            bases: build::chosen_bases(),
            interrupt,
            services: Services::default(),
        })
    }

    fn build_image(
        &self,
        name: &str,
        dir: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Artifact, DockerError> {
        let what = image_name(name);
        let at = self.engine.address();
        let interrupt = &self.interrupt;
        build::build(dir, &what, &self.bases, at, interrupt, progress)?;
        match self.engine.image_id(&what)? {
            Some(digest) => Ok(Artifact { digest, what }),
            None => Err(DockerError::NotTagged { image: what }),
        }
    }

    fn remove(&self, run: Option<&str>) -> Result<usize, DockerError> {
        let ids = self.engine.ours(run)?;
        for id in &ids {
            self.engine.remove(id)?;
        }
        Ok(ids.len())
    }
}

/// The name of an entry's image, as its `build.sh` must give it too.
fn image_name(entry: &str) -> String {
    format!("httparena-{entry}")
}

impl Host for DockerHost {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn engine(&self) -> String {
        let limits = match self.engine.limits() {
            Some(limits) => limits.to_string(),
            None => "the engine's own limits".into(),
        };
        let version = self.engine.version();
        format!("docker {version} (seccomp unconfined, {limits})")
    }

    fn check(&self) -> Result<(), HostError> {
        Ok(self.engine.ping()?)
    }

    fn build(
        &self,
        entry: &Entry,
        dir: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Artifact, HostError> {
        Ok(self.build_image(entry.name.as_str(), dir, progress)?)
    }

    fn start(&self, launch: &Launch<'_>) -> Result<Box<dyn Server>, HostError> {
        Ok(Box::new(Container::launch(&self.engine, launch)?))
    }

    fn start_service(
        &self,
        launch: &ServiceLaunch<'_>,
    ) -> Result<Box<dyn Server>, HostError> {
        Ok(Box::new(self.services.start(self, launch)?))
    }

    fn clean(&self, run: Option<&str>) -> Result<usize, HostError> {
        Ok(self.remove(run)?)
    }
}

#[cfg(test)]
mod tests;
