//! An entry for the end-to-end tests, on the contract's port: the judge's
//! honest twin, or one with a fault.
//!
//! `peer honest`, `peer wrong`, `peer garbage`, `peer fragile`,
//! `peer turncoat`.

#[path = "../../../validate/tests/support/mod.rs"]
#[allow(dead_code, reason = "the judge's tests use the rest")]
mod support;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use support::{Twin, cheat::Cheat};

/// More bytes than the judge ever sends on one connection for `pipelined`,
/// and what the gun sends in an instant.
const TOO_MUCH: usize = 20_000;
/// The same of the answers, which are longer.
const ENOUGH: usize = 5 * TOO_MUCH;

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 8080)).unwrap();
    match mode.as_str() {
        "honest" => rest(&Twin::on(listener, Cheat::Honest)),
        "wrong" => rest(&Twin::on(listener, Cheat::PipelineNewline)),
        "fragile" => {
            let twin = Twin::start(Cheat::Honest);
            between(&listener, twin.address, die, |_, _| {});
        }
        "turncoat" => {
            let twin = Twin::start(Cheat::Honest);
            between(&listener, twin.address, |_, _| {}, spoil);
        }
        "garbage" => {
            for stream in listener.incoming() {
                let _ =
                    stream.and_then(|mut s| s.write_all(b"\x16\x03\x01x\n"));
            }
        }
        other => panic!("no mode `{other}`"),
    }
}

fn rest(_twin: &Twin) {
    loop {
        thread::park();
    }
}

/// What is done to bytes on their way, after so many on that connection.
type Change = fn(usize, &mut [u8]);

/// Gone once a connection asks for much: as a server that dies under load
/// and not under the judge.
fn die(passed: usize, _: &mut [u8]) {
    if passed > TOO_MUCH {
        eprintln!("cannot take so much");
        std::process::exit(9);
    }
}

/// Wrong once a connection got much: one body of as many bytes as before.
fn spoil(passed: usize, bytes: &mut [u8]) {
    let right = b"\r\n\r\nok";
    let at = bytes.windows(right.len()).rposition(|w| w == right);
    if let Some(at) = at.filter(|_| passed > ENOUGH) {
        bytes[at + right.len() - 1] = b'x';
    }
}

/// Stands before the twin and changes what passes.
fn between(
    listener: &TcpListener,
    twin: SocketAddr,
    asked: Change,
    answered: Change,
) {
    for client in listener.incoming().flatten() {
        let server = TcpStream::connect(twin).unwrap();
        for stream in [&client, &server] {
            let _ = stream.set_nodelay(true);
        }
        let (back, forth) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || relay(&client, &server, asked));
        thread::spawn(move || relay(&back, &forth, answered));
    }
}

fn relay(mut from: &TcpStream, mut to: &TcpStream, change: Change) {
    let mut buffer = [0; 4096];
    let mut passed = 0;
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        passed += n;
        change(passed, &mut buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
