//! What can go wrong between us and the container engine.

use std::path::PathBuf;

/// A failure of the container engine, or of what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// Nothing answers on the engine's socket.
    #[error(
        "no container engine answers at {at} ({why}): run \
         scripts/setup-docker.sh, or use --host local"
    )]
    NoEngine {
        /// The address that was tried.
        at: String,
        /// What the attempt said.
        why: String,
    },
    /// The engine is on another machine, where nothing can be pinned.
    #[error(
        "DOCKER_HOST is {at}, expected a unix:// socket of this machine: \
         entries are pinned and measured here; unset it, or use --host local"
    )]
    Remote {
        /// The address found.
        at: String,
    },
    /// The image was never built, and asking a registry would be wrong.
    #[error(
        "image {image} is not built; run `arena validate {dir} --host docker`, which builds it"
    )]
    NoImage {
        /// The image's name.
        image: String,
        /// The entry's directory name.
        dir: String,
    },
    /// There is no client that could build.
    #[error("no `docker` command on the path: run scripts/setup-docker.sh")]
    NoClient,
    /// The image does not build.
    #[error("image {image} does not build ({why}){hint}\n{log}")]
    Build {
        /// The image's name.
        image: String,
        /// How the builder ended.
        why: String,
        /// What to do, when the log tells; begins with a semicolon.
        hint: &'static str,
        /// The end of the builder's output.
        log: String,
    },
    /// A file or process of our own could not be used.
    #[error("{path}: {source}")]
    Io {
        /// What was being used.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The engine refused, or did not answer in time.
    #[error("container engine: {doing}: {why}")]
    Engine {
        /// What was asked.
        doing: String,
        /// What it said.
        why: String,
    },
}

impl DockerError {
    /// Names the file or program an I/O error belongs to.
    pub(super) fn io(
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
