//! What can go wrong between us and the container engine.

use std::path::PathBuf;

use super::super::HostError;

/// A failure of the container engine, or of what was asked of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum DockerError {
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
    /// The image of what runs beside entries was never made.
    #[error(
        "image {image} is not made: run scripts/docker-sidecars.sh, or use \
         --host local"
    )]
    NoSidecar {
        /// The image's name.
        image: String,
    },
    /// A stack names an image that is not here.
    #[error("image {image} is not here: docker pull {image}")]
    NoPull {
        /// The image's name.
        image: String,
    },
    /// A stack's service is built from somewhere else.
    #[error(
        "service `{service}` is built from `{context}`, expected a folder \
         within the entry's own"
    )]
    Outside {
        /// The service.
        service: String,
        /// What its file says.
        context: String,
    },
    /// There is no client that could build.
    #[error("no `docker` command on the path: run scripts/setup-docker.sh")]
    NoClient,
    /// The user no longer wants it.
    #[error("interrupted while building")]
    Interrupted,
    /// A build script of the entry's own did something else.
    #[error(
        "the build ended well but left no image {image}: build.sh must tag it"
    )]
    NotTagged {
        /// The name it should have.
        image: String,
    },
    /// The engine made the container and could not run its program.
    #[error("image {image} does not start: {why}")]
    Start {
        /// The image's name.
        image: String,
        /// What the engine said.
        why: String,
    },
    /// It runs on CPUs it was not given.
    #[error("pinning has no effect here: {0}")]
    Strayed(String),
    /// The image does not build.
    #[error("image {image} does not build ({why}){hint}")]
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

/// Whose fault it is. A stranger's Dockerfile is its own; an engine that is
/// not there or is far away is the machine's.
impl From<DockerError> for HostError {
    fn from(error: DockerError) -> Self {
        let why = error.to_string();
        match error {
            DockerError::NoEngine { .. }
            | DockerError::Remote { .. }
            | DockerError::NoClient
            | DockerError::NoSidecar { .. }
            | DockerError::NoPull { .. }
            | DockerError::Strayed(_) => Self::Unfit(why),
            DockerError::NoImage { .. }
            | DockerError::Outside { .. }
            | DockerError::NotTagged { .. }
            | DockerError::Start { .. } => Self::entry(why),
            DockerError::Build { log, .. } => {
                Self::Entry { why, log_tail: log }
            }
            DockerError::Io { .. }
            | DockerError::Engine { .. }
            | DockerError::Interrupted => Self::Ours(why),
        }
    }
}
