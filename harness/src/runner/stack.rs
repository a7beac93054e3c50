//! A stack: several services that are measured as one server.

use std::path::Path;

use profiles::{
    cpuset::CpuSet,
    entry::Entry,
    profile::Profile,
    stack::{self, Stack},
};

use super::serve::{NotServed, Place};
use crate::{
    host::{Artifact, Exit, HostError, Launch, Server, Service, ServiceLaunch},
    rig::{Rig, split},
    sidecar::{self, Sidecars},
    watch::Cgroup,
};

/// Those that others ask come first.
const ORDER: [&str; 3] = ["cache", "authsvc", "server"];

/// A stack that runs.
struct Running {
    services: Vec<(String, Box<dyn Server>)>,
}

/// Starts every service of `profile` on its share of the pool. Says what the
/// machine was too small for.
pub(super) fn start(
    place: &Place<'_>,
    entry: &Entry,
    dir: &Path,
    artifact: &Artifact,
    profile: &Profile,
    log: &Path,
    pool: Option<&CpuSet>,
) -> Result<(Box<dyn Server>, Option<String>), NotServed> {
    let lost = |why: String| NotServed::Entry {
        stage: "start",
        why,
        log_tail: String::new(),
    };
    let stack = Stack::of(dir, profile).map_err(|e| lost(e.to_string()))?;
    let mut services: Vec<&stack::Service> = stack.services.iter().collect();
    services.sort_by_key(|s| {
        ORDER.iter().position(|o| *o == s.name).unwrap_or(ORDER.len())
    });
    let (cpus, short) = match (place.rig, pool) {
        (Some(rig), Some(pool)) => shares(rig, pool, &services),
        _ => (vec![None; services.len()], None),
    };
    let mut running = Running { services: Vec::new() };
    for (service, cpus) in services.into_iter().zip(cpus) {
        let env = environment(service, profile, cpus.as_ref());
        let log = log.with_extension(format!("{}.log", service.name));
        let launch = |what| ServiceLaunch {
            run: place.run,
            service: what,
            cpus: cpus.clone(),
            env: env.clone(),
            log: &log,
        };
        let host = place.host;
        if !host.pretends() {
            sidecar::free_port_of(&service.name).map_err(NotServed::Host)?;
        }
        let secret = place.secret();
        let started = match &service.name[..] {
            "cache" => host.start_service(&launch(Service::Redis)),
            "authsvc" => {
                host.start_service(&launch(Service::Auth { secret: &secret }))
            }
            "server" => host.start(&Launch {
                run: place.run,
                entry,
                dir,
                profile,
                artifact,
                cpus: cpus.clone(),
                memory: profile.server.memory,
                data: place.data,
                certificate: false,
                env: env.clone(),
                log: &log,
                open_files: place.open_files(profile),
            }),
            _ => host.start_service(&launch(Service::Own {
                entry,
                dir,
                data: place.data,
                service,
            })),
        };
        let mut server = started.map_err(|e| named(&service.name, e))?;
        if !place.host.pretends() {
            let listens = match &service.name[..] {
                "cache" => sidecar::await_cache(&mut *server),
                "authsvc" => sidecar::await_auth(&mut *server),
                _ => Ok(()),
            };
            listens.map_err(NotServed::Host)?;
        }
        running.services.push((service.name.clone(), server));
    }
    Ok((Box::new(running), short))
}

fn named(service: &str, error: HostError) -> NotServed {
    match error {
        HostError::Entry { why, log_tail } => NotServed::Entry {
            stage: "start",
            why: format!("service `{service}`: {why}"),
            log_tail,
        },
        other => NotServed::Host(other),
    }
}

fn shares(
    rig: &Rig,
    pool: &CpuSet,
    services: &[&stack::Service],
) -> (Vec<Option<CpuSet>>, Option<String>) {
    let wanted: Vec<usize> = services
        .iter()
        .map(|s| s.cpus.as_ref().map_or(1, CpuSet::count))
        .collect();
    let (sets, short) = split(&rig.topology, pool, &wanted);
    (sets.into_iter().map(Some).collect(), short)
}

/// What its file says, with the contract's variables filled in and over it.
fn environment(
    service: &stack::Service,
    profile: &Profile,
    cpus: Option<&CpuSet>,
) -> Vec<(String, String)> {
    let ours = Sidecars::env(&[profile]);
    let mut env: Vec<(String, String)> = service
        .environment
        .iter()
        .map(|(key, value)| (key.clone(), stack::filled(value, &ours)))
        .filter(|(key, _)| !ours.iter().any(|(k, _)| k == key))
        .collect();
    if service.name == "server" {
        env.extend(ours);
    }
    env.extend(cpus.map(|c| ("ARENA_CPUS".into(), c.count().to_string())));
    env
}

impl Server for Running {
    fn pids(&self) -> Vec<i32> {
        self.services.iter().flat_map(|(_, s)| s.pids()).collect()
    }

    fn cgroup(&self) -> Option<&Cgroup> {
        None
    }

    fn services(&self) -> Vec<(&str, &dyn Server)> {
        self.services.iter().map(|(name, s)| (&name[..], &**s)).collect()
    }

    fn shortfalls(&self) -> Vec<String> {
        self.services.iter().flat_map(|(_, s)| s.shortfalls()).collect()
    }

    fn exited(&mut self) -> Option<Exit> {
        self.services.iter_mut().find_map(|(_, s)| s.exited())
    }

    fn log_tail(&self) -> String {
        let mut out = String::new();
        for (name, server) in &self.services {
            let tail = server.log_tail();
            if !tail.trim().is_empty() {
                out += &format!("--- {name}\n{}\n", tail.trim_end());
            }
        }
        out
    }

    fn stop(&mut self) -> Result<(), HostError> {
        // The edge first: nobody asks those behind it any more.
        let mut stopped = Ok(());
        for (_, service) in self.services.iter_mut().rev() {
            stopped = stopped.and(service.stop());
        }
        stopped
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        host::{DataPaths, fake::Fake},
        interrupt::Interrupt,
        testing::{entry, profile},
    };

    const FILE: &str = "
services:
  edge:
    build: ./edge
    cpuset: 0-14,64-78
    environment: {UPSTREAM: '${REDIS_URL}/x', DATABASE_URL: mine}
  server: {build: ., cpuset: '20-31,84-95'}
  authsvc: {image: x, cpuset: '16-19,80-83'}
  cache: {image: x, cpuset: '15,79'}
";

    fn started(file: &str) -> (Vec<String>, Result<Vec<String>, String>) {
        let dir = tempfile::tempdir().unwrap();
        let name = "compose.production-stack.yml";
        std::fs::write(dir.path().join(name), file).unwrap();
        let host = Fake::default();
        let interrupt = Interrupt::default();
        let data = DataPaths::under(dir.path());
        let place = Place::new(&host, None, &data, "r", &interrupt);
        let profile = profile("production-stack");
        let entry = entry("a", &["production-stack"]);
        let artifact = Artifact { digest: "d".into(), what: "w".into() };
        let log = dir.path().join("log");
        let went =
            start(&place, &entry, dir.path(), &artifact, &profile, &log, None);
        let names = went.map_err(|e| e.to_string()).map(|(server, _)| {
            let services = server.services();
            services.iter().map(|(name, _)| name.to_string()).collect()
        });
        (host.events.all(), names)
    }

    #[test]
    fn those_that_others_ask_are_started_first_and_the_edge_is_stopped_first() {
        let (events, names) = started(FILE);
        let order = ["cache", "authsvc", "server", "edge"];
        assert_eq!(names.unwrap(), order);
        assert_eq!(
            events[..4],
            [
                "start service cache".replace("cache", "redis"),
                "start service authsvc".into(),
                "start a production-stack".into(),
                "start service edge".into(),
            ]
        );
        assert_eq!(events[4], "stop edge");
    }

    #[test]
    fn a_service_too_few_or_too_many_is_named() {
        let few = FILE.replace("  cache:", "  cash:");
        let why = started(&few).1.unwrap_err();
        assert!(why.contains("no service `cache`"), "{why}");
        let many = format!("{FILE}  spare: {{image: y, cpuset: '1'}}\n");
        let why = started(&many).1.unwrap_err();
        assert!(why.contains("`spare` is one too many"), "{why}");
    }

    #[test]
    fn only_the_server_is_told_of_the_database() {
        let stack = Stack::read(FILE).unwrap();
        let profile = profile("production-stack");
        let of = |name: &str| {
            let service = stack.service(name).unwrap();
            let cpus = "3-4".parse().unwrap();
            environment(service, &profile, Some(&cpus))
        };
        let edge = of("edge");
        assert_eq!(
            edge,
            [
                ("UPSTREAM".into(), "redis://localhost:6379/x".into()),
                ("ARENA_CPUS".to_string(), "2".to_string()),
            ]
        );
        let server = of("server");
        let has = |key: &str| server.iter().any(|(k, _)| k == key);
        assert!(has("DATABASE_URL") && has("REDIS_URL") && has("ARENA_CPUS"));
    }
}
