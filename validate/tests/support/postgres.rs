//! A real PostgreSQL for tests, with the tables and rows of the contract.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use profiles::data::{Rows, schema};

/// One that runs until the test binary ends.
pub struct Postgres {
    port: u16,
    made: AtomicU32,
}

/// A database of one's own, with all its rows; dropped, it is gone.
pub struct Own {
    pub postgres: &'static Postgres,
    name: String,
}

/// The one of this test binary; `None`, said loudly, where PostgreSQL is not
/// installed.
pub fn postgres() -> Option<&'static Postgres> {
    static ONE: OnceLock<Option<Postgres>> = OnceLock::new();
    ONE.get_or_init(|| {
        let Some(bin) = installed() else {
            eprintln!(
                "SKIPPED: no initdb on this machine; `apt-get install \
                 postgresql`, then run this again"
            );
            return None;
        };
        Some(Postgres::start(&bin))
    })
    .as_ref()
}

/// The folder of its programs.
fn installed() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.splice(0..0, std::env::split_paths(&path));
    found.into_iter().rev().find(|bin| bin.join("initdb").is_file())
}

/// Root may not run it: another user's numbers, if we are root.
fn user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let all = fs::read_to_string("/etc/passwd").unwrap();
    let of = |name: &str| {
        let line = all.lines().find(|l| l.starts_with(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres:").or_else(|| of("nobody:"))
}

fn command(bin: &Path, name: &str) -> Command {
    let mut command = Command::new(bin.join(name));
    command.current_dir("/");
    if let Some((uid, gid)) = user() {
        command.uid(uid).gid(gid);
    }
    command
}

/// A port that nobody listens on now.
fn free_port() -> u16 {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    held.local_addr().unwrap().port()
}

impl Postgres {
    fn start(bin: &Path) -> Postgres {
        let dir = tempfile::Builder::new().prefix("arena-pg").tempdir();
        let dir = dir.unwrap().keep();
        if let Some((uid, gid)) = user() {
            chown(&dir, Some(uid), Some(gid)).unwrap();
        }
        let made = command(bin, "initdb")
            .args(["--auth=trust", "--no-sync", "--encoding=UTF8"])
            .args(["--locale=C", "-U", "arena", "-D"])
            .arg(&dir)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "initdb: {said}");
        let port = free_port();
        // The shell outlives us only until its input ends, which it does when
        // we end, however that is.
        let script = "\"$@\" >/dev/null 2>&1 & pid=$!; cat >/dev/null; \
                      kill -QUIT $pid; wait $pid; rm -rf \"$DIR\"";
        let mut shell = Command::new("sh");
        if let Some((uid, gid)) = user() {
            shell.uid(uid).gid(gid);
        }
        let child = shell
            .current_dir("/")
            .env("DIR", &dir)
            .args(["-c", script, "sh"])
            .arg(bin.join("postgres"))
            .arg("-D")
            .arg(&dir)
            .args(["-p", &port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories="])
            .args(["-c", "fsync=off", "-c", "max_connections=256"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // Its input stays open for as long as this process lives.
        std::mem::forget(child);
        let postgres = Postgres { port, made: AtomicU32::new(0) };
        postgres.fill();
        postgres
    }

    fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }

    /// A copy of the database, which nobody else sees.
    pub fn own(&'static self) -> Own {
        let n = self.made.fetch_add(1, Ordering::Relaxed);
        let name = format!("own{n}");
        let mut admin =
            Client::connect(&self.url("arena", "postgres"), NoTls).unwrap();
        let text = format!("CREATE DATABASE {name} TEMPLATE benchmark");
        admin.batch_execute(&text).unwrap();
        Own { postgres: self, name }
    }

    fn fill(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        let mut first = loop {
            let url = self.url("arena", "postgres");
            match Client::connect(&format!("{url}?connect_timeout=5"), NoTls) {
                Ok(client) => break client,
                Err(e) => {
                    assert!(Instant::now() < until, "PostgreSQL: {e}");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        };
        first.batch_execute("CREATE DATABASE benchmark").unwrap();
        let owner = self.url("arena", "benchmark");
        let mut db = Client::connect(&owner, NoTls).unwrap();
        db.batch_execute(schema::TABLES).unwrap();
        let mut copy = db.copy_in(schema::COPY_ITEMS).unwrap();
        Rows::get().write_copy(std::io::BufWriter::new(&mut copy)).unwrap();
        copy.flush().unwrap();
        copy.finish().unwrap();
        db.batch_execute(&schema::insert_users()).unwrap();
        db.batch_execute(schema::ROLE).unwrap();
        db.batch_execute("ANALYZE").unwrap();
    }
}

impl Own {
    /// As the owner of the tables.
    pub fn owner(&self) -> String {
        self.postgres.url("arena", &self.name)
    }

    /// As entries come.
    pub fn entry(&self) -> String {
        self.postgres.url(schema::ENTRY_ROLE, &self.name)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let admin = self.postgres.url("arena", "postgres");
        if let Ok(mut admin) = Client::connect(&admin, NoTls) {
            let text = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            let _ = admin.batch_execute(&text);
        }
    }
}
