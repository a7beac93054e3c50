//! What stands beside entries: PostgreSQL, Redis and the auth service.
//!
//! They are started when a profile first needs them, pinned to the aux pool,
//! and brought back to the same state before every start of an entry.

mod postgres;
mod redis;

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use profiles::{
    cpuset::CpuSet,
    profile::{Profile, Sidecar},
};

use crate::{
    host::{Host, HostError, Server, Service, ServiceLaunch, ports},
    watch::Meter,
};
use postgres::Postgres;

/// How long a service may take until it answers.
const LIMIT: Duration = Duration::from_secs(30);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(10);
/// Connections the contract lets an entry have.
const MOST_CONNECTIONS: &str = "256";
/// Ports of the contract.
const POSTGRES_PORT: u16 = 5432;
const REDIS_PORT: u16 = 6379;
const AUTH_PORT: u16 = 9090;

/// All of them, for as long as a command runs. Dropped, they are stopped.
#[derive(Default)]
pub struct Sidecars {
    run: String,
    cpus: Option<CpuSet>,
    logs: PathBuf,
    secret: String,
    postgres: Option<Postgres>,
    redis: Option<Box<dyn Server>>,
}

impl Sidecars {
    /// None yet. They will run on `cpus`, under the label `run`, and write to
    /// files in `logs`.
    pub fn new(run: &str, cpus: Option<CpuSet>, logs: PathBuf) -> Sidecars {
        let (run, secret) = (run.into(), secret());
        Sidecars { run, cpus, logs, secret, ..Sidecars::default() }
    }

    /// What tokens are signed with, for as long as these sidecars last.
    pub fn secret(&self) -> String {
        self.secret.clone()
    }

    /// Has all that `profiles` need started, seeded and as it was when it was
    /// new.
    ///
    /// # Errors
    ///
    /// [`HostError::Unfit`] where one cannot be had here.
    pub fn ready(
        &mut self,
        host: &dyn Host,
        profiles: &[&Profile],
    ) -> Result<(), HostError> {
        let cache =
            |p: &&Profile| p.server.services.iter().any(|s| s == "cache");
        if profiles.iter().any(cache) {
            // The cache of a stack is a Redis of its own, on the same port.
            self.redis = None;
        }
        let all = profiles.iter().flat_map(|p| &p.server.sidecars);
        for sidecar in all.collect::<BTreeSet<&Sidecar>>() {
            match sidecar {
                Sidecar::Postgres => self.ready_postgres(host)?,
                Sidecar::Redis => self.ready_redis(host)?,
            }
        }
        Ok(())
    }

    fn ready_postgres(&mut self, host: &dyn Host) -> Result<(), HostError> {
        if let Some(postgres) = &mut self.postgres
            && postgres.lives()
        {
            return postgres.reset();
        }
        self.postgres = None;
        let postgres = Postgres::start(|service| {
            self.start(host, service, POSTGRES_PORT, self.cpus.clone())
        })?;
        self.postgres.insert(postgres).reset()
    }

    fn ready_redis(&mut self, host: &dyn Host) -> Result<(), HostError> {
        if let Some(redis) = &mut self.redis
            && redis.exited().is_none()
        {
            return redis::flush();
        }
        self.redis = None;
        let mut server =
            self.start(host, Service::Redis, REDIS_PORT, self.cpus.clone())?;
        redis::wait(&mut *server)?;
        self.redis = Some(server);
        Ok(())
    }

    fn start(
        &self,
        host: &dyn Host,
        service: Service<'_>,
        port: u16,
        cpus: Option<CpuSet>,
    ) -> Result<Box<dyn Server>, HostError> {
        if !host.pretends() {
            ports::free_soon(port)?;
        }
        let log = self.logs.join(format!("{}.log", service.name()));
        host.start_service(&ServiceLaunch {
            run: &self.run,
            service,
            cpus,
            env: Vec::new(),
            log: &log,
        })
    }

    /// What entries are told of those that `profiles` have.
    pub fn env(profiles: &[&Profile]) -> Vec<(String, String)> {
        let has = |sidecar: Sidecar| {
            profiles.iter().any(|p| p.server.sidecars.contains(&sidecar))
        };
        let cache =
            |p: &&Profile| p.server.services.iter().any(|s| s == "cache");
        let mut env = Vec::new();
        let mut set = |key: &str, value: &str| {
            env.push((key.to_string(), value.to_string()));
        };
        if has(Sidecar::Postgres) {
            set(
                "DATABASE_URL",
                "postgres://bench:bench@localhost:5432/benchmark",
            );
            set("DATABASE_MAX_CONN", MOST_CONNECTIONS);
        }
        if has(Sidecar::Redis) || profiles.iter().any(cache) {
            set("REDIS_URL", "redis://localhost:6379");
        }
        env
    }

    /// The database as its owner sees it, if it runs.
    pub fn database_url(&self) -> Option<String> {
        self.postgres.as_ref().map(Postgres::url)
    }

    /// What an entry did to the database that it may not, in words.
    pub fn tampered(&mut self) -> Option<String> {
        self.postgres.as_mut().and_then(Postgres::tampered)
    }

    /// Where the cost of each that `profile` has is read.
    pub fn meters(&self, profile: &Profile) -> Vec<(String, Meter)> {
        let of = |sidecar: &Sidecar| match sidecar {
            Sidecar::Postgres => {
                let server = self.postgres.as_ref().map(Postgres::server)?;
                Some(("postgres".to_string(), Meter::of(server)?))
            }
            Sidecar::Redis => {
                let server = self.redis.as_deref()?;
                Some(("redis".to_string(), Meter::of(server)?))
            }
        };
        profile.server.sidecars.iter().filter_map(of).collect()
    }
}

/// Refuses to go on while a stranger holds the port of a stack's service.
pub(crate) fn free_port_of(service: &str) -> Result<(), HostError> {
    match service {
        "cache" => ports::free_soon(REDIS_PORT),
        "authsvc" => ports::free_soon(AUTH_PORT),
        _ => Ok(()),
    }
}

/// Waits until the Redis that is the cache of a stack answers.
pub(crate) fn await_cache(server: &mut dyn Server) -> Result<(), HostError> {
    redis::wait(server)
}

/// Waits until the auth service listens.
pub(crate) fn await_auth(server: &mut dyn Server) -> Result<(), HostError> {
    let address = auth_address();
    wait("authsvc", server, || {
        TcpStream::connect_timeout(&address, Duration::from_secs(1))
            .map(drop)
            .map_err(|e| e.to_string())
    })
}

/// Where the auth service answers.
pub fn auth_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, AUTH_PORT).into()
}

/// Tries until it works, the service ends, or it takes too long.
fn wait<T>(
    name: &str,
    server: &mut dyn Server,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, HostError> {
    let started = Instant::now();
    loop {
        let why = match attempt() {
            Ok(found) => return Ok(found),
            Err(why) => why,
        };
        let log = || {
            let tail = server.log_tail();
            let last = crate::host::last_line(&tail);
            last.map(|l| format!("; its log ends: {l}")).unwrap_or_default()
        };
        if started.elapsed() > LIMIT {
            return Err(HostError::Unfit(format!(
                "{name} does not answer within {} s: {why}{}",
                LIMIT.as_secs(),
                log()
            )));
        }
        let log = log();
        if let Some(exit) = server.exited() {
            return Err(HostError::Unfit(format!(
                "{name} {exit} before it answered{log}"
            )));
        }
        thread::sleep(PAUSE);
    }
}

/// A secret that nobody knows before.
pub(crate) fn secret() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    // RandomState is keyed from the system's randomness.
    let of = |n: u32| format!("{:016x}", RandomState::new().hash_one(n));
    (0..4).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::profile;

    #[test]
    fn an_entry_is_told_of_what_its_profile_has_and_of_nothing_else() {
        let told = |name: &str| {
            let env = Sidecars::env(&[&profile(name)]);
            env.into_iter().map(|(k, _)| k).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told("baseline"), "");
        assert_eq!(told("async-db"), "DATABASE_URL DATABASE_MAX_CONN");
        let both = "DATABASE_URL DATABASE_MAX_CONN REDIS_URL";
        assert_eq!(told("crud"), both);
        assert_eq!(told("production-stack"), both);
    }

    #[test]
    fn secrets_differ() {
        assert_eq!(secret().len(), 64);
        assert_ne!(secret(), secret());
    }
}
