//! The gun at servers that answer rightly, in every legal way.

use super::peer::{self, measured, ok};
use super::peer::{BASELINE, Conn, JSON, LIMITED, PIPELINED, Peer, UPLOAD};
use super::{bare, spec};
use profiles::data::Dataset;
use profiles::sample::Sample;

/// All went well, and something went.
#[track_caller]
fn is_clean(sample: &Sample) {
    assert!(sample.right > 0, "{sample:?}");
    let bad = sample.wrong + sample.faulted() + sample.timed_out;
    assert_eq!((bad, sample.surplus), (0, 0), "{:?}", sample.examples);
    assert_eq!(sample.statuses.keys().collect::<Vec<_>>(), [&200]);
    assert_eq!(sample.connect_errors.len(), 0);
}

#[test]
fn a_right_server_gets_clean_books() {
    let peer = Peer::right();
    let sample = measured(&spec(BASELINE, peer.addr, 5));
    is_clean(&sample);
    assert_eq!(peer.accepted(), 5);
    assert_eq!((sample.connections_made, sample.reconnects), (5, 0));
    assert!(sample.warmup_right > 0);
    assert_eq!(sample.per_connection.silent, 0);
    assert_eq!(sample.threads.len(), 2);
    assert!(sample.threads.iter().all(|t| t.cpu_ns > 0));
    assert!(sample.unanswered <= 5);
    assert!(sample.latency.is_consistent());
}

#[test]
fn the_mix_is_drawn_per_request_on_each_connection() {
    let sample = measured(&spec(BASELINE, Peer::right().addr, 1));
    is_clean(&sample);
    let sent: Vec<u64> = sample.classes.values().map(|c| c.sent).collect();
    assert_eq!(sent.len(), 3);
    // 300 of them are a third each but for chance; a split by connection
    // would give all to one.
    let least = sample.sent / 6;
    assert!(sample.sent < 60 || sent.iter().all(|n| *n > least), "{sent:?}");
}

#[test]
fn one_seed_sends_the_same_requests_again() {
    let heads = || {
        let (tell, told) = std::sync::mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        let peer = Peer::new(move |conn| {
            while let Some(request) = conn.request() {
                let _ = tell.lock().unwrap().send(request.head.clone());
                conn.answer(&request);
            }
        });
        let mut spec = bare(BASELINE, peer.addr, 1);
        spec.threads = 1;
        measured(&spec);
        told.try_iter().take(20).collect::<Vec<String>>()
    };
    let first = heads();
    assert_eq!(first, heads());
    assert!(first[0].contains("\r\nHost: "), "{first:?}");
}

#[test]
fn pipelined_requests_agree_with_the_servers_own_count() {
    let peer = Peer::right();
    let sample = measured(&bare(PIPELINED, peer.addr, 50));
    is_clean(&sample);
    assert_eq!(sample.in_flight, 16);
    assert!(sample.unanswered <= 16 * 50);
    let seen = peer.requests();
    assert!(seen <= sample.sent, "{seen} of {}", sample.sent);
    assert!(seen >= sample.right, "{seen} of {}", sample.right);
}

#[test]
fn uploads_arrive_whole_in_both_framings() {
    for framing in ["length", "chunked"] {
        let definition = UPLOAD
            .replace(&line(UPLOAD, "sizes = "), "sizes = [\"1B-3MiB\"]")
            .replace(
                &line(UPLOAD, "body = "),
                &format!("body = \"{framing}\""),
            );
        // The server's count of what it read is the answer.
        let sample = measured(&spec(&definition, Peer::right().addr, 4));
        is_clean(&sample);
        assert!(sample.sent_bytes > sample.right * 1000);
    }
}

fn line(text: &str, start: &str) -> String {
    let mut lines = text.lines().filter(|l| l.starts_with(start));
    lines.next().unwrap_or_else(|| panic!("no `{start}`")).to_string()
}

#[test]
fn json_documents_of_any_layout_are_right() {
    let dataset = Dataset::generate();
    let peer = Peer::replying(move |request| {
        let (path, m) = request.target().split_once("?m=").unwrap();
        let m: u64 = m.parse().unwrap();
        let count: usize = path.rsplit('/').next().unwrap().parse().unwrap();
        let mut items = serde_json::to_value(&dataset.0).unwrap();
        items.as_array_mut().unwrap().truncate(count);
        for item in items.as_array_mut().unwrap() {
            let number = |key: &str| item[key].as_u64().unwrap();
            let total = number("price") * number("quantity") * m;
            item["total"] = total.into();
        }
        let document = serde_json::json!({ "items": items, "count": count });
        let body = match request.number % 2 {
            0 => document.to_string(),
            _ => serde_json::to_string_pretty(&document).unwrap(),
        };
        ok(&body).replace("text/plain", "application/json")
    });
    let sample = measured(&spec(JSON, peer.addr, 3));
    is_clean(&sample);
    assert!(sample.mean_body_bytes().unwrap() > 100.0);
}

/// BC-21: an answer in two packets costs neither a fault nor a reconnect.
#[test]
fn a_last_chunk_in_its_own_packet_is_read() {
    let peer = Peer::new(|conn| {
        while let Some(request) = conn.request() {
            let body = request.right();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\
                        Transfer-Encoding: chunked\r\n\r\n";
            let n = body.len();
            conn.send(format!("{head}{n:x}\r\n{body}\r\n0\r\n"));
            if !conn.send("\r\n") {
                return;
            }
        }
    });
    let sample = measured(&spec(BASELINE, peer.addr, 4));
    is_clean(&sample);
    assert_eq!((sample.reconnects, peer.accepted()), (0, 4));
}

/// Eleven requests must never come on one connection of ten.
fn ten(conn: &mut Conn, reply: impl Fn(&mut Conn, &peer::Request)) -> usize {
    let mut served = 0;
    while let Some(request) = conn.request() {
        served += 1;
        assert!(served <= 10, "more than ten on one connection");
        reply(conn, &request);
    }
    served
}

/// BC-33 a, b: the client closes, whatever the server does.
#[test]
fn the_client_closes_after_its_requests() {
    let reconnects = |close: &'static str| {
        let peer = Peer::new(move |conn| {
            ten(conn, |conn, request| {
                let reply = ok(&request.right());
                conn.send(reply.replace("Content-Length", close));
            });
        });
        let sample = measured(&bare(LIMITED, peer.addr, 4));
        is_clean(&sample);
        assert_eq!(sample.requests_per_connection, Some(10));
        // One connection for every ten answers, but for those under way.
        let due = sample.right / 10;
        assert!(sample.reconnects.abs_diff(due) <= 4, "{sample:?}");
        // One handshake per connection may be under way at the hard stop.
        let accepted = peer.accepted() - 4;
        assert!(accepted.abs_diff(sample.reconnects) <= 4, "{accepted}");
    };
    reconnects("Content-Length");
    reconnects("X-Hint: stay\r\nContent-Length");
}

/// BC-33 b: a server that closes after each answer, and says so, is right.
#[test]
fn a_server_that_announces_its_close_is_right() {
    let peer = Peer::new(|conn| {
        if let Some(request) = conn.request() {
            let reply = ok(&request.right());
            conn.send(
                reply.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
            );
        }
    });
    let sample = measured(&spec(LIMITED, peer.addr, 3));
    is_clean(&sample);
    assert!(sample.reconnects >= sample.right - 3, "{sample:?}");
}

/// BC-33 c: an answer without a length ends where the server closes.
#[test]
fn an_answer_without_a_length_ends_with_the_connection() {
    let peer = Peer::new(|conn| {
        if let Some(request) = conn.request() {
            let body = request.right();
            conn.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
            conn.send(body);
        }
    });
    is_clean(&measured(&spec(BASELINE, peer.addr, 3)));
}

/// An ordinary close between answers costs a reconnect and nothing else,
/// when nothing is in flight.
#[test]
fn a_quiet_close_in_the_gap_is_no_fault() {
    let peer = Peer::new(|conn| {
        // The first three hang up when the gap leaves them idle.
        let wait = std::time::Duration::from_millis(20);
        let wait = (conn.number < 3).then_some(wait);
        conn.stream.set_read_timeout(wait).unwrap();
        while let Some(request) = conn.request() {
            conn.answer(&request);
        }
    });
    let mut spec = spec(BASELINE, peer.addr, 3);
    spec.gap_ns = 200 * peer::MS;
    is_clean(&measured(&spec));
    assert!(peer.accepted() >= 6);
}
