//! The gun itself over TLS: at servers that speak it, and at those that do
//! not or not as they should.

mod peer;
mod tls_peer;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use peer::{BASELINE, Conn, LIMITED, MS, PIPELINED, Peer, UPLOAD};
use peer::{bare, failed, measured, ok, spec};
use profiles::sample::{Fault, Sample};
use profiles::spec::Spec;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use tls_peer::{config, one_of_each, over_tls, suites};

type Secure = Conn<StreamOwned<ServerConnection, TcpStream>>;

/// A server over TLS whose every connection follows the same script.
fn server(
    config: ServerConfig,
    script: impl Fn(&mut Secure) + Send + Sync + 'static,
) -> Peer {
    let config = Arc::new(config);
    Peer::new(move |conn| {
        let tls = ServerConnection::new(config.clone()).unwrap();
        let socket = conn.stream.try_clone().unwrap();
        script(&mut conn.wrapped(StreamOwned::new(tls, socket)));
    })
}

fn right(conn: &mut Secure) {
    while let Some(request) = conn.request() {
        if !conn.answer(&request) {
            return;
        }
    }
}

fn secure(mut spec: Spec) -> Spec {
    spec.definition = over_tls(&spec.definition);
    spec
}

fn faults(sample: &Sample, fault: Fault) -> u64 {
    sample.faults.get(&fault).copied().unwrap_or(0)
}

#[track_caller]
fn all_right(sample: &Sample) {
    assert!(sample.right > 0, "{sample:?}");
    assert_eq!((sample.wrong, sample.faulted(), sample.surplus), (0, 0, 0));
    assert_eq!(sample.timed_out, 0, "{sample:?}");
}

#[test]
fn both_versions_are_spoken() {
    for suite in one_of_each() {
        for definition in [BASELINE, PIPELINED] {
            let peer = server(config(&[suite]), right);
            all_right(&measured(&secure(spec(definition, peer.addr, 4))));
        }
    }
}

#[test]
fn uploads_are_sent_whole() {
    for suite in one_of_each() {
        let peer = server(config(&[suite]), right);
        all_right(&measured(&secure(bare(UPLOAD, peer.addr, 2))));
    }
}

#[test]
fn an_answer_to_half_an_upload_is_no_answer() {
    let peer = server(config(&suites()), |conn| {
        if let Some(head) = conn.head() {
            let length = head.split("Content-Length: ").nth(1).unwrap();
            conn.send(ok(length.trim()));
            // Nothing more is read until the client goes.
            let socket = conn.stream.get_ref().try_clone().unwrap();
            while socket.peek(&mut [0]).is_ok_and(|n| n > 0) {
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }
        }
    });
    let sizes = UPLOAD.lines().find(|l| l.starts_with("sizes")).unwrap();
    let definition = UPLOAD.replace(sizes, "sizes = [\"20MiB\"]");
    let sample = measured(&secure(spec(&definition, peer.addr, 2)));
    assert_eq!(sample.right, 0, "{sample:?}");
    assert!(faults(&sample, Fault::Surplus) > 0, "{sample:?}");
}

#[test]
fn every_connection_is_a_full_handshake() {
    let [full, other] = [(), ()].map(|()| Arc::new(AtomicU64::new(0)));
    let counts = [full.clone(), other.clone()];
    let peer = server(config(&suites()), move |conn| {
        if let Some(request) = conn.request() {
            let kind = conn.stream.conn.handshake_kind();
            let is_full = kind == Some(HandshakeKind::Full);
            counts[usize::from(!is_full)].fetch_add(1, Ordering::Relaxed);
            conn.answer(&request);
        }
        right(conn);
    });
    let sample = measured(&secure(bare(LIMITED, peer.addr, 2)));
    all_right(&sample);
    assert!(sample.reconnects > 0);
    assert!(full.load(Ordering::Relaxed) >= sample.reconnects);
    assert_eq!(other.load(Ordering::Relaxed), 0);
}

#[test]
fn a_server_that_speaks_no_tls_is_told_by_name() {
    let peer = Peer::new(|conn| {
        conn.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        conn.linger();
    });
    let failure = failed(&secure(spec(BASELINE, peer.addr, 3)));
    assert_eq!(failure.stage, "connect");
    assert_eq!(failure.connect_errors["the server does not speak TLS"], 3);
}

#[test]
fn a_server_of_another_protocol_is_told_by_name() {
    let mut other = config(&suites());
    other.alpn_protocols.clear();
    let peer = server(other, right);
    let failure = failed(&secure(spec(BASELINE, peer.addr, 2)));
    let why = "ALPN: offered http/1.1, the server chose none";
    assert_eq!(failure.connect_errors[why], 2);
    assert!(failure.why.contains(why), "{}", failure.why);
}

#[test]
fn a_handshake_that_stalls_or_closes_ends() {
    let silent = Peer::new(Conn::linger);
    let mut stalled = secure(spec(BASELINE, silent.addr, 2));
    stalled.connect_timeout_ns = 200 * MS;
    let failure = failed(&stalled);
    assert_eq!(failure.connect_errors["ETIMEDOUT"], 2);

    let closing = Peer::new(|conn| {
        let mut byte = [0];
        let _ = std::io::Read::read(&mut conn.stream, &mut byte);
        let _ = conn.stream.shutdown(std::net::Shutdown::Write);
        conn.linger();
    });
    let failure = failed(&secure(spec(BASELINE, closing.addr, 2)));
    assert_eq!(failure.connect_errors["closed in the handshake"], 2);
}

#[test]
fn a_close_in_mid_answer_is_torn() {
    let peer = server(config(&suites()), |conn| {
        if let Some(request) = conn.request() {
            let reply = ok(&request.right());
            conn.send(&reply[..reply.len() - 1]);
            let _ = conn.stream.flush();
        }
    });
    let sample = measured(&secure(spec(BASELINE, peer.addr, 2)));
    assert!(faults(&sample, Fault::Torn) > 0, "{sample:?}");
    assert_eq!(sample.faulted(), faults(&sample, Fault::Torn));
}
