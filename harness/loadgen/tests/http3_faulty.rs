//! The gun over HTTP/3 at servers that do not answer rightly: each gets its
//! own line in the books, and none gets a rate.

mod http3_peer;
mod peer;

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;

use http3_peer::raw::{Act, HELLO, RawPeer, Request, answer, frame};
use http3_peer::{BASELINE, Options, Peer, plain};
use peer::{Gun, MS, bare, failed, measured};
use profiles::sample::{Fault, Sample, Shot};

fn faults(sample: &Sample, fault: Fault) -> u64 {
    sample.faults.get(&fault).copied().unwrap_or(0)
}

/// All faults are of this kind, and there are some.
#[track_caller]
fn only(sample: &Sample, fault: Fault) -> u64 {
    let n = faults(sample, fault);
    assert!(n > 0 && n == sample.faulted(), "{sample:?}");
    n
}

/// Every tenth request meets `acts`, the others a right answer.
fn tenth(
    acts: impl Fn(&Request) -> Vec<Act> + Send + Sync + 'static,
) -> RawPeer {
    RawPeer::new(move |request| match request.number % 10 {
        9 => acts(request),
        _ => request.right(),
    })
}

#[track_caller]
fn shot_at_tenth(
    acts: impl Fn(&Request) -> Vec<Act> + Send + Sync + 'static,
) -> Sample {
    let peer = tenth(acts);
    let sample = measured(&bare(BASELINE, peer.addr, 2));
    assert!(sample.right > 0, "{sample:?}");
    assert_eq!(sample.timed_out, 0);
    sample
}

#[test]
fn scripted_right_answers_are_right() {
    let sample = shot_at_tenth(Request::right);
    assert_eq!((sample.faulted(), sample.wrong), (0, 0), "{sample:?}");
}

#[test]
fn a_stream_that_is_reset_is_a_fault_of_its_own() {
    let sample = shot_at_tenth(|_| vec![Act::Reset(0x102)]);
    only(&sample, Fault::Reset);
    assert_eq!((sample.wrong, sample.reconnects), (0, 0));
    let words = "stream reset with H3_INTERNAL_ERROR (0x102)";
    assert!(sample.examples[0].contains(words), "{sample:?}");
    // Also in mid-answer.
    let sample = shot_at_tenth(|request| {
        let part = answer(&request.target)[..8].to_vec();
        vec![Act::Send(part), Act::Reset(0x102)]
    });
    only(&sample, Fault::Reset);
}

#[test]
fn a_rejected_request_is_sent_again() {
    let sample = shot_at_tenth(|_| vec![Act::Reset(0x10b)]);
    assert_eq!((sample.wrong, sample.reconnects), (0, 0));
    assert!(sample.retried > 0, "{sample:?}");
    // Again and again is a fault.
    let peer = RawPeer::new(|_| vec![Act::Reset(0x10b)]);
    let sample = measured(&bare(BASELINE, peer.addr, 2));
    only(&sample, Fault::Refused);
    assert_eq!((sample.right, sample.wrong), (0, 0));
}

#[test]
fn stop_sending_alone_takes_no_answer_away() {
    for code in [0, 0x100, 0x10c] {
        let sample = shot_at_tenth(move |request| {
            let mut acts = request.right();
            acts.insert(0, Act::Stop(code));
            acts
        });
        assert_eq!(sample.faulted(), 0, "{code}: {sample:?}");
    }
}

#[test]
fn a_length_that_lies_is_a_fault() {
    for lie in ["123456", "1"] {
        let sample = shot_at_tenth(move |request| {
            let right = http3_peer::sum(&request.target).to_string();
            let mut bytes = answer(lie);
            bytes.truncate(bytes.len() - lie.len() - 2);
            bytes.extend(frame(0, right.as_bytes()));
            vec![Act::Send(bytes), Act::Finish]
        });
        only(&sample, Fault::Malformed);
        assert_eq!(sample.reconnects, 0);
    }
}

#[test]
fn a_wrong_body_is_wrong() {
    let sample = shot_at_tenth(|_| vec![Act::Send(answer("1")), Act::Finish]);
    assert_eq!(sample.faulted(), 0);
    let ended = sample.right + sample.wrong;
    assert_eq!(sample.wrong_by["body"], sample.wrong);
    assert!(sample.wrong.abs_diff(ended / 10) <= 128, "{sample:?}");
}

#[test]
fn a_stream_counts_only_at_its_end() {
    let peer = tenth(|request| {
        let mut acts = request.right();
        acts[1] = Act::Hang;
        acts
    });
    let mut spec = bare(BASELINE, peer.addr, 2);
    (spec.timeout_ns, spec.window_ns) = (300 * MS, 1000 * MS);
    let sample = measured(&spec);
    assert_eq!((sample.faulted(), sample.wrong), (0, 0), "{sample:?}");
    assert!(sample.right > 0 && sample.timed_out > 0, "{sample:?}");
    // The others on the connection live on.
    assert_eq!(sample.reconnects, 0);
}

#[test]
fn broken_frames_take_the_connection_with_them() {
    let sample = shot_at_tenth(|_| vec![Act::Send(frame(4, b""))]);
    only(&sample, Fault::Malformed);
    assert!(sample.reconnects > 0);
}

#[test]
fn a_connection_closed_in_mid_run_is_a_fault_and_opened_again() {
    for (code, fault) in [(0x100, Fault::Closed), (0x102, Fault::Reset)] {
        let peer = RawPeer::new(move |request| match request.index {
            200 => vec![Act::Close(code)],
            _ => request.right(),
        });
        let sample = measured(&bare(BASELINE, peer.addr, 2));
        only(&sample, fault);
        assert!(sample.right > 0 && sample.reconnects > 0, "{sample:?}");
    }
    let peer = RawPeer::new(|request| match request.index {
        100..130 => [&request.right()[..1], &[Act::Hang]].concat(),
        400 => vec![Act::Close(0x100)],
        _ => request.right(),
    });
    let sample = measured(&bare(BASELINE, peer.addr, 2));
    assert!(faults(&sample, Fault::Torn) > 0, "{sample:?}");
}

/// What the server will not look at goes out again, and nothing is lost.
#[test]
fn a_server_that_goes_away_gets_its_requests_back() {
    let peer = RawPeer::new(|request| {
        // From the fortieth on none is looked at; those before are answered.
        match request.index {
            39 => {
                let mut acts = vec![Act::Control(frame(7, &[0x40, 160]))];
                acts.extend(request.right());
                acts
            }
            40.. => vec![Act::Hang],
            _ => request.right(),
        }
    });
    let sample = measured(&bare(BASELINE, peer.addr, 2));
    assert_eq!((sample.faulted(), sample.wrong), (0, 0), "{sample:?}");
    assert!(sample.right > 80 && sample.reconnects > 1, "{sample:?}");
    assert!(sample.retried > 0);
}

#[test]
fn a_server_that_falls_silent_times_out() {
    let peer = RawPeer::new(|request| match request.number {
        500 => vec![Act::Vanish],
        _ => request.right(),
    });
    let mut spec = bare(BASELINE, peer.addr, 2);
    (spec.timeout_ns, spec.window_ns) = (200 * MS, 1000 * MS);
    let sample = measured(&spec);
    assert!(sample.right > 0 && sample.timed_out > 0, "{sample:?}");
    assert_eq!(sample.wrong, 0);
}

/// BC-28: answers that never come are unanswered, with their ages, and the
/// window is as long as it was.
#[test]
fn slow_last_streams_are_unanswered_with_their_ages() {
    let peer = tenth(|_| vec![Act::Hang]);
    let mut spec = bare(BASELINE, peer.addr, 2);
    spec.window_ns = 400 * MS;
    let sample = measured(&spec);
    assert!(sample.unanswered > 0 && sample.right > 0);
    assert_eq!((sample.faulted(), sample.timed_out), (0, 0));
    let oldest = sample.unanswered_age.max_ns().unwrap();
    // Ages are kept to within a hundredth.
    let most = sample.window_ns / 100 * 101;
    assert!(oldest > 100 * MS && oldest <= most, "{sample:?}");
    assert!(sample.window_ns < 1000 * MS, "{sample:?}");
    let seen = peer.counts.requests();
    assert!(seen <= sample.sent && seen >= sample.right, "{seen}");
}

#[test]
fn no_more_streams_are_open_than_the_server_allows() {
    let options = Options { streams: 5, ..Options::default() };
    let unis = vec![HELLO.to_vec()];
    let peer = RawPeer::with(options, unis, |request| match request.index {
        20.. => vec![Act::Hang],
        _ => request.right(),
    });
    let sample = measured(&bare(BASELINE, peer.addr, 3));
    assert_eq!((sample.faulted(), sample.wrong), (0, 0), "{sample:?}");
    // 20 answered and 5 open on each, and no request was sent beyond.
    assert_eq!((sample.right, sample.unanswered), (60, 15), "{sample:?}");
    assert_eq!((sample.sent, peer.counts.requests()), (75, 75));
}

#[test]
fn the_client_closes_after_its_requests() {
    let definition =
        BASELINE.replace("[load]", "[load]\nrequests_per_connection = 10");
    let peer = Peer::right();
    let sample = measured(&bare(&definition, peer.addr, 4));
    assert_eq!((sample.faulted(), sample.wrong), (0, 0), "{sample:?}");
    let due = sample.right / 10;
    assert!(sample.reconnects.abs_diff(due) <= 8, "{sample:?}");
}

#[test]
fn an_answer_before_the_request_is_sent_in_full_is_surplus() {
    let definition = BASELINE
        .replace("ask = \"sum\"", "ask = \"upload\"")
        .replace("path = \"/baseline2\"", "sizes = [\"1MiB\"]")
        .replace("operands = \"1-9999\"", "body = \"length\"")
        .replace("in_flight = 64", "in_flight = 1");
    let right = |_: &str, body: &[u8]| {
        let text = body.len().to_string();
        let kind = ("content-type", "text/plain".to_string());
        (200, vec![kind], text.into())
    };
    let options = Options { window: Some(70_000), ..Options::default() };
    let peer = Peer::replying(options.clone(), right);
    let sample = measured(&bare(&definition, peer.addr, 2));
    assert!(sample.right > 0, "{sample:?}");
    assert_eq!((sample.faulted(), sample.wrong), (0, 0), "{sample:?}");
    let addr = http3_peer::raw::early(options, answer("1048576"));
    let sample = measured(&bare(&definition, addr, 2));
    let surplus = only(&sample, Fault::Surplus);
    assert_eq!((sample.right, sample.surplus), (0, surplus));
}

#[test]
fn servers_of_another_version_are_asked_in_theirs() {
    let versions = Some(vec![0xff00_001d]);
    let options = Options { versions, ..Options::default() };
    let peer = Peer::replying(options, |target, _| plain(target));
    let sample = measured(&bare(BASELINE, peer.addr, 3));
    assert!(sample.right > 0);
    assert_eq!(sample.faulted(), 0, "{sample:?}");
}

/// RFC 9000 section 6.2: one that lists the version in use is no answer.
#[test]
fn a_version_negotiation_that_cannot_be_meant_is_passed_over() {
    let peer = Peer::right();
    let proxy = negotiating(peer.addr);
    let sample = measured(&bare(BASELINE, proxy, 2));
    assert!(sample.right > 0);
    assert_eq!(sample.faulted(), 0, "{sample:?}");
}

/// Answers the first datagram of every client with a version negotiation
/// that names version 1, and hands on what comes later.
fn negotiating(server: SocketAddr) -> SocketAddr {
    let front = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = front.local_addr().unwrap();
    thread::spawn(move || {
        let mut backs: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
        let said = Mutex::new(Vec::new());
        let mut buffer = [0; 65_536];
        while let Ok((n, client)) = front.recv_from(&mut buffer) {
            let packet = &buffer[..n];
            let (dcid, rest) = cid(&packet[5..]);
            if packet[0] & 0x80 != 0 && !said.lock().unwrap().contains(&dcid) {
                let (scid, _) = cid(rest);
                let mut reply = vec![0xc0, 0, 0, 0, 0];
                for id in [&scid, &dcid] {
                    reply.push(id.len() as u8);
                    reply.extend_from_slice(id);
                }
                reply.extend([0, 0, 0, 1, 0x1a, 0x2a, 0x3a, 0x4a]);
                front.send_to(&reply, client).unwrap();
                said.lock().unwrap().push(dcid);
                continue;
            }
            let back = backs.entry(client).or_insert_with(|| {
                let back = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
                back.connect(server).unwrap();
                let (from, to) = (back.clone(), front.try_clone().unwrap());
                thread::spawn(move || {
                    let mut buffer = [0; 65_536];
                    while let Ok(n) = from.recv(&mut buffer) {
                        let _ = to.send_to(&buffer[..n], client);
                    }
                });
                back
            });
            let _ = back.send(packet);
        }
    });
    addr
}

/// A connection id with its length before it, and the rest.
fn cid(bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let len = usize::from(bytes[0]).min(bytes.len() - 1);
    (bytes[1..1 + len].to_vec(), &bytes[1 + len..])
}

#[track_caller]
fn no_window(addr: SocketAddr, error: &str) {
    let mut spec = bare(BASELINE, addr, 3);
    spec.connect_timeout_ns = 500 * MS;
    let failure = failed(&spec);
    assert_eq!(
        (failure.stage.as_str(), failure.connections_made),
        ("connect", 0)
    );
    let errors: Vec<_> = failure.connect_errors.into_iter().collect();
    assert_eq!(errors, [(error.to_string(), 3)]);
}

#[test]
fn handshakes_that_come_to_nothing_are_named() {
    // Nobody listens.
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    no_window(free, "ECONNREFUSED");
    // Somebody does, and says nothing.
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    no_window(mute.local_addr().unwrap(), "ETIMEDOUT");
    // Another protocol.
    let options = Options { alpn: "hq", ..Options::default() };
    let peer = Peer::replying(options, |target, _| plain(target));
    let alpn = "no_application_protocol, no ALPN in common (0x178)";
    no_window(peer.addr, &format!("closed with {alpn}"));
    // Versions that nobody speaks.
    let versions = Some(vec![0x1a2a_3a4a]);
    let options = Options { versions, ..Options::default() };
    let peer = Peer::replying(options, |target, _| plain(target));
    no_window(peer.addr, "no common QUIC version");
    // QUIC, but no settings; then broken ones.
    let settings = |unis: Vec<Vec<u8>>| {
        RawPeer::with(Options::default(), unis, Request::right).addr
    };
    no_window(settings(vec![]), "ETIMEDOUT");
    let why = "the control stream does not begin with SETTINGS";
    no_window(settings(vec![vec![0, 7, 1, 0]]), why);
    let why = "a second control or QPACK stream";
    no_window(settings(vec![vec![0, 4, 0], vec![0]]), why);
}

#[test]
fn a_signal_stops_a_shot_that_waits() {
    let peer = RawPeer::new(|_| vec![Act::Hang]);
    let mut spec = bare(BASELINE, peer.addr, 2);
    spec.window_ns = 30_000 * MS;
    let mut gun = Gun::start(&spec);
    gun.until_open();
    let pid = rustix::process::Pid::from_raw(gun.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    match gun.shot() {
        Shot::Failed(failure) => assert_eq!(failure.stage, "interrupted"),
        Shot::Measured(sample) => panic!("a window: {sample:?}"),
    }
}

#[test]
fn an_idle_connection_that_the_server_drops_is_no_fault() {
    let options = Options { idle_ms: Some(400), ..Options::default() };
    let peer = Peer::replying(options, |target, _| plain(target));
    let mut spec = peer::spec(BASELINE, peer.addr, 3);
    spec.gap_ns = 1_600 * MS;
    let sample = measured(&spec);
    assert!(sample.right > 0);
    assert_eq!(sample.faulted(), 0, "{sample:?}");
    assert!(peer.counts.accepted.load(Ordering::Relaxed) >= 6);
}
