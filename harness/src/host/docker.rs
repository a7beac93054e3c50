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
mod text;

use std::path::Path;
use std::sync::Arc;

pub use build::{BuildArgs, chosen_bases};
pub use config::{ENTRY_LABEL, RUN_LABEL, Spec};
pub use container::Container;
pub use engine::{ContainerState, Engine};
pub use error::DockerError;
pub use limits::Limits;

/// The name of an entry's image.
pub fn image_name(dir: &str) -> String {
    format!("httparena-{dir}")
}

/// The container engine as used by one run.
#[derive(Debug)]
pub struct Docker {
    engine: Arc<Engine>,
    run: String,
    bases: BuildArgs,
}

impl Docker {
    /// Connects to the engine; its containers will carry `run` as their label.
    pub fn connect(run: &str) -> Result<Self, DockerError> {
        Ok(Self {
            engine: Arc::new(Engine::connect()?),
            run: run.to_owned(),
            bases: chosen_bases(),
        })
    }

    /// The engine below.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Builds the image of the entry in `dir`, and gives its digest.
    pub fn build(&self, dir: &Path) -> Result<String, DockerError> {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let image = image_name(&name);
        build::build(dir, &image, &self.bases, self.engine.address())?;
        self.digest(&name)
    }

    /// The id of an entry's image: it changes with any byte inside.
    pub fn digest(&self, dir: &str) -> Result<String, DockerError> {
        let image = image_name(dir);
        self.engine
            .image_id(&image)?
            .ok_or_else(|| DockerError::NoImage { image, dir: dir.to_owned() })
    }

    /// Starts a container.
    pub fn start(&self, spec: &Spec) -> Result<Container, DockerError> {
        Container::start(&self.engine, spec, &self.run)
    }

    /// Removes what this run left behind; gives how many containers it was.
    pub fn clean(&self) -> Result<usize, DockerError> {
        self.remove(Some(&self.run))
    }

    /// Removes what any run left behind, a running one's containers too.
    pub fn clean_all(&self) -> Result<usize, DockerError> {
        self.remove(None)
    }

    fn remove(&self, run: Option<&str>) -> Result<usize, DockerError> {
        let ids = self.engine.ours(run)?;
        for id in &ids {
            self.engine.remove(id)?;
        }
        Ok(ids.len())
    }
}

#[cfg(test)]
mod tests;
