//! The real PostgreSQL and Redis, of this machine and in containers: started,
//! seeded, disturbed and brought back.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use harness::host::{Host, Local, docker::DockerHost};
use harness::interrupt::Interrupt;
use harness::sidecar::Sidecars;
use postgres::{Client, NoTls};
use profiles::catalog::Catalog;
use profiles::data::Rows;
use profiles::profile::Profile;

/// As entries come.
const ENTRY: &str = "postgres://bench:bench@localhost:5432/benchmark";

/// Held while something listens on a contract port, by tests of any binary
/// and any checkout on this machine.
fn contract_ports() -> File {
    let path = std::env::temp_dir().join("arena-contract-ports.lock");
    let file = File::create(path).unwrap();
    file.lock().unwrap();
    file
}

fn installed() -> bool {
    let dirs = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let there = dirs.flatten().any(|v| v.path().join("bin/initdb").is_file());
    let redis = Path::new("/usr/bin/redis-server").is_file();
    if !(there && redis) {
        eprintln!(
            "SKIPPED: `apt-get install postgresql redis`, then run this again"
        );
    }
    there && redis
}

#[test]
fn what_an_entry_did_to_the_database_is_gone_at_the_next_start() {
    if !installed() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let host = Local::with_cache(cache.path(), Interrupt::default());
    is_brought_back(&host);
}

#[test]
fn it_is_gone_where_all_of_it_runs_in_containers_too() {
    let host = match DockerHost::connect(Interrupt::default()) {
        Ok(host) => host,
        Err(why) => return eprintln!("SKIPPED: {why}"),
    };
    let image = |name: &str| {
        let look = ["image", "inspect", name];
        let found = Command::new("docker").args(look).output();
        found.is_ok_and(|out| out.status.success())
    };
    if !(image("arena-postgres") && image("arena-redis")) {
        eprintln!("SKIPPED: run scripts/docker-sidecars.sh, then this again");
        return;
    }
    is_brought_back(&host);
    assert_eq!(host.clean(Some("test")).unwrap(), 0, "containers are left");
}

fn is_brought_back(host: &dyn Host) {
    let _ports = contract_ports();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = Catalog::load(&root).unwrap();
    let crud = catalog.profile("crud").unwrap();
    let logs = tempfile::tempdir().unwrap();
    let mut sidecars = Sidecars::new("test", None, logs.path().into());
    let ready = |sidecars: &mut Sidecars, profile: &Profile| {
        let began = Instant::now();
        sidecars.ready(host, &[profile]).unwrap();
        eprintln!("{}: ready in {:.2?}", profile.name, began.elapsed());
    };
    ready(&mut sidecars, crud);
    assert_eq!(sidecars.tampered(), None);
    let names: Vec<String> =
        sidecars.meters(crud).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["postgres", "redis"]);

    let mut entry = Client::connect(ENTRY, NoTls).unwrap();
    let one = "SELECT count(*), min(price) FROM items";
    let rows: i64 = entry.query_one(one, &[]).unwrap().get(0);
    assert_eq!(rows, 100_000);
    entry.execute("UPDATE items SET price = -5 WHERE id = 7", &[]).unwrap();
    for forbidden in [
        "CREATE TABLE mine (id INT)",
        "CREATE INDEX mine ON items (price)",
        "DELETE FROM items WHERE id = 8",
        "UPDATE users SET name = 'x'",
        "COPY items TO PROGRAM 'cat'",
    ] {
        entry.batch_execute(forbidden).unwrap_err();
    }

    let url = sidecars.database_url().unwrap();
    let mut owner = Client::connect(&url, NoTls).unwrap();
    owner.batch_execute("CREATE INDEX mine ON items (price)").unwrap();
    let found = sidecars.tampered().unwrap();
    assert!(found.contains("index mine on items"), "{found}");
    owner.batch_execute("DROP INDEX mine; DROP TABLE users").unwrap();
    let found = sidecars.tampered().unwrap();
    assert!(found.contains("removed `column users."), "{found}");

    ready(&mut sidecars, crud);
    assert_eq!(sidecars.tampered(), None);
    // Whoever was connected was cut off.
    entry.query_one(one, &[]).unwrap_err();
    let mut entry = Client::connect(ENTRY, NoTls).unwrap();
    let price: i32 = entry
        .query_one("SELECT price FROM items WHERE id = 7", &[])
        .unwrap()
        .get(0);
    assert_eq!(i64::from(price), Rows::get().row(7).unwrap().price);
    drop(sidecars);
    Client::connect(ENTRY, NoTls).err().expect("a database that is stopped");
}
