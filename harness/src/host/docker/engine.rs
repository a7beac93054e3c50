//! The container engine, asked synchronously and with an end to every wait.

use std::collections::HashMap;
use std::env;
use std::future::Future;
use std::time::Duration;

use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummary,
};
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptions, LogsOptions,
    RemoveContainerOptionsBuilder, StopContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker, errors::Error as Refusal};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Runtime};

use super::super::Exit;
use super::config::{OWNER_LABEL, RUN_LABEL};
use super::error::DockerError;
use super::limits::Limits;
use super::owner;
use super::text::Tail;

const DEFAULT_SOCKET: &str = "unix:///var/run/docker.sock";
/// A healthy engine answers `ping` in milliseconds.
const HELLO: Duration = Duration::from_secs(5);
/// For everything else; starting a container takes 0.05 to 2 seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Log lines asked for, of which [`LOG_BYTES`] are kept.
const LOG_LINES: usize = 1000;
const LOG_BYTES: usize = 64 << 10;

/// A connection to the engine of this machine.
#[derive(Debug)]
pub(super) struct Engine {
    runtime: Runtime,
    docker: Docker,
    address: String,
    version: String,
    limits: Option<Limits>,
}

/// What the engine knows about a container of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContainerState {
    /// Whether its first process lives.
    pub running: bool,
    /// That process, as numbered on the host; 0 when it is gone.
    pub pid: i32,
    /// How it ended, when it did.
    pub exit_code: Option<i64>,
    /// Whether the kernel killed it for lack of memory.
    pub oom_killed: bool,
    /// How often the engine started it anew; always 0 unless someone meddled.
    pub restarts: i64,
    /// The engine's words when it could not be started.
    pub error: String,
}

impl Engine {
    /// Connects to `DOCKER_HOST`, or to the usual socket when it is unset.
    pub(super) fn connect() -> Result<Self, DockerError> {
        let address = env::var("DOCKER_HOST")
            .ok()
            .filter(|host| !host.is_empty())
            .unwrap_or_else(|| DEFAULT_SOCKET.to_owned());
        Self::connect_to(&address, HELLO)
    }

    /// Connects to a `unix://` address.
    pub(super) fn connect_to(
        address: &str,
        patience: Duration,
    ) -> Result<Self, DockerError> {
        if !address.starts_with("unix://") {
            return Err(DockerError::Remote { at: address.into() });
        }
        let no_engine =
            |why: String| DockerError::NoEngine { at: address.into(), why };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(DockerError::io("the engine's event loop"))?;
        let limit = PATIENCE.as_secs();
        let (docker, version) = runtime
            .block_on(async {
                tokio::time::timeout(patience, async {
                    let docker = Docker::connect_with_unix(
                        address,
                        limit,
                        API_DEFAULT_VERSION,
                    )?
                    .negotiate_version()
                    .await?;
                    let version = docker.version().await?.version;
                    Ok::<_, Refusal>((docker, version.unwrap_or_default()))
                })
                .await
            })
            .map_err(|_| no_engine(format!("silent for {patience:?}")))?
            .map_err(|refusal| no_engine(words(&refusal)))?;
        Ok(Self {
            runtime,
            docker,
            address: address.into(),
            version,
            limits: Limits::of_daemon(),
        })
    }

    /// Where it answers, for a client that must talk to the same one.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The engine's own version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// The limits containers can get, if the daemon can be seen from here.
    pub(super) fn limits(&self) -> Option<Limits> {
        self.limits
    }

    /// Whether it still answers.
    pub(super) fn ping(&self) -> Result<(), DockerError> {
        self.ask("asking for a sign of life", self.docker.ping())?;
        Ok(())
    }

    /// The id of an image, or `None` if there is no such image here.
    pub(super) fn image_id(
        &self,
        image: &str,
    ) -> Result<Option<String>, DockerError> {
        let doing = format!("looking up image {image}");
        match self.ask(&doing, self.docker.inspect_image(image)) {
            Ok(found) => Ok(found.id),
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Creates a container and gives its id.
    pub(super) fn create(
        &self,
        body: ContainerCreateBody,
    ) -> Result<String, DockerError> {
        let reply = self.ask(
            "creating a container",
            self.docker.create_container(None, body),
        )?;
        Ok(reply.id)
    }

    /// Starts a created container; `image` is named when that fails.
    pub(super) fn start(
        &self,
        id: &str,
        image: &str,
    ) -> Result<(), DockerError> {
        let doing = "starting a container";
        match self.ask(doing, self.docker.start_container(id, None)) {
            // The engine refuses what it cannot run: no such program, no
            // such user. Silence is another matter.
            Err(Failure { status: Some(_), why, .. }) => {
                Err(DockerError::Start { image: image.to_owned(), why })
            }
            other => Ok(other?),
        }
    }

    /// Whether it lives, and how it ended.
    pub(super) fn state(
        &self,
        id: &str,
    ) -> Result<ContainerState, DockerError> {
        let found = self.ask(
            "looking at a container",
            self.docker.inspect_container(id, None::<InspectContainerOptions>),
        )?;
        Ok(ContainerState::from(found))
    }

    /// The end of what it wrote, both streams, about in order.
    pub(super) fn logs(&self, id: &str) -> Result<String, DockerError> {
        let options = LogsOptions {
            stdout: true,
            stderr: true,
            tail: LOG_LINES.to_string(),
            ..LogsOptions::default()
        };
        let mut pieces = self.docker.logs(id, Some(options));
        let mut tail = self.ask("reading a container's log", async {
            let mut tail = Tail::new(LOG_BYTES);
            while let Some(piece) = pieces.next().await {
                tail.push(&piece?.into_bytes());
            }
            Ok(tail)
        })?;
        Ok(tail.text())
    }

    /// Asks it to stop, and kills it when `grace` is over.
    pub(super) fn stop(
        &self,
        id: &str,
        grace: Duration,
    ) -> Result<(), DockerError> {
        let seconds = i32::try_from(grace.as_secs()).unwrap_or(i32::MAX);
        let options = StopContainerOptionsBuilder::new().t(seconds).build();
        ignore_gone(self.ask(
            "stopping a container",
            self.docker.stop_container(id, Some(options)),
        ))
    }

    /// Kills it if need be and removes it with its unnamed volumes. One that
    /// is gone already is no failure.
    pub(super) fn remove(&self, id: &str) -> Result<(), DockerError> {
        let options =
            RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        ignore_gone(self.ask(
            "removing a container",
            self.docker.remove_container(id, Some(options)),
        ))
    }

    /// Ids of the containers of one run, or of all runs whose process died.
    pub(super) fn ours(
        &self,
        run: Option<&str>,
    ) -> Result<Vec<String>, DockerError> {
        let label = match run {
            Some(run) => format!("{RUN_LABEL}={run}"),
            None => RUN_LABEL.to_owned(),
        };
        let options = ListContainersOptions {
            all: true,
            filters: Some(HashMap::from([("label".to_owned(), vec![label])])),
            ..ListContainersOptions::default()
        };
        let found = self.ask(
            "listing containers",
            self.docker.list_containers(Some(options)),
        )?;
        let owned_by_the_living = |one: &ContainerSummary| {
            let labels = one.labels.as_ref();
            labels
                .and_then(|labels| labels.get(OWNER_LABEL))
                .is_none_or(|owner| owner::lives(owner))
        };
        Ok(found
            .into_iter()
            .filter(|one| run.is_some() || !owned_by_the_living(one))
            .filter_map(|one| one.id)
            .collect())
    }

    /// One question, with an end to the wait.
    fn ask<T>(
        &self,
        doing: &str,
        question: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Failure> {
        let failure =
            |status, why| Failure { doing: doing.to_owned(), status, why };
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, question).await });
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Refusal::DockerResponseServerError {
                status_code,
                message,
            })) => Err(failure(Some(status_code), message)),
            Ok(Err(refusal)) => Err(failure(None, refusal.to_string())),
            Err(_) => Err(failure(None, format!("silent for {PATIENCE:?}"))),
        }
    }
}

/// A question that was not answered as hoped.
struct Failure {
    doing: String,
    /// The engine's status, when it answered at all.
    status: Option<u16>,
    why: String,
}

impl Failure {
    /// "There is no such thing" is sometimes the answer wanted.
    fn is_missing(&self) -> bool {
        self.status == Some(404)
    }
}

impl From<Failure> for DockerError {
    fn from(failure: Failure) -> Self {
        Self::Engine { doing: failure.doing, why: failure.why }
    }
}

fn ignore_gone(answer: Result<(), Failure>) -> Result<(), DockerError> {
    match answer {
        Err(failure) if !failure.is_missing() => Err(failure.into()),
        _ => Ok(()),
    }
}

/// The engine's own words without the wrapping of the client library.
fn words(refusal: &Refusal) -> String {
    match refusal {
        Refusal::DockerResponseServerError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

impl From<ContainerInspectResponse> for ContainerState {
    fn from(found: ContainerInspectResponse) -> Self {
        let state = found.state.unwrap_or_default();
        let running = state.running.unwrap_or(false);
        let ended = state
            .finished_at
            .is_some_and(|at| !at.is_empty() && !at.starts_with("0001-"));
        Self {
            running,
            pid: state.pid.and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0),
            exit_code: state.exit_code.filter(|_| ended && !running),
            oom_killed: state.oom_killed.unwrap_or(false),
            restarts: found.restart_count.unwrap_or(0),
            error: state.error.unwrap_or_default(),
        }
    }
}

impl ContainerState {
    /// Its end in the runner's words, or `None` while it lives. A code above
    /// 128 is how a signal is told; `oom` is what its cgroup said.
    pub(super) fn end(&self, oom: bool) -> Option<Exit> {
        let restarts = u32::try_from(self.restarts).unwrap_or(u32::MAX);
        let oom = oom || self.oom_killed;
        if self.running && restarts == 0 && !oom {
            return None;
        }
        let code = self.exit_code.and_then(|code| i32::try_from(code).ok());
        let signal = code.filter(|code| (129..=192).contains(code));
        Some(Exit {
            code: code.filter(|_| signal.is_none()),
            signal: signal.map(|code| code - 128),
            oom,
            restarts,
        })
    }
}
