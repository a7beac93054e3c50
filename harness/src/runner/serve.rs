//! From a built entry to a server that is proved to answer.

use std::{
    cell::RefCell,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use profiles::{entry::Entry, profile::Profile};

use super::{
    ready::{self, Greet, NotReady},
    stack,
};
use crate::{
    host::{Artifact, DataPaths, Host, HostError, Launch, Server, ports},
    interrupt::Interrupt,
    rig::{Rig, budget},
    sidecar::Sidecars,
    watch::proc,
};

/// The contract's ports that entries listen on.
const PORTS: [u16; 4] = [8080, 8081, 8082, 8443];

/// What all starts of a run have in common.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Where entries run.
    pub host: &'a dyn Host,
    /// The machine; `None` leaves servers unpinned.
    pub rig: Option<&'a Rig>,
    /// The data they serve.
    pub data: &'a DataPaths,
    /// The run's id: the label of everything started.
    pub run: &'a str,
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
    /// How long an entry may take to its first answer.
    pub ready_limit: Duration,
    /// Speaks what is not cleartext HTTP/1.1.
    pub greet: Greet,
    /// What stands beside entries; without it, profiles that need something
    /// there are not served.
    pub sidecars: Option<&'a RefCell<Sidecars>>,
}

impl<'a> Place<'a> {
    /// With the usual limit of time.
    pub fn new(
        host: &'a dyn Host,
        rig: Option<&'a Rig>,
        data: &'a DataPaths,
        run: &'a str,
        interrupt: &'a Interrupt,
    ) -> Place<'a> {
        let (ready_limit, greet) = (ready::LIMIT, ready::only_http1 as Greet);
        let sidecars = None;
        Place { host, rig, data, run, interrupt, ready_limit, greet, sidecars }
    }

    /// What the auth service of a stack verifies tokens with.
    pub(super) fn secret(&self) -> String {
        self.sidecars.map(|s| s.borrow().secret()).unwrap_or_default()
    }

    /// Open files that a server of `profile` must be allowed.
    pub(super) fn open_files(&self, profile: &Profile) -> u64 {
        let level = profile.load.levels.iter().copied().max().unwrap_or(0);
        let most = self.rig.map_or(u64::MAX, |rig| rig.limits.open_files);
        (u64::from(level) + 256).min(most)
    }

    /// Has what `profiles` need beside the entry as it was when it was new.
    fn prepare(&self, profiles: &[&Profile]) -> Result<(), HostError> {
        let needy = profiles.iter().find(|p| !p.server.sidecars.is_empty());
        let Some(needy) = needy else { return Ok(()) };
        match self.sidecars {
            _ if self.host.pretends() => Ok(()),
            Some(beside) => beside.borrow_mut().ready(self.host, profiles),
            None => Err(HostError::Ours(format!(
                "nothing stands beside an entry here, but {} needs it",
                needy.name
            ))),
        }
    }
}

/// A server that answers. Dropping it stops it.
pub struct Served {
    /// Where.
    pub address: SocketAddr,
    /// From start to first answer.
    pub ready: Duration,
    /// What the profile asked for and this machine does not give, in words.
    pub shortfalls: Vec<String>,
    /// It.
    pub server: Box<dyn Server>,
}

/// Why nothing is served.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotServed {
    /// The entry's failure: a record, and the others go on.
    #[error("{stage}: {why}")]
    Entry {
        /// `start` or `ready`.
        stage: &'static str,
        /// What happened and what to do.
        why: String,
        /// The end of its output. A stranger's text.
        log_tail: String,
    },
    /// The machine's or ours: the command ends.
    #[error(transparent)]
    Host(HostError),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Starts `entry` once for all of `profiles`, waits until it answers for each,
/// and proves that the answers are its own. The first profile says what CPUs
/// and memory it gets, and whether it is a stack.
pub fn serve(
    place: &Place<'_>,
    entry: &Entry,
    dir: &Path,
    artifact: &Artifact,
    profiles: &[&Profile],
    log: &Path,
) -> Result<Served, NotServed> {
    let [profile, ..] = profiles else {
        let why = format!("{} is started for no profile", entry.name);
        return Err(NotServed::Host(HostError::Ours(why)));
    };
    let real = !place.host.pretends();
    if real {
        // An entry may listen on all of its ports whatever the profile.
        for port in profiles.iter().map(|p| p.port).chain(PORTS) {
            ports::free_soon(port).map_err(NotServed::Host)?;
        }
    }
    place.prepare(profiles).map_err(NotServed::Host)?;
    let mut shortfalls = Vec::new();
    let cpus = place.rig.map(|rig| {
        let pool = &rig.pools.server;
        let (cpus, short) = budget(&rig.topology, pool, profile.server.cpus);
        shortfalls.extend(short);
        cpus
    });
    let count = cpus.as_ref().map(|c| c.count().to_string());
    let mut env = Sidecars::env(profiles);
    env.extend(count.map(|n| ("ARENA_CPUS".to_string(), n)));
    let launch = Launch {
        run: place.run,
        entry,
        dir,
        profile,
        artifact,
        cpus: cpus.clone(),
        memory: profile.server.memory,
        data: place.data,
        certificate: true,
        env,
        log,
        open_files: place.open_files(profile),
    };
    let started = Instant::now();
    let mut server = if profile.server.services.is_empty() {
        place.host.start(&launch).map_err(|e| match e {
            HostError::Entry { why, log_tail } => {
                NotServed::Entry { stage: "start", why, log_tail }
            }
            other => NotServed::Host(other),
        })?
    } else {
        let pool = cpus.as_ref();
        let (server, short) =
            stack::start(place, entry, dir, artifact, profile, log, pool)?;
        shortfalls.extend(short);
        server
    };
    shortfalls.extend(server.shortfalls());
    let address = server.address(profile.port);
    wait(place, &mut *server, profile)?;
    let ready = started.elapsed();
    for profile in one_a_listener(profiles).iter().skip(1) {
        wait(place, &mut *server, profile)?;
    }
    if real {
        let pids = server.pids();
        if let Some(cpus) = &cpus
            && let Some(why) = proc::strayed(&pids, cpus)
        {
            return Err(NotServed::Entry {
                stage: "start",
                why: format!("{why}; an entry must not change its own pinning"),
                log_tail: server.log_tail(),
            });
        }
    }
    Ok(Served { address, ready, shortfalls, server })
}

/// The first profile of each port and protocol.
fn one_a_listener<'a>(profiles: &[&'a Profile]) -> Vec<&'a Profile> {
    let mut out: Vec<&Profile> = Vec::new();
    for profile in profiles {
        let same = |p: &&Profile| {
            (p.port, p.protocol) == (profile.port, profile.protocol)
        };
        if !out.iter().any(same) {
            out.push(profile);
        }
    }
    out
}

/// Waits for an answer of `profile`, and proves whose it is.
fn wait(
    place: &Place<'_>,
    server: &mut dyn Server,
    profile: &Profile,
) -> Result<(), NotServed> {
    let address = server.address(profile.port);
    let (limit, greet) = (place.ready_limit, place.greet);
    let waited =
        ready::wait(server, address, profile, greet, limit, place.interrupt);
    match waited {
        Ok(()) if place.host.pretends() => Ok(()),
        Ok(()) => ports::belongs_to(profile.port, &server.pids())
            .map_err(|why| NotServed::Host(HostError::Unfit(why))),
        Err(NotReady::Interrupted) => {
            let _ = server.stop();
            Err(NotServed::Interrupted)
        }
        Err(why) => {
            let _ = server.stop();
            Err(NotServed::Entry {
                stage: "ready",
                why: why.to_string(),
                log_tail: server.log_tail(),
            })
        }
    }
}
