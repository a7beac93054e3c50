//! The gun as a process: what it refuses, how it stops, what it leaves.

mod peer;

use std::process::Command;

use peer::{BASELINE, Gun, MS, Peer, bare, failed, measured, spec};
use profiles::cpuset::CpuSet;
use profiles::sample::Shot;
use rustix::process::{Pid, Signal, kill_process};

/// Exit code and stderr for a spec that is refused; stdout stays empty.
#[track_caller]
fn refuses(stdin: &str, words: &[&str]) {
    let output = peer::output(peer::start(stdin));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(output.stdout, b"");
    for word in words {
        assert!(stderr.contains(word), "`{word}` is not in {stderr}");
    }
}

#[test]
fn a_bad_spec_is_refused_with_its_place() {
    let addr = "127.0.0.1:1".parse().unwrap();
    let good = spec(BASELINE, addr, 1);
    let with = |from: &str, to: &str| {
        serde_json::to_string(&good).unwrap().replace(from, to)
    };
    refuses("", &["line 1"]);
    refuses("{\n\"schema\": 1,\n\"bogus\": 2}", &["bogus", "line 3"]);
    refuses(&with("\"schema\":1", "\"schema\":9"), &["schema 9", "reads 1"]);
    refuses(
        &with("\"connections\":1", "\"connections\":0"),
        &["`connections` is 0"],
    );
    refuses(&with("\"threads\":2", "\"threads\":0"), &["`threads` is 0"]);
    refuses(&with("300000000", "0"), &["`window_ns` is 0", "at least 1"]);
    refuses(&with("share = 1", "shore = 1"), &["test.toml", "shore"]);
    refuses(&with("http1", "http9"), &["test.toml:10:12", "http9"]);
    let stack = include_str!("../../../profiles/defs/production-stack.toml");
    let stack = serde_json::to_string(&spec(stack, addr, 1)).unwrap();
    refuses(&stack, &["`tokens`", "class static", "any user"]);
    let fast = with("\"engine\"", "\"rate_per_s\":-1.0,\"engine\"");
    refuses(&fast, &["`rate_per_s` is -1"]);
}

#[test]
fn help_and_version_are_answered() {
    let run = |arg: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
        let output = command.arg(arg).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = run("--version");
    assert_eq!(code, Some(0));
    assert!(text.starts_with("loadgen 0."), "{text}");
    assert_eq!(text.split_whitespace().count(), 3, "{text}");
    let (code, text) = run("--help");
    assert_eq!(code, Some(0));
    assert!(text.contains("Exit codes"), "{text}");
    assert_eq!(run("--bogus"), (Some(2), String::new()));
    assert_eq!(run("--rate"), (Some(2), String::new()));
}

/// 200 a second for 300 ms are 60, however fast the server is.
#[test]
fn a_rate_on_the_command_line_makes_an_open_loop() {
    let peer = Peer::right();
    let (_data, input) = peer::on_disk(&bare(BASELINE, peer.addr, 4));
    let fire = |rate: &str| {
        Command::new(env!("CARGO_BIN_EXE_loadgen"))
            .args(["--rate", rate])
            .stdin(std::fs::File::open(&input).unwrap())
            .output()
            .unwrap()
    };
    let output = fire("200");
    let Shot::Measured(sample) =
        serde_json::from_slice(&output.stdout).unwrap()
    else {
        panic!("no window at 200 a second");
    };
    let open = sample.open_loop.as_ref().unwrap();
    assert_eq!(open.rate_per_s, 200.0);
    let window = sample.window_asked_ns as f64 / 1e9;
    assert!((open.offered as f64 - 200.0 * window).abs() <= 1.0);
    assert_eq!(open.offered, sample.sent + open.unsent);
    assert_eq!(open.pacing.count(), sample.sent);
    sample.check_books().unwrap();
    for wrong in ["0", "-3", "inf", "fast"] {
        assert_eq!(fire(wrong).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn missing_data_fails_the_shot_and_says_which() {
    let mut spec = spec(BASELINE, "127.0.0.1:1".parse().unwrap(), 1);
    spec.data_dir = "/nonexistent".into();
    let json = serde_json::to_string(&spec).unwrap();
    let output = peer::output(peer::start(&json));
    let Shot::Failed(failure) = serde_json::from_slice(&output.stdout).unwrap()
    else {
        panic!("a window without data");
    };
    assert_eq!(failure.stage, "data");
    assert!(failure.why.contains("/nonexistent/dataset.json"));
}

#[test]
fn a_cpu_that_is_not_there_fails_the_shot() {
    let mut spec = spec(BASELINE, Peer::right().addr, 1);
    spec.cpus = Some("4095".parse().unwrap());
    assert_eq!(failed(&spec).stage, "pin");
}

#[test]
fn pinned_threads_fire() {
    let mut spec = spec(BASELINE, Peer::right().addr, 3);
    let mine = rustix::thread::sched_getaffinity(None).unwrap();
    spec.cpus = CpuSet::new((0..1024).find(|cpu| mine.is_set(*cpu as usize)));
    assert!(measured(&spec).right > 0);
}

#[test]
fn too_few_files_fail_the_shot_with_both_numbers() {
    let peer = Peer::right();
    let (_data, input) = peer::on_disk(&bare(BASELINE, peer.addr, 500));
    let gun = env!("CARGO_BIN_EXE_loadgen");
    let script = format!("ulimit -n 100; exec {gun} < {}", input.display());
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    let Shot::Failed(failure) = serde_json::from_slice(&output.stdout).unwrap()
    else {
        panic!("500 connections with 100 files");
    };
    assert_eq!((failure.stage.as_str(), peer.accepted()), ("connect", 0));
    assert!(failure.why.contains("566 open files"), "{}", failure.why);
    assert!(failure.why.contains("limit is 100"), "{}", failure.why);
}

#[test]
fn a_signal_stops_the_shot_and_prints_what_there_is() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut spec = spec(BASELINE, Peer::right().addr, 2);
        spec.window_ns = 600_000 * MS;
        let mut gun = Gun::start(&spec);
        gun.until_open();
        let pid = Pid::from_raw(gun.pid() as i32).unwrap();
        kill_process(pid, signal).unwrap();
        let Shot::Failed(failure) = gun.shot() else {
            panic!("a whole window");
        };
        assert_eq!(failure.stage, "interrupted");
        assert!(failure.why.contains("measuring"), "{}", failure.why);
        assert_eq!(failure.connections_made, 2);
    }
}

#[test]
fn handshakes_that_a_signal_cut_short_are_called_so() {
    let peer = Peer::new(|conn| {
        conn.head();
        conn.linger();
    });
    let mut spec = bare(peer::ws::ECHO, peer.addr, 2);
    spec.connect_timeout_ns = 600_000 * MS;
    let gun = Gun::start(&spec);
    while peer.accepted() < 2 {
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(gun.pid() as i32).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let Shot::Failed(failure) = gun.shot() else { panic!("a window") };
    assert_eq!(failure.stage, "interrupted");
    assert_eq!(failure.connect_errors["interrupted"], 2, "{failure:?}");
    assert_eq!(failure.connect_errors.len(), 1, "{failure:?}");
}

/// No thread is on time for a window of one nanosecond.
#[test]
fn a_window_that_was_missed_is_no_window() {
    let mut spec = spec(BASELINE, Peer::right().addr, 2);
    spec.window_ns = 1;
    let failure = failed(&spec);
    assert_eq!(failure.stage, "warm-up");
    assert!(failure.why.contains("after its end"), "{}", failure.why);
}

#[test]
fn a_full_disk_is_told_on_stderr() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_loadgen"))
        .arg("--version")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("stdout cannot be written: No space"), "{stderr}");
}

/// BC-28: what hangs at the end is in the books with its age, and the
/// process does not wait for it.
#[test]
fn a_server_that_stops_answering_does_not_hold_the_gun() {
    let peer = Peer::new(|conn| {
        while let Some(request) = conn.request() {
            if request.number >= 20 {
                conn.linger();
                return;
            }
            conn.answer(&request);
        }
    });
    let sample = measured(&bare(BASELINE, peer.addr, 4));
    assert_eq!((sample.right, sample.unanswered), (20, 4), "{sample:?}");
    assert!(sample.unanswered_age.min_ns().unwrap() > 0);
}

/// BC-27, closed loop: one long stop is one long round trip, and no
/// percentile pretends otherwise.
#[test]
fn a_pause_of_the_server_is_one_slow_answer() {
    let peer = Peer::new(|conn| {
        while let Some(request) = conn.request() {
            if request.number == 30 {
                let pause = std::time::Duration::from_millis(150);
                std::thread::park_timeout(pause);
            }
            conn.answer(&request);
        }
    });
    let mut spec = bare(BASELINE, peer.addr, 1);
    spec.window_ns = 1000 * MS;
    let sample = measured(&spec);
    assert!(sample.right > 100, "{}", sample.right);
    let longest = sample.latency.max_ns().unwrap();
    assert!(longest >= 149 * MS, "{longest}");
    let p90 = sample.latency.quantile_ns(0.9).unwrap();
    assert!(p90 < longest / 2, "{p90} of {longest}");
}

/// Requests the warm-up left behind are given up and their connections
/// replaced; none of them is in the window's books.
#[test]
fn what_the_warm_up_left_is_not_in_the_window() {
    let peer = Peer::new(|conn| {
        let stuck = conn.number < 2;
        while let Some(request) = conn.request() {
            if stuck {
                conn.linger();
                return;
            }
            conn.answer(&request);
        }
    });
    let sample = measured(&spec(BASELINE, peer.addr, 2));
    assert_eq!(sample.warmup_unanswered, 2);
    assert_eq!((sample.reconnects, peer.accepted()), (0, 4));
    assert_eq!(sample.per_connection.silent, 0);
    assert!(sample.unanswered <= 2);
}

#[test]
fn connections_are_split_without_losing_any() {
    let peer = Peer::right();
    let mut spec = bare(BASELINE, peer.addr, 7);
    spec.threads = 4;
    let sample = measured(&spec);
    assert_eq!((peer.accepted(), sample.connections_made), (7, 7));
    assert_eq!(sample.threads.len(), 4);
    spec.threads = 9;
    assert!(measured(&spec).right > 0);
}

/// A rig that was killed must not leave a gun behind.
#[test]
fn the_gun_dies_with_its_parent() {
    let (tell, told) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let peer = Peer::new(move |conn| {
        while let Some(request) = conn.request() {
            conn.answer(&request);
        }
        let _ = tell.lock().unwrap().send(());
    });
    let mut spec = bare(BASELINE, peer.addr, 1);
    spec.window_ns = 600_000 * MS;
    let (data, input) = peer::on_disk(&spec);
    let gun = env!("CARGO_BIN_EXE_loadgen");
    // The shell has something to do after the gun, so it stays its parent.
    let script = format!("{gun} < {}; true", input.display());
    let mut shell = Command::new("sh")
        .arg("-c")
        .arg(script)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    peer::until_open(shell.stderr.as_mut().unwrap());
    shell.kill().unwrap();
    shell.wait().unwrap();
    told.recv_timeout(peer::HANG).expect("the gun fires on");
    drop(data);
}

#[test]
fn a_server_on_ipv6_is_reached() {
    let Ok(peer) = Peer::on("[::1]:0") else {
        println!("skipped: this machine has no IPv6 loopback");
        return;
    };
    assert!(measured(&spec(BASELINE, peer.addr, 2)).right > 0);
}

/// The rig reads the server's meters at these lines, so they come once each.
#[test]
fn the_window_is_marked_on_stderr() {
    let (_data, input) = peer::on_disk(&spec(BASELINE, Peer::right().addr, 3));
    let json = std::fs::read_to_string(input).unwrap();
    let output = peer::output(peer::start(&json));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let [open, closed] =
        [profiles::spec::WINDOW_OPEN, profiles::spec::WINDOW_CLOSED];
    assert_eq!(stderr.lines().collect::<Vec<_>>(), [open, closed]);
}
