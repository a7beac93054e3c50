//! Which queue a shot is fired with, and what the sample says of it.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use profiles::sample::Shot;
use profiles::spec::{Engine, Spec};

use super::peer::{self, BASELINE, Peer, UPLOAD, measured, spec};

fn with(engine: Engine, definition: &str) -> Spec {
    Spec { engine, ..spec(definition, Peer::right().addr, 2) }
}

#[test]
fn the_sample_says_which_queue_and_why() {
    let auto = measured(&with(Engine::Auto, BASELINE)).engine;
    match loadgen::engine::refusal() {
        None => assert_eq!(auto, "io_uring"),
        Some(why) => assert_eq!(auto, format!("epoll: {why}")),
    }
    let sample = measured(&with(Engine::Epoll, BASELINE));
    assert_eq!(sample.engine, "epoll: asked for");
    let sample = measured(&with(Engine::Auto, UPLOAD));
    assert_eq!(sample.engine, "epoll: large bodies");
}

#[repr(C)]
struct Instruction(u16, u8, u8, u32);

#[repr(C)]
struct Filter {
    len: u16,
    first: *const Instruction,
}

unsafe extern "C" {
    fn prctl(option: i32, ...) -> i32;
}

/// What a container's default profile does: `io_uring_setup`, number 425 on
/// every architecture, fails with EPERM.
fn forbid() -> std::io::Result<()> {
    static RULES: [Instruction; 4] = [
        Instruction(0x20, 0, 0, 0),
        Instruction(0x15, 0, 1, 425),
        Instruction(0x06, 0, 0, 0x0005_0001),
        Instruction(0x06, 0, 0, 0x7fff_0000),
    ];
    let filter = Filter { len: 4, first: RULES.as_ptr() };
    // SAFETY: no new privileges (38), then a filter (22, 2) that lives for
    // the call and is as long as it says.
    let done = unsafe {
        prctl(38, 1u64, 0u64, 0u64, 0u64) == 0
            && prctl(22, 2u64, &raw const filter) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn without_io_uring(spec: &Spec) -> Shot {
    let (_data, input) = peer::on_disk(spec);
    let json = std::fs::read(input).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // SAFETY: between fork and exec only two system calls are made.
    let mut child = unsafe { command.pre_exec(forbid) }.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&json).unwrap();
    let output = peer::output(child);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn where_io_uring_is_forbidden_epoll_is_chosen_and_says_so() {
    let Shot::Measured(sample) =
        without_io_uring(&with(Engine::Auto, BASELINE))
    else {
        panic!("no window");
    };
    assert_eq!(sample.engine, "epoll: io_uring_setup EPERM");
    assert!(sample.right > 0);
}

#[test]
fn io_uring_asked_for_and_forbidden_fails_the_shot_and_says_what_to_do() {
    let Shot::Failed(failure) =
        without_io_uring(&with(Engine::IoUring, BASELINE))
    else {
        panic!("a window");
    };
    assert_eq!(failure.stage, "engine");
    assert!(failure.why.contains("io_uring_setup EPERM"), "{}", failure.why);
    assert!(failure.why.contains("engine `epoll`"), "{}", failure.why);
}
