//! The binary as a stack meets it: over sockets, until a signal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const GOOD: &str = include_str!("../src/good_token.txt");
/// Only ends tests that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

struct Running {
    child: Child,
    address: SocketAddr,
}

fn command(listen: &str, secret: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_authsvc"));
    command.env("AUTHSVC_LISTEN", listen).env("JWT_SECRET", secret);
    command
}

impl Running {
    fn start() -> Running {
        let mut command = command("127.0.0.1:0", "a secret of the tests");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        Running { address: address.parse().unwrap(), child }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        BufReader::new(stream)
    }

    fn ask(&self, request: &str) -> Answer {
        let mut connection = self.connect();
        connection.get_ref().write_all(request.as_bytes()).unwrap();
        answer(&mut connection)
    }

    fn counts(&self) -> [u64; 3] {
        // What the judge sends, byte for byte.
        let sent = "GET /_counts HTTP/1.1\r\nHost: localhost:9090\r\n\r\n";
        let (head, body) = self.ask(sent);
        assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
        let counts: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(counts.as_object().unwrap().len(), 3);
        ["asked", "accepted", "refused"].map(|n| counts[n].as_u64().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The head in lower case, and the body.
type Answer = (String, String);

fn answer(connection: &mut BufReader<TcpStream>) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let n = connection.read_line(&mut head).unwrap();
        assert!(n > 0, "ended within {head:?}");
    }
    let head = head.to_lowercase();
    let (_, length) = head.split_once("content-length: ").unwrap();
    let length = length.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn auth(value: &str) -> String {
    let value = value.trim();
    format!("GET /_auth HTTP/1.1\r\nHost: a\r\nAuthorization: {value}\r\n\r\n")
}

#[track_caller]
fn is_in_order(connection: &mut BufReader<TcpStream>, good: &[bool]) {
    for (n, good) in good.iter().enumerate() {
        let (head, body) = answer(connection);
        let (status, field) = match good {
            true => ("http/1.1 200 ok\r\n", "x-user-id: 42\r\n"),
            false => ("http/1.1 401 ", "www-authenticate: bearer\r\n"),
        };
        assert!(head.starts_with(status), "answer {n}: {head}");
        assert!(head.contains(field), "answer {n}: {head}");
        assert_eq!(body, "");
    }
}

#[test]
fn what_was_asked_on_any_connection_is_counted() {
    let running = Running::start();
    assert_eq!(running.counts(), [0, 0, 0]);
    for _ in 0..20 {
        let (head, _) = running.ask(&auth(GOOD));
        assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
    }
    let (head, _) = running.ask("GET /_auth HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.starts_with("http/1.1 401 "), "{head}");
    let (head, _) = running.ask("GET /_health HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
    assert_eq!(running.counts(), [21, 20, 1]);
}

#[test]
fn pipelined_requests_are_answered_in_order_however_they_are_cut() {
    let running = Running::start();
    let good: Vec<bool> = (0..300).map(|n| n % 3 != 1).collect();
    let sent: String = good
        .iter()
        .map(|good| auth(if *good { GOOD } else { "Bearer x.y.z" }))
        .collect();
    for piece in [sent.len(), 1000, 97] {
        let mut connection = running.connect();
        let stream = connection.get_ref().try_clone().unwrap();
        let sent = sent.clone();
        let writer = std::thread::spawn(move || {
            for piece in sent.as_bytes().chunks(piece) {
                (&stream).write_all(piece).unwrap();
            }
        });
        is_in_order(&mut connection, &good);
        writer.join().unwrap();
        // And the connection goes on.
        connection.get_ref().write_all(auth(GOOD).as_bytes()).unwrap();
        is_in_order(&mut connection, &[true]);
    }
}

#[test]
fn a_client_that_has_said_all_it_has_to_say_gets_its_answers() {
    let running = Running::start();
    let mut connection = running.connect();
    let sent = auth(GOOD) + &auth("Basic x") + &auth(GOOD);
    connection.get_ref().write_all(sent.as_bytes()).unwrap();
    connection.get_ref().shutdown(Shutdown::Write).unwrap();
    is_in_order(&mut connection, &[true, false, true]);
    assert_eq!(connection.read(&mut [0]).unwrap(), 0);
}

/// A body is nobody's question; one that is sent is no request either.
#[test]
fn a_body_is_never_taken_for_a_request() {
    let running = Running::start();
    let inner = auth(GOOD);
    let length = inner.len();
    let head = format!(
        "GET /_auth HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
    );
    let chunked = format!(
        "POST /_auth HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
         {length:x}\r\n{inner}\r\n0\r\n\r\n"
    );
    for sent in [head + &inner, chunked] {
        let connection = running.connect();
        connection.get_ref().write_all(sent.as_bytes()).unwrap();
        connection.get_ref().shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        connection.into_inner().read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 401 "), "{said}");
        assert_eq!(said.matches("HTTP/1.1").count(), 1, "{said}");
    }
    assert_eq!(running.counts(), [2, 0, 2]);
}

#[test]
fn nothing_that_is_sent_ends_it() {
    let mut running = Running::start();
    let huge = "x".repeat(1 << 20);
    let fields = "X: y\r\n".repeat(10_000);
    let start = "GET /_auth HTTP/1.1\r\nHost: a\r\n";
    for sent in [
        String::new(),
        "\0\0\0\0\r\n\r\n".into(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}é".into(),
        auth(&format!("Bearer {huge}")),
        auth(&"Bearer .".repeat(2000)),
        format!("{start}{fields}\r\n"),
        format!("GET /{huge} HTTP/1.1\r\n\r\n"),
        format!("{start}Content-Length: 99999999999999999999\r\n\r\n"),
        format!("{start}Content-Length: -1\r\nContent-Length: 5\r\n\r\n"),
        format!("{start}Transfer-Encoding: chunked\r\n\r\nZZ\r\n"),
        format!("{start}Authorization: \u{1}\r\n\r\n"),
        format!("{start}Upgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
        format!("{start}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"),
    ] {
        let mut connection = running.connect().into_inner();
        // It may be gone before all is written.
        let _ = connection.write_all(sent.as_bytes());
        let _ = connection.shutdown(Shutdown::Write);
        let mut said = Vec::new();
        let _ = connection.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains(" 200 "), "{said}");
    }
    // A token of 32 KiB is only a long one.
    let (head, _) = running.ask(&auth(&format!("Bearer {}", &huge[..32768])));
    assert!(head.starts_with("http/1.1 401 "), "{head}");
    let (head, _) = running.ask(&auth(GOOD));
    assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
    assert_eq!(running.child.try_wait().unwrap(), None);
}

#[test]
fn a_signal_ends_it_well_with_clients_connected() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut running = Running::start();
        let idle: Vec<_> = (0..50).map(|_| running.connect()).collect();
        for connection in &idle {
            // Half a request: it is not waited for.
            let half = &auth(GOOD)[..40];
            connection.get_ref().write_all(half.as_bytes()).unwrap();
        }
        let pid = Pid::from_child(&running.child);
        kill_process(pid, signal).unwrap();
        assert!(running.child.wait().unwrap().success());
    }
}

/// Answers are not kept back for more of a request, and not lost to a fault.
#[test]
fn what_follows_a_request_does_not_touch_its_answer() {
    let running = Running::start();
    for rest in ["GET /_au", "\0\0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
        let mut connection = running.connect();
        let sent = auth(GOOD) + rest;
        connection.get_ref().write_all(sent.as_bytes()).unwrap();
        is_in_order(&mut connection, &[true]);
    }
}

#[test]
fn there_is_a_thread_for_each_cpu_it_may_run_on() {
    let running = Running::start();
    let tasks = format!("/proc/{}/task", running.child.id());
    let cpus = std::thread::available_parallelism().unwrap().get();
    // And one that waits for signals.
    assert_eq!(std::fs::read_dir(tasks).unwrap().count(), cpus + 1);
}

#[track_caller]
fn refuses_to_start(mut command: Command, why: &str) {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("authsvc: ") && said.contains(why), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn what_it_cannot_do_it_says_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    refuses_to_start(command(&taken.to_string(), "x"), "cannot listen on");
    // Another of its own kind would share the port, and half the questions.
    let running = Running::start();
    let second = command(&running.address.to_string(), "x");
    refuses_to_start(second, "cannot listen on");
    refuses_to_start(command("nonsense", "x"), "AUTHSVC_LISTEN is `nonsense`");
    refuses_to_start(command("127.0.0.1:0", ""), "JWT_SECRET is not set");
}
