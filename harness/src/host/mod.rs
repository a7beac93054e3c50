//! Where entries run: the one seam to processes and containers.
//!
//! A [`Host`] builds an entry into an [`Artifact`] and starts it as a
//! [`Server`]. The runner knows nothing else of it, so a shot is fired the
//! same way at a process, at a container and at the fake of the tests.

mod build_local;
pub(crate) mod child;
pub mod docker;
pub mod fake;
pub mod local;
mod local_services;
mod log;
pub mod ports;

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use profiles::{cpuset::CpuSet, entry::Entry, profile::Profile, units::Bytes};

use crate::watch::Cgroup;

pub use local::Local;
pub use log::{clean, last_line};

/// What a build made: the thing that will run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Artifact {
    /// `sha256:` and hex: changes with any byte of what will run.
    pub digest: String,
    /// A binary's path or an image's name.
    pub what: String,
}

/// Where the generated data lies on this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DataPaths {
    /// `dataset.json`.
    pub dataset: PathBuf,
    /// The folder of static files.
    pub statics: PathBuf,
    /// The folder of `server.crt` and `server.key`.
    pub certs: PathBuf,
}

impl DataPaths {
    /// The layout under one data folder: `dataset.json`, `static/`, `certs/`.
    pub fn under(dir: &Path) -> DataPaths {
        DataPaths {
            dataset: dir.join("dataset.json"),
            statics: dir.join("static"),
            certs: dir.join("certs"),
        }
    }
}

/// One start of one entry for one profile.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The run's id: the label of everything that is started.
    pub run: &'a str,
    /// Who.
    pub entry: &'a Entry,
    /// The entry's directory.
    pub dir: &'a Path,
    /// For which profile.
    pub profile: &'a Profile,
    /// What [`Host::build`] made.
    pub artifact: &'a Artifact,
    /// CPUs it may use; `None` leaves it free.
    pub cpus: Option<CpuSet>,
    /// Hard memory cap without swap; `None` is no cap.
    pub memory: Option<Bytes>,
    /// The data it serves; read-only to it.
    pub data: &'a DataPaths,
    /// Whether it is given the certificate. The server of a stack is not: TLS
    /// is its edge's.
    pub certificate: bool,
    /// Further environment variables, by the profile's contract.
    pub env: Vec<(String, String)>,
    /// File for its output; capped by the host.
    pub log: &'a Path,
    /// Open files it must be allowed.
    pub open_files: u64,
}

/// What may run beside an entry, or before it in a stack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service<'a> {
    /// PostgreSQL on 5432, empty, with a superuser of this name and password.
    Postgres {
        /// Of the superuser [`DATABASE_OWNER`].
        password: &'a str,
    },
    /// Redis on 6379, empty.
    Redis,
    /// The arena's auth service on 9090.
    Auth {
        /// What tokens are signed with.
        secret: &'a str,
    },
    /// A service of the entry's own stack that is not its server.
    Own {
        /// The entry.
        entry: &'a Entry,
        /// Its directory.
        dir: &'a Path,
        /// The data it serves.
        data: &'a DataPaths,
        /// As the stack's file describes it.
        service: &'a profiles::stack::Service,
    },
}

impl Service<'_> {
    /// What it is called, in messages and in records.
    pub fn name(&self) -> &str {
        match self {
            Service::Postgres { .. } => "postgres",
            Service::Redis => "redis",
            Service::Auth { .. } => "authsvc",
            Service::Own { service, .. } => &service.name,
        }
    }
}

/// The superuser of the database beside entries.
pub const DATABASE_OWNER: &str = "arena";

/// PostgreSQL's settings: no entry waits for the disk, and nothing happens in
/// the background of a shot.
pub(crate) const DATABASE_SETTINGS: [&str; 11] = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "max_connections=400",
    "shared_buffers=256MB",
    "max_wal_size=4GB",
    "wal_level=minimal",
    "max_wal_senders=0",
    "jit=off",
    "unix_socket_directories=",
];

/// One start of a service.
#[derive(Clone, Debug)]
pub struct ServiceLaunch<'a> {
    /// The run's id: the label of everything that is started.
    pub run: &'a str,
    /// Which.
    pub service: Service<'a>,
    /// CPUs it may use; `None` leaves it free.
    pub cpus: Option<CpuSet>,
    /// Further environment variables.
    pub env: Vec<(String, String)>,
    /// File for its output; capped by the host.
    pub log: &'a Path,
}

/// Whose fault it is that something did not work: the runner branches on it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HostError {
    /// The entry's own: recorded, and the run goes on with the others.
    #[error("{why}")]
    Entry {
        /// What happened and what to do.
        why: String,
        /// The end of its output. A stranger's text.
        log_tail: String,
    },
    /// The machine's: nothing can be measured here as it is. Exit code 5.
    #[error("{0}")]
    Unfit(String),
    /// Ours. Exit code 1.
    #[error("{0}")]
    Ours(String),
}

impl HostError {
    /// An entry's failure without output.
    pub fn entry(why: impl Into<String>) -> HostError {
        HostError::Entry { why: why.into(), log_tail: String::new() }
    }
}

/// How a server ended, or was seen to be restarted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Exit {
    /// Its exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Killed, or a process of it killed, for want of memory.
    pub oom: bool,
    /// Times it was started again since [`Host::start`].
    pub restarts: u32,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.oom, self.restarts, self.signal, self.code) {
            (true, ..) => "was killed for want of memory (OOM)".to_string(),
            (_, n @ 1.., ..) => format!("was restarted {n} times"),
            (_, _, Some(s), _) => format!("was ended by signal {s}"),
            (_, _, _, Some(c)) => format!("exited with code {c}"),
            _ => "ended".to_string(),
        };
        f.pad(&how)
    }
}

/// A place entries run.
pub trait Host {
    /// `local`, `docker`, `stack` or `fake`: goes into the record.
    fn name(&self) -> &'static str;

    /// The engine and its version for the environment record, or `none`.
    fn engine(&self) -> String {
        "none".into()
    }

    /// Whether it only pretends, as the fake of the tests does: then nothing
    /// of this machine (ports, pinning) is proved about its servers.
    fn pretends(&self) -> bool {
        false
    }

    /// Whether it can work at all; [`HostError::Unfit`] says what to do.
    fn check(&self) -> Result<(), HostError>;

    /// Builds the entry in `dir`. `progress` gets one short line at a time.
    fn build(
        &self,
        entry: &Entry,
        dir: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Artifact, HostError>;

    /// Starts it and returns at once; it need not listen yet.
    fn start(&self, launch: &Launch<'_>) -> Result<Box<dyn Server>, HostError>;

    /// Starts a service and returns at once; it need not listen yet.
    fn start_service(
        &self,
        launch: &ServiceLaunch<'_>,
    ) -> Result<Box<dyn Server>, HostError>;

    /// Removes what `run` left behind, or with `None` what any dead run did.
    /// Only ever touches what carries our label. Says how many it removed.
    fn clean(&self, run: Option<&str>) -> Result<usize, HostError>;
}

/// Holds processes still, or lets them go on.
///
/// # Errors
///
/// If one of them cannot be reached; the others are then as they were asked
/// to be.
pub fn hold(pids: &[i32], still: bool) -> std::io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = if still { Signal::STOP } else { Signal::CONT };
    let mut done = Ok(());
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        done = done.and(kill_process(pid, signal).map_err(Into::into));
    }
    done
}

/// One started entry. Dropping it stops it.
pub trait Server {
    /// Where it listens on the contract's `port`.
    fn address(&self, port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    /// All its live processes, as numbered on this machine.
    fn pids(&self) -> Vec<i32>;

    /// Where its CPU time and memory are accounted, when it has a cgroup of
    /// its own.
    fn cgroup(&self) -> Option<&Cgroup>;

    /// The services it consists of, when it is a stack.
    fn services(&self) -> Vec<(&str, &dyn Server)> {
        Vec::new()
    }

    /// What the launch asked for and this server did not get, in words.
    fn shortfalls(&self) -> Vec<String> {
        Vec::new()
    }

    /// How it ended, was restarted or lost a process to OOM; `None` while it
    /// lives as it was started. Never blocks for long.
    fn exited(&mut self) -> Option<Exit>;

    /// The end of its output: at most 64 KiB, without control characters
    /// other than line ends.
    fn log_tail(&self) -> String;

    /// Asks it to end, kills it after a bounded wait, removes all of it.
    /// A second call does nothing.
    fn stop(&mut self) -> Result<(), HostError>;
}
