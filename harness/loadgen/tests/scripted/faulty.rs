//! The gun at servers that do not answer rightly: each gets its own line in
//! the books, and none gets a rate.

use std::net::TcpListener;

use super::peer::{BASELINE, MS, PIPELINED, Peer, UPLOAD};
use super::peer::{failed, measured, ok};
use super::{bare, spec};
use profiles::sample::{Fault, Sample};

fn faults(sample: &Sample, fault: Fault) -> u64 {
    sample.faults.get(&fault).copied().unwrap_or(0)
}

/// BC-22, first part.
#[test]
fn a_server_of_404s_has_no_rate() {
    let peer = Peer::replying(|_| ok("x").replace("200 OK", "404 Not Found"));
    let sample = measured(&spec(BASELINE, peer.addr, 4));
    assert_eq!((sample.right, sample.latency.count()), (0, 0));
    assert!(sample.wrong > 0);
    assert_eq!(sample.wrong_by["status"], sample.wrong);
    assert_eq!(sample.statuses[&404], sample.wrong);
    assert_eq!(sample.per_connection.silent, 4);
    assert!(sample.examples[0].contains("expected 200, found 404"));
}

/// BC-22, second part.
#[test]
fn half_of_the_answers_being_502_are_half_wrong() {
    let peer = Peer::replying(|request| match request.number % 2 {
        0 => ok(&request.right()),
        _ => ok("down").replace("200 OK", "502 Bad Gateway"),
    });
    let sample = measured(&bare(BASELINE, peer.addr, 1));
    assert!(sample.right > 0);
    assert!(sample.right.abs_diff(sample.wrong) <= 1, "{sample:?}");
}

/// BC-22, third part: the length is right, the status is right, one byte is
/// not.
#[test]
fn one_wrong_body_in_a_hundred_is_found() {
    let wrong = |n: u64| n % 100 == 99;
    let peer = Peer::replying(move |request| {
        let right = request.right();
        if !wrong(request.number) {
            return ok(&right);
        }
        let last = if right.ends_with('0') { "1" } else { "0" };
        ok(&format!("{}{last}", &right[..right.len() - 1]))
    });
    let sample = measured(&bare(PIPELINED_SUMS, peer.addr, 4));
    let due = (sample.right + sample.wrong) / 100;
    assert!(sample.wrong_by["body"].abs_diff(due) <= 65, "{sample:?}");
    assert!(sample.wrong > 0);
}

/// The baseline with 16 in flight: many distinct answers in little time.
const PIPELINED_SUMS: &str = BASELINE;

/// BC-25: ten fast connections must not hide ninety silent ones.
#[test]
fn silent_connections_are_counted_with_the_age_of_their_requests() {
    let peer = Peer::new(|conn| {
        let answers = conn.number < 10;
        while let Some(request) = conn.request() {
            if answers {
                conn.answer(&request);
            }
        }
    });
    let mut spec = bare(BASELINE, peer.addr, 100);
    spec.window_ns = 600 * MS;
    let sample = measured(&spec);
    assert!(sample.right > 0);
    assert_eq!(sample.per_connection.silent, 90);
    assert_eq!(sample.per_connection.median, 0);
    assert!(sample.unanswered >= 90);
    let old = sample.unanswered_age.quantile_ns(0.5).unwrap();
    assert!(old > 300 * MS, "{old}");
}

/// BC-33 d: no length and never a close.
#[test]
fn an_answer_that_never_ends_times_out() {
    let peer = Peer::new(|conn| {
        if let Some(request) = conn.request() {
            conn.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
            conn.send(request.right());
            conn.linger();
        }
    });
    let mut spec = bare(BASELINE, peer.addr, 3);
    spec.timeout_ns = 50 * MS;
    let sample = measured(&spec);
    assert_eq!(sample.right, 0);
    assert!(sample.timed_out >= 3, "{sample:?}");
    assert!(sample.reconnects >= 3);
}

#[test]
fn an_answer_beyond_the_limit_is_a_time_out_even_when_it_comes() {
    let peer = Peer::new(|conn| {
        while let Some(request) = conn.request() {
            if request.number % 2 == 0 {
                // Longer than the limit, shorter than the gun's next sweep.
                std::thread::park_timeout(std::time::Duration::from_millis(3));
            }
            conn.answer(&request);
        }
    });
    let mut spec = bare(BASELINE, peer.addr, 1);
    spec.timeout_ns = 2 * MS;
    let sample = measured(&spec);
    assert!(sample.timed_out > 0, "{sample:?}");
    let longest = sample.latency.max_ns().unwrap_or(0);
    assert!(longest <= 2 * MS + 2 * MS / 1000, "{longest}");
}

#[test]
fn surplus_answers_are_seen() {
    let peer = Peer::replying(|request| ok(&request.right()).repeat(2));
    let sample = measured(&spec(BASELINE, peer.addr, 2));
    assert!(sample.surplus > 0, "{sample:?}");
    assert!(sample.reconnects > 0);
}

#[test]
fn garbage_is_malformed_at_once_and_not_a_time_out() {
    for garbage in ["SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nbad\r\n\r\n"] {
        let peer = Peer::replying(move |_| garbage.into());
        let sample = measured(&spec(PIPELINED, peer.addr, 2));
        let malformed = faults(&sample, Fault::Malformed);
        assert!(malformed > 0 && sample.right == 0, "{sample:?}");
        // All that were in flight on the connection went with it.
        assert_eq!(malformed % 16, 0);
        assert_eq!(sample.timed_out, 0);
    }
}

#[test]
fn a_reset_is_a_reset() {
    let peer = Peer::new(|conn| {
        if conn.request().is_some() {
            let zero = Some(std::time::Duration::ZERO);
            let _ = rustix::net::sockopt::set_socket_linger(&conn.stream, zero);
        }
    });
    let sample = measured(&spec(BASELINE, peer.addr, 2));
    assert!(faults(&sample, Fault::Reset) > 0, "{sample:?}");
    assert_eq!(sample.faulted(), faults(&sample, Fault::Reset));
}

#[test]
fn a_close_before_and_in_an_answer_are_told_apart() {
    let before = Peer::new(|conn| drop(conn.request()));
    let sample = measured(&spec(BASELINE, before.addr, 2));
    assert_eq!(sample.right, 0);
    assert_eq!(sample.faulted(), faults(&sample, Fault::Closed));
    assert!(sample.faulted() > 0);

    let within = Peer::new(|conn| {
        if let Some(request) = conn.request() {
            let reply = ok(&request.right());
            conn.send(&reply[..reply.len() - 1]);
        }
    });
    let sample = measured(&spec(BASELINE, within.addr, 2));
    assert_eq!(sample.faulted(), faults(&sample, Fault::Torn), "{sample:?}");
    assert!(sample.faulted() > 0);
}

#[test]
fn pipelined_requests_behind_an_announced_close_are_faults() {
    let peer = Peer::new(|conn| {
        if let Some(request) = conn.request() {
            let reply = ok(&request.right());
            conn.send(
                reply.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
            );
            conn.linger();
        }
    });
    let sample = measured(&bare(PIPELINED, peer.addr, 2));
    let closed = faults(&sample, Fault::Closed);
    assert!(sample.right > 0 && closed > 0, "{sample:?}");
    assert_eq!(closed, sample.right * 15);
}

/// BC-01: a server that answers from the length alone gets no rate.
#[test]
fn an_answer_to_half_a_request_is_no_answer() {
    let peer = Peer::narrow(|conn| {
        if let Some(head) = conn.head() {
            let length = head.split("Content-Length: ").nth(1).unwrap();
            conn.send(ok(length.trim()));
            conn.linger();
        }
    });
    // Larger than what the kernels hold of a body nobody reads.
    let sizes = UPLOAD.lines().find(|l| l.starts_with("sizes")).unwrap();
    let definition = UPLOAD.replace(sizes, "sizes = [\"20MiB\"]");
    let sample = measured(&spec(&definition, peer.addr, 2));
    assert_eq!(sample.right, 0, "{sample:?}");
    assert!(faults(&sample, Fault::Surplus) > 0, "{sample:?}");
    assert!(sample.surplus > 0);
}

#[test]
fn a_refusing_server_fails_the_shot_with_its_errno() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = closed.local_addr().unwrap();
    drop(closed);
    let failure = failed(&spec(BASELINE, addr, 7));
    assert_eq!(failure.stage, "connect");
    assert_eq!((failure.connections_asked, failure.connections_made), (7, 0));
    assert_eq!(failure.connect_errors["ECONNREFUSED"], 7);
    assert!(failure.why.contains("7 ECONNREFUSED"), "{}", failure.why);
}

/// A server that stops listening and drops everyone in the warm-up.
#[test]
fn a_server_lost_in_the_warm_up_opens_no_window() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let all: Vec<_> = listener.incoming().take(2).collect();
        drop((listener, all));
    });
    let failure = failed(&spec(BASELINE, addr, 2));
    server.join().unwrap();
    assert_eq!(failure.stage, "warm-up");
    assert_eq!(failure.connections_made, 0);
}

/// Bytes of a stranger never reach the document unescaped or unbounded.
#[test]
fn examples_are_clean_and_short() {
    let peer = Peer::replying(|_| ok(&"\u{1b}[31m<script>".repeat(99)));
    let sample = measured(&spec(BASELINE, peer.addr, 1));
    assert!(!sample.examples.is_empty() && sample.examples.len() <= 5);
    for example in &sample.examples {
        assert!(example.chars().count() <= 300);
        assert!(!example.contains('\u{1b}'));
    }
}
