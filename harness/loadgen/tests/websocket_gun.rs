//! The real gun at WebSocket servers: one that others wrote, and some that
//! do it wrong.

mod peer;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use peer::ws::{self, ECHO, ECHOES, close, frame, ping, text};
use peer::{Gun, MS, Peer, bare, failed, measured, spec};
use profiles::sample::{Fault, Sample, Shot};
use profiles::spec::Engine;
use tungstenite::Message;

/// An echo server of a well-kept library; counts the messages it answered.
fn well_kept() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let echoed = Arc::new(AtomicU64::new(0));
    let count = echoed.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = count.clone();
            thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                let Ok(mut socket) = tungstenite::accept(stream) else {
                    return;
                };
                while let Ok(message) = socket.read() {
                    if let Message::Text(_) = message {
                        count.fetch_add(1, Ordering::Relaxed);
                        if socket.send(message).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    (addr, echoed)
}

fn faults(sample: &Sample, fault: Fault) -> u64 {
    sample.faults.get(&fault).copied().unwrap_or(0)
}

#[track_caller]
fn all_right(sample: &Sample) {
    assert!(sample.right > 0, "{sample:?}");
    let bad = (sample.wrong, sample.faulted(), sample.timed_out);
    assert_eq!((bad, sample.surplus), ((0, 0, 0), 0), "{sample:?}");
    assert_eq!(sample.statuses[&101], sample.right);
    assert_eq!(sample.per_connection.silent, 0, "{sample:?}");
}

#[test]
fn a_well_kept_server_and_the_gun_count_the_same() {
    for (definition, connections, in_flight) in
        [(ECHO, 1, 1), (ECHO, 60, 1), (ECHOES, 1, 16), (ECHOES, 30, 16)]
    {
        let (addr, echoed) = well_kept();
        let sample = measured(&bare(definition, addr, connections));
        all_right(&sample);
        assert_eq!(sample.in_flight, in_flight);
        let theirs = echoed.load(Ordering::Relaxed);
        let most = u64::from(connections * in_flight);
        assert!(sample.right <= theirs, "{theirs} {sample:?}");
        assert!(theirs <= sample.right + most, "{theirs} {sample:?}");
        // Four to eight letters each.
        assert!(sample.right_body_bytes >= 4 * sample.right);
        assert!(sample.right_body_bytes <= 8 * sample.right);
    }
}

#[test]
fn an_open_loop_is_kept() {
    let (addr, _) = well_kept();
    let mut spec = bare(ECHOES, addr, 4);
    spec.rate_per_s = Some(2000.0);
    let sample = measured(&spec);
    all_right(&sample);
    let open = sample.open_loop.unwrap();
    assert_eq!(open.offered, sample.sent + open.unsent);
    assert!(open.offered > 0 && open.pacing.count() == sample.sent);
}

#[test]
fn messages_of_every_length_form_come_back() {
    let (addr, _) = well_kept();
    for sizes in ["0B-1B", "100B-200B", "65530B-65540B"] {
        let definition = ECHO.replace("4B-8B", sizes);
        all_right(&measured(&bare(&definition, addr, 2)));
    }
}

#[test]
fn pings_are_answered_with_many_messages_in_flight() {
    let peer = ws::peer(|conn| {
        let mut pings = 0u64;
        while let Some(message) = conn.message() {
            let (a, b) = message.split_at(1);
            let payload = pings.to_be_bytes();
            let reply =
                [frame(0x01, a), ping(&payload), frame(0x80, b)].concat();
            if !conn.send(reply) {
                return;
            }
            pings += 1;
        }
    });
    all_right(&measured(&bare(ECHOES, peer.addr, 3)));

    // One message in flight: the pong must come before the next one.
    let peer = ws::peer(|conn| {
        while let Some((first, payload)) = conn.frame() {
            assert_eq!(first, 0x81);
            conn.send(ping(&payload));
            let Some(pong) = conn.frame() else { return };
            let right = pong == (0x8a, payload.clone());
            if !right || !conn.send(text(&payload)) {
                return;
            }
        }
    });
    all_right(&measured(&bare(ECHO, peer.addr, 3)));
}

/// BC-13: five messages in, one frame out.
#[test]
fn joined_and_reversed_echoes_are_wrong() {
    let joined = ws::peer(|conn| {
        while let Some(first) = conn.message() {
            let mut all = first;
            for _ in 1..16 {
                let Some(next) = conn.message() else { return };
                all.extend_from_slice(&next);
            }
            conn.send(text(&all));
        }
    });
    let sample = measured(&bare(ECHOES, joined.addr, 2));
    assert_eq!((sample.right, sample.wrong), (0, 2), "{sample:?}");
    assert_eq!(sample.wrong_by["body"], 2);
    assert_eq!(sample.statuses[&101], 2);

    let reversed = ws::peer(|conn| {
        while let Some(one) = conn.message() {
            let Some(two) = conn.message() else { return };
            conn.send([text(&two), text(&one)].concat());
        }
    });
    let sample = measured(&bare(ECHOES, reversed.addr, 2));
    assert!(sample.wrong > 0 && sample.right < sample.wrong, "{sample:?}");
}

#[test]
fn wrong_echoes_are_wrong_and_the_rest_goes_on() {
    let peer = ws::replying(|message| ws::binary(&message));
    let sample = measured(&spec(ECHO, peer.addr, 2));
    assert!(sample.right == 0 && sample.wrong > 10, "{sample:?}");
    assert!(sample.examples[0].contains("binary"), "{:?}", sample.examples);

    let peer = ws::replying(|mut message| {
        if message[0] == b'a' {
            message[1] = b'!';
        }
        text(&message)
    });
    let sample = measured(&spec(ECHO, peer.addr, 2));
    assert!(sample.wrong > 0 && sample.right > sample.wrong, "{sample:?}");
    assert_eq!(sample.reconnects, 0);
}

#[test]
fn a_second_echo_is_surplus() {
    let peer = ws::replying(|message| text(&message).repeat(2));
    let sample = measured(&spec(ECHO, peer.addr, 2));
    assert!(sample.surplus > 0 && sample.reconnects > 0, "{sample:?}");
}

#[test]
fn a_masked_echo_is_malformed_at_once() {
    let peer = ws::replying(|message| {
        let mut frame = vec![0x81, 0x80 | message.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(&message);
        frame
    });
    let sample = measured(&spec(ECHOES, peer.addr, 2));
    let malformed = faults(&sample, Fault::Malformed);
    assert!(malformed > 0 && sample.right == 0, "{sample:?}");
    assert_eq!((malformed % 16, sample.timed_out), (0, 0));
}

#[test]
fn closes_of_every_kind_are_told_apart_and_survived() {
    // With a frame, after a hundred echoes; the client's answer is awaited.
    let polite = ws::peer(|conn| {
        for _ in 0..100 {
            let Some(message) = conn.message() else { return };
            conn.send(text(&message));
        }
        if conn.message().is_some() {
            conn.send(close(&[3, 233]));
        }
        while let Some((first, payload)) = conn.frame() {
            if first == 0x88 {
                assert_eq!(payload, [3, 233]);
                return;
            }
        }
    });
    let sample = measured(&bare(ECHO, polite.addr, 3));
    assert!(sample.reconnects > 0 && sample.right > 100, "{sample:?}");
    assert_eq!(sample.faulted(), faults(&sample, Fault::Closed));
    // Every connection but the last three is closed with one in flight.
    assert!(sample.faulted().abs_diff(sample.reconnects) <= 3, "{sample:?}");
    assert!(sample.surplus == 0 && sample.timed_out == 0, "{sample:?}");

    // Without one, in mid-frame.
    let torn = ws::peer(|conn| {
        if let Some(message) = conn.message() {
            conn.send(&text(&message)[..4]);
        }
    });
    let sample = measured(&spec(ECHO, torn.addr, 2));
    assert_eq!(sample.faulted(), faults(&sample, Fault::Torn), "{sample:?}");
    assert!(sample.faulted() > 0 && sample.right == 0);

    // Half: the server only stops sending.
    let half = ws::peer(|conn| {
        if let Some(message) = conn.message() {
            conn.send(text(&message));
            let _ = conn.stream.shutdown(std::net::Shutdown::Write);
            conn.linger();
        }
    });
    let sample = measured(&spec(ECHO, half.addr, 2));
    assert!(sample.right > 0 && sample.reconnects > 0, "{sample:?}");
    assert_eq!(sample.faulted(), faults(&sample, Fault::Closed));

    let reset = ws::peer(|conn| {
        if conn.message().is_some() {
            let zero = Some(Duration::ZERO);
            let _ = rustix::net::sockopt::set_socket_linger(&conn.stream, zero);
        }
    });
    let sample = measured(&spec(ECHO, reset.addr, 2));
    assert_eq!(sample.faulted(), faults(&sample, Fault::Reset), "{sample:?}");
    assert!(sample.faulted() > 0);
}

#[test]
fn a_server_that_falls_silent_is_a_time_out_for_all_in_flight() {
    let peer = ws::peer(|conn| {
        if let Some(message) = conn.message() {
            conn.send(text(&message));
            conn.linger();
        }
    });
    let mut spec = bare(ECHOES, peer.addr, 2);
    spec.timeout_ns = 50 * MS;
    let sample = measured(&spec);
    assert!(sample.timed_out >= 32, "{sample:?}");
    assert!(sample.right > 0 && sample.reconnects > 0, "{sample:?}");

    spec.timeout_ns = 5_000 * MS;
    let sample = measured(&spec);
    assert_eq!((sample.right, sample.unanswered), (2, 32), "{sample:?}");
}

/// The last tenth of the gap is there for that.
#[test]
fn connections_are_replaced_and_greeted_in_the_gap() {
    for engine in [Engine::Epoll, Engine::Auto] {
        let greeted = Arc::new(Mutex::new(Vec::new()));
        let moments = greeted.clone();
        let peer = Peer::new(move |conn| {
            if conn.number < 4 {
                conn.upgraded();
            } else if conn.head().is_some() {
                moments.lock().unwrap().push(Instant::now());
            }
            conn.linger();
        });
        let mut spec = spec(ECHO, peer.addr, 4);
        (spec.engine, spec.threads) = (engine, 1);
        spec.gap_ns = 400 * MS;
        let mut gun = Gun::start(&spec);
        gun.until_open();
        let open = Instant::now();
        let Shot::Measured(sample) = gun.shot() else { panic!("no window") };
        assert_eq!(sample.warmup_unanswered, 4);
        let greeted = greeted.lock().unwrap();
        assert_eq!(greeted.len(), 4);
        assert!(greeted.iter().all(|at| *at < open), "{engine:?}");
    }
}

#[test]
fn a_connection_that_is_limited_is_closed_by_the_client() {
    let (addr, _) = well_kept();
    let definition = ECHOES.replace(
        "in_flight = 16",
        "in_flight = 4\nrequests_per_connection = 10",
    );
    let sample = measured(&bare(&definition, addr, 2));
    assert!(sample.right > 20 && sample.reconnects > 1, "{sample:?}");
    assert_eq!((sample.wrong, sample.faulted()), (0, 0), "{sample:?}");
    // Each connection brought ten, but for the last two.
    let brought = 10 * (sample.reconnects + 2);
    assert!(brought - sample.right <= 20, "{sample:?}");
}

#[test]
fn an_upgrade_that_is_not_made_fails_the_shot_with_words() {
    let says = |peer: Peer, words: &str| {
        let failure = failed(&spec(ECHO, peer.addr, 3));
        assert_eq!(
            (&failure.stage[..], failure.connections_made),
            ("connect", 0)
        );
        assert_eq!(failure.connect_errors[words], 3, "{failure:?}");
    };
    let answering = |change: fn(String) -> String| {
        Peer::new(move |conn| {
            if let Some(asked) = conn.head() {
                conn.send(change(ws::switching(&asked)));
                conn.linger();
            }
        })
    };
    says(
        answering(|_| peer::ok("no sockets here")),
        "the upgrade was answered with status 200, expected 101",
    );
    says(
        answering(|right| right.replace("Accept: ", "Accept: A")),
        "Sec-WebSocket-Accept does not fit the key",
    );
    says(
        answering(|_| "SSH-2.0-OpenSSH\r\n".into()),
        "the first line is not an HTTP/1 status line",
    );
    says(
        answering(|right| right + "\u{1}\u{3}abc"),
        "bytes came that nothing had asked for",
    );
    says(Peer::new(|conn| drop(conn.head())), "closed in the handshake");

    let silent = Peer::new(|conn| conn.linger());
    let mut spec = spec(ECHO, silent.addr, 3);
    spec.connect_timeout_ns = 200 * MS;
    assert_eq!(failed(&spec).connect_errors["ETIMEDOUT"], 3);
}
