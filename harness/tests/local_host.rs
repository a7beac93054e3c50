//! The local host with a real program: built, pinned, asked, stopped.

use std::{fs, net::TcpListener, path::Path, process::Command, time::Duration};

use harness::{
    host::{Artifact, DataPaths, Host, Local, ports},
    interrupt::Interrupt,
    rig::Rig,
    runner::{NotServed, Place, Served, serve},
    watch::{Meter, proc},
};
use profiles::{entry::Entry, profile::Profile};

/// Serves its first argument's port in the manner of its second.
const SERVER: &str = r#"
use std::{env, io::{Read, Write}, net::TcpListener};
fn main() {
    let args: Vec<String> = env::args().collect();
    println!("mode {}", args[2]);
    if args[2] == "ends" { std::process::exit(9); }
    if args[2] == "silent" { loop { std::thread::park(); } }
    let listener = TcpListener::bind(format!("0.0.0.0:{}", args[1])).unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let answer: &[u8] = match args[2].as_str() {
            "smtp" => b"220 mail ready\r\n",
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        };
        let _ = stream.write_all(answer);
    }
}
"#;

struct Bench {
    dir: tempfile::TempDir,
    host: Local,
    profile: Profile,
    interrupt: Interrupt,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("server.rs"), SERVER).unwrap();
        let file = "../profiles/defs/baseline.toml";
        let text = fs::read_to_string(file).unwrap();
        let name = "baseline".parse().unwrap();
        let mut profile = Profile::parse(name, file, &text).unwrap();
        profile.port = free_port();
        let interrupt = Interrupt::default();
        let host = Local::with_cache(&dir.path().join("c"), interrupt.clone());
        Bench { dir, host, profile, interrupt }
    }

    fn entry(&self, mode: &str) -> Entry {
        let meta = serde_json::json!({
            "type": "engine",
            "tests": ["baseline"],
            "local": {
                "build": ["rustc", "-O", "server.rs", "-o", "server"],
                "run": ["./server", self.profile.port.to_string(), mode],
            },
        });
        let known = [self.profile.name.clone()];
        let name = "tiny".parse().unwrap();
        Entry::parse(name, "meta.json", &meta.to_string(), &known).unwrap()
    }

    fn build(&self) -> Artifact {
        let entry = self.entry("http");
        self.host.build(&entry, self.dir.path(), &mut |_| {}).unwrap()
    }

    fn serve(
        &self,
        rig: &Rig,
        mode: &str,
        limit: Duration,
    ) -> Result<Served, NotServed> {
        let data = DataPaths::under(Path::new("/nowhere"));
        let mut place =
            Place::new(&self.host, Some(rig), &data, "test", &self.interrupt);
        place.ready_limit = limit;
        let (entry, dir) = (self.entry(mode), self.dir.path());
        let artifact = Artifact { digest: "x".into(), what: "x".into() };
        let log = dir.join("log");
        serve(&place, &entry, dir, &artifact, &[&self.profile], &log)
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[track_caller]
fn fails(served: Result<Served, NotServed>, stage: &str, because: &str) {
    let Err(NotServed::Entry { stage: at, why, log_tail }) = served else {
        panic!("it was served, or failed otherwise")
    };
    assert_eq!(at, stage, "{why}");
    assert!(why.contains(because), "{why}");
    assert!(log_tail.contains("mode "), "{log_tail:?}");
}

/// One test, since a build costs a second and the modes share it.
#[test]
fn a_real_server_is_proved_pinned_metered_and_stopped() {
    if Command::new("rustc").arg("--version").output().is_err() {
        println!("skipped: no rustc to build the server with");
        return;
    }
    let bench = Bench::new();
    let rig = Rig::here();
    let artifact = bench.build();
    assert!(artifact.digest.starts_with("sha256:"));
    assert_eq!(bench.build().digest, artifact.digest);

    let long = Duration::from_secs(30);
    let mut served = bench.serve(&rig, "http", long).unwrap();
    let pids = served.server.pids();
    assert_eq!(proc::strayed(&pids, &rig.pools.server), None);
    assert_eq!(ports::belongs_to(bench.profile.port, &pids), Ok(()));
    let meter = Meter::of(&*served.server).unwrap();
    assert!(meter.cpu_ns() > 0);
    assert!(meter.memory_bytes().unwrap() > 0);
    assert_eq!(served.server.exited(), None);
    served.server.stop().unwrap();
    assert_eq!(ports::free(bench.profile.port), Ok(()));

    let ends = bench.serve(&rig, "ends", long);
    fails(ends, "ready", "exited with code 9 before it answered");
    let smtp = bench.serve(&rig, "smtp", long);
    fails(smtp, "ready", "answered `220 mail ready");
    let silent = bench.serve(&rig, "silent", Duration::from_millis(300));
    fails(silent, "ready", "no complete answer within 0.3 s: connect");
}
