//! From a built entry to a server that is proved to answer.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use std::net::SocketAddr;

use profiles::{entry::Entry, profile::Profile};

use super::ready::{self, Greet, NotReady};
use crate::{
    host::{Artifact, DataPaths, Host, HostError, Launch, Server, ports},
    interrupt::Interrupt,
    rig::{Rig, budget},
    watch::proc,
};

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
        Place { host, rig, data, run, interrupt, ready_limit, greet }
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

/// Starts `entry` for `profile`, waits until it answers, and proves that the
/// answers are its own.
pub fn serve(
    place: &Place<'_>,
    entry: &Entry,
    dir: &Path,
    artifact: &Artifact,
    profile: &Profile,
    log: &Path,
) -> Result<Served, NotServed> {
    let real = !place.host.pretends();
    if real {
        // A moment's grace: the server before may just be letting go.
        free_soon(profile.port).map_err(NotServed::Host)?;
    }
    let mut shortfalls = Vec::new();
    let cpus = place.rig.map(|rig| {
        let pool = &rig.pools.server;
        let (cpus, short) = budget(&rig.topology, pool, profile.server.cpus);
        shortfalls.extend(short);
        cpus
    });
    let count = cpus.as_ref().map(|c| c.count().to_string());
    let levels = profile.load.levels.iter().copied().max().unwrap_or(0);
    let most = place.rig.map_or(u64::MAX, |rig| rig.limits.open_files);
    let launch = Launch {
        run: place.run,
        entry,
        dir,
        profile,
        artifact,
        cpus: cpus.clone(),
        memory: profile.server.memory,
        data: place.data,
        env: count.map(|n| ("ARENA_CPUS".to_string(), n)).into_iter().collect(),
        log,
        open_files: (u64::from(levels) + 256).min(most),
    };
    let started = Instant::now();
    let mut server = place.host.start(&launch).map_err(|e| match e {
        HostError::Entry { why, log_tail } => {
            NotServed::Entry { stage: "start", why, log_tail }
        }
        other => NotServed::Host(other),
    })?;
    shortfalls.extend(server.shortfalls());
    let address = server.address(profile.port);
    wait(place, &mut *server, profile)?;
    let ready = started.elapsed();
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

impl Served {
    /// Waits until the same server answers for another of its profiles, too,
    /// on that profile's port.
    ///
    /// # Errors
    ///
    /// If it does not; it is stopped then.
    pub fn also(
        &mut self,
        place: &Place<'_>,
        profile: &Profile,
    ) -> Result<(), NotServed> {
        wait(place, &mut *self.server, profile)
    }
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

fn free_soon(port: u16) -> Result<(), HostError> {
    let started = Instant::now();
    loop {
        match ports::free(port) {
            Err(_) if started.elapsed() < Duration::from_millis(500) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}
