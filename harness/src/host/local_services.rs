//! Services as child processes: the machine's own PostgreSQL and Redis, the
//! arena's auth service, and what an entry's stack has of its own.

use std::{
    env, fs, io,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{
    DATABASE_OWNER, DATABASE_SETTINGS, Exit, HostError, Server, Service,
    ServiceLaunch,
    build_local::lacks_none,
    local::{Process, Spawn, serves, surroundings, words_of},
};
use crate::watch::{Cgroup, proc::Stat};

/// Data directories of ours begin with this: the label that is swept by.
const PREFIX: &str = "arena-pg-";

/// Starts a service.
pub(super) fn start(
    launch: &ServiceLaunch<'_>,
) -> Result<Box<dyn Server>, HostError> {
    match launch.service {
        Service::Postgres { password } => postgres(launch, password),
        Service::Redis => {
            let mut command = Command::new(found("redis-server", "redis")?);
            command.args(["--port", "6379", "--bind", "127.0.0.1", "-::1"]);
            command.args(["--save", "", "--appendonly", "no"]);
            spawn(launch, command, Path::new("/"), Signal::TERM)
        }
        Service::Auth { secret } => {
            let mut command = Command::new(auth_program()?);
            surroundings(&mut command, Path::new("/"), launch.run, &launch.env);
            command.env("JWT_SECRET", secret);
            spawn_as_it_is(launch, command, Signal::TERM)
        }
        Service::Own { dir, data, service, .. } => {
            if service.run.is_empty() {
                return Err(HostError::entry(format!(
                    "service `{}` has no `x-arena` with `run`: say how host \
                     local starts it, or use --host docker",
                    service.name
                )));
            }
            let pairs = service.packages.iter();
            lacks_none(pairs.filter_map(|pair| pair.rsplit_once(':')))?;
            let mut command = words_of(dir, &service.run);
            surroundings(&mut command, dir, launch.run, &launch.env);
            serves(&mut command, data);
            spawn_as_it_is(launch, command, Signal::TERM)
        }
    }
}

fn spawn(
    launch: &ServiceLaunch<'_>,
    mut command: Command,
    dir: &Path,
    farewell: Signal,
) -> Result<Box<dyn Server>, HostError> {
    surroundings(&mut command, dir, launch.run, &launch.env);
    spawn_as_it_is(launch, command, farewell)
}

fn spawn_as_it_is(
    launch: &ServiceLaunch<'_>,
    command: Command,
    farewell: Signal,
) -> Result<Box<dyn Server>, HostError> {
    let process = Process::spawn(Spawn {
        command,
        what: launch.service.name(),
        cpus: launch.cpus.as_ref(),
        memory: None,
        log: launch.log,
        farewell,
    })?;
    Ok(Box::new(process))
}

/// The auth service beside this binary, unless `ARENA_AUTHSVC` names another.
fn auth_program() -> Result<PathBuf, HostError> {
    let program = match env::var_os("ARENA_AUTHSVC") {
        Some(path) => path.into(),
        None => env::current_exe()
            .map_err(|e| ours(Path::new("this program"), &e))?
            .with_file_name("authsvc"),
    };
    match program.is_file() {
        true => Ok(program),
        false => Err(HostError::Unfit(format!(
            "the auth service is not built: there is no {}; run \
             scripts/build.sh",
            program.display()
        ))),
    }
}

/// A program on the path, or the package that brings it.
fn found(name: &str, package: &str) -> Result<PathBuf, HostError> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| missing(name, package))
}

fn missing(name: &str, package: &str) -> HostError {
    HostError::Unfit(format!(
        "`{name}` is missing: apt-get install {package}, then run this again, \
         or use --host docker"
    ))
}

/// The folder of PostgreSQL's programs, the newest version's first.
fn postgres_programs() -> Result<PathBuf, HostError> {
    let mut dirs: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    dirs.sort();
    dirs.reverse();
    let path = env::var_os("PATH").unwrap_or_default();
    dirs.extend(env::split_paths(&path));
    dirs.into_iter()
        .find(|bin| bin.join("initdb").is_file())
        .ok_or_else(|| missing("initdb", "postgresql"))
}

/// PostgreSQL refuses to be root: the numbers of another user, if we are.
fn other_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let all = fs::read_to_string("/etc/passwd").ok()?;
    let of = |name: &str| {
        let line = all.lines().find(|l| l.starts_with(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres:").or_else(|| of("nobody:"))
}

/// In memory where the system has a place for that.
fn data_dir() -> io::Result<TempDir> {
    let me = std::process::id() as i32;
    let start = Stat::of(me).map_or(0, |stat| stat.start);
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{PREFIX}{me}-{start}-");
    builder.prefix(&prefix);
    match builder.tempdir_in("/dev/shm") {
        Ok(dir) => Ok(dir),
        Err(_) => builder.tempdir(),
    }
}

/// Removes the data directories of tools that are no longer alive.
pub(super) fn sweep() {
    for parent in [PathBuf::from("/dev/shm"), env::temp_dir()] {
        for item in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = item.file_name();
            let owner = name.to_str().and_then(owner);
            if owner.is_some_and(|(pid, start)| {
                Stat::of(pid).is_none_or(|stat| stat.start != start)
            }) {
                let _ = fs::remove_dir_all(item.path());
            }
        }
    }
}

/// The process and its start in a data directory's name.
fn owner(name: &str) -> Option<(i32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn postgres(
    launch: &ServiceLaunch<'_>,
    password: &str,
) -> Result<Box<dyn Server>, HostError> {
    let programs = postgres_programs()?;
    let dir = data_dir().map_err(|e| ours(&env::temp_dir(), &e))?;
    let path = dir.path();
    let secret = path.join("password");
    let data = path.join("data");
    let prepared = fs::write(&secret, password).and_then(|()| {
        let Some((uid, gid)) = other_user() else { return Ok(()) };
        chown(path, Some(uid), Some(gid))?;
        chown(&secret, Some(uid), Some(gid))
    });
    prepared.map_err(|e| ours(path, &e))?;
    let program = |name: &str| {
        let mut command = Command::new(programs.join(name));
        command.current_dir("/").env("LC_ALL", "C").env("TZ", "UTC");
        if let Some((uid, gid)) = other_user() {
            command.uid(uid).gid(gid);
        }
        command
    };
    let made = program("initdb")
        .args(["--auth=scram-sha-256", "--no-sync", "--encoding=UTF8"])
        .args(["--locale=C", "--username", DATABASE_OWNER])
        .arg(format!("--pwfile={}", secret.display()))
        .arg("-D")
        .arg(&data)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| ours(&programs.join("initdb"), &e))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        let last = super::last_line(&said).unwrap_or_default();
        return Err(HostError::Unfit(format!(
            "initdb made no database in {}: {last}",
            data.display()
        )));
    }
    let mut command = program("postgres");
    command.arg("-D").arg(&data).args(["-p", "5432"]);
    for setting in DATABASE_SETTINGS {
        command.args(["-c", setting]);
    }
    // Segments elsewhere would outlive it when it is killed.
    command.args(["-c", "listen_addresses=localhost"]);
    command.args(["-c", "dynamic_shared_memory_type=mmap"]);
    let process = Process::spawn(Spawn {
        command,
        what: "postgres",
        cpus: launch.cpus.as_ref(),
        memory: None,
        log: launch.log,
        farewell: Signal::QUIT,
    })?;
    Ok(Box::new(Database { process, _dir: dir }))
}

/// PostgreSQL and the directory that goes with it.
struct Database {
    process: Process,
    _dir: TempDir,
}

impl Server for Database {
    fn pids(&self) -> Vec<i32> {
        self.process.pids()
    }

    fn cgroup(&self) -> Option<&Cgroup> {
        self.process.cgroup()
    }

    fn exited(&mut self) -> Option<Exit> {
        self.process.exited()
    }

    fn log_tail(&self) -> String {
        self.process.log_tail()
    }

    fn stop(&mut self) -> Result<(), HostError> {
        self.process.stop()
    }
}

fn ours(path: &Path, error: &io::Error) -> HostError {
    HostError::Ours(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_directories_of_dead_tools_are_swept() {
        assert_eq!(owner("arena-pg-12-345-AbC"), Some((12, 345)));
        for other in ["arena-pg-x-1-a", "arena-pg-1", "pg-1-2-a", ""] {
            assert_eq!(owner(other), None, "{other}");
        }
        let mine = data_dir().unwrap();
        let start = Stat::of(std::process::id() as i32).unwrap().start;
        let dead = format!("{PREFIX}{}-{}-x", std::process::id(), start + 1);
        let dead = mine.path().parent().unwrap().join(dead);
        fs::create_dir_all(&dead).unwrap();
        sweep();
        assert!(mine.path().is_dir());
        assert!(!dead.exists());
    }
}
