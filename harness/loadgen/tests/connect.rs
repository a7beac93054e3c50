//! Connections that cannot be made: each reason has its own errno, under
//! both queues, and each is a real one.

mod peer;

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::IntoRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;

use peer::{BASELINE, Peer, bare};
use profiles::sample::{Failure, Shot};
use profiles::spec::{Engine, Spec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn queues() -> Vec<Engine> {
    match loadgen::engine::refusal() {
        None => vec![Engine::Epoll, Engine::IoUring],
        Some(why) => {
            println!("skipped: {why}");
            vec![Engine::Epoll]
        }
    }
}

/// Fires a gun that is `set` up between fork and exec.
fn failed_with(
    spec: &Spec,
    set: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
) -> Failure {
    let (_data, input) = peer::on_disk(spec);
    let json = std::fs::read(input).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // SAFETY: only system calls are made there.
    let mut child = unsafe { command.pre_exec(set) }.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&json).unwrap();
    let output = peer::output(child);
    match serde_json::from_slice(&output.stdout).unwrap() {
        Shot::Failed(failure) => failure,
        Shot::Measured(sample) => panic!("a window: {sample:?}"),
    }
}

/// All connections are accounted for, and none failed for another reason.
#[track_caller]
fn only(failure: &Failure, errno: &str) {
    assert_eq!(failure.stage, "connect", "{failure:?}");
    let names: Vec<&String> = failure.connect_errors.keys().collect();
    assert_eq!(names, [errno], "{failure:?}");
    let failed = failure.connect_errors[errno] as u32;
    assert!(failed > 0 && failure.why.contains(errno), "{failure:?}");
    assert_eq!(failure.connections_made + failed, failure.connections_asked);
}

#[test]
fn a_closed_port_is_refused() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = closed.local_addr().unwrap();
    drop(closed);
    for engine in queues() {
        let spec = Spec { engine, ..bare(BASELINE, addr, 9) };
        only(&failed_with(&spec, || Ok(())), "ECONNREFUSED");
    }
}

/// The limit fits what the gun counts on, but the process came with files
/// of its own.
#[test]
fn no_files_left_is_emfile() {
    for engine in queues() {
        let spec = Spec { engine, ..bare(BASELINE, Peer::right().addr, 60) };
        let failure = failed_with(&spec, || {
            for _ in 0..80 {
                // Kept over the exec, as only such a copy is.
                let copy = rustix::io::dup(std::io::stdin())?;
                let _ = copy.into_raw_fd();
            }
            let limit = Some(60 + 2 + 64);
            let limit = Rlimit { current: limit, maximum: limit };
            Ok(setrlimit(Resource::Nofile, limit)?)
        });
        assert!(getrlimit(Resource::Nofile).current > Some(126));
        only(&failure, "EMFILE");
    }
}

unsafe extern "C" {
    fn unshare(flags: i32) -> i32;
}

/// A network of its own with 20 ports, 15 of them in use towards the server.
#[test]
fn no_ports_left_is_eaddrnotavail() {
    let apart = || {
        // SAFETY: CLONE_NEWNET changes this thread's network and nothing
        // in memory.
        if unsafe { unshare(0x4000_0000) } != 0 {
            println!("skipped: no right to a network of one's own");
            return;
        }
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
        if !up.is_ok_and(|status| status.success()) {
            println!("skipped: `ip` cannot start the loopback");
            return;
        }
        let range = "/proc/sys/net/ipv4/ip_local_port_range";
        std::fs::write(range, "40000 40019").unwrap();
        let addr: SocketAddr = "127.0.0.1:9000".parse().unwrap();
        let peer = Peer::on(&addr.to_string()).unwrap();
        let held: Vec<TcpStream> =
            (0..15).map(|_| TcpStream::connect(peer.addr).unwrap()).collect();
        for engine in queues() {
            let spec = Spec { engine, ..bare(BASELINE, peer.addr, 12) };
            let failure = failed_with(&spec, || Ok(()));
            only(&failure, "EADDRNOTAVAIL");
            assert_eq!(failure.connections_made, 5);
        }
        drop(held);
    };
    // The thread's network goes with it.
    thread::spawn(apart).join().unwrap();
}
