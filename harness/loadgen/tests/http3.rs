//! The gun over HTTP/3 at right servers.

mod http3_peer;
mod peer;

use http3_peer::{BASELINE, Options, Peer, plain};
use peer::{bare, measured, spec};
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
    let sample = measured(&bare(BASELINE, peer.addr, 5));
    is_clean(&sample);
    assert_eq!(peer.counts.accepted(), 5);
    assert_eq!((sample.connections_made, sample.reconnects), (5, 0));
    assert_eq!(sample.per_connection.silent, 0);
    assert_eq!((sample.in_flight, sample.threads.len()), (64, 2));
    assert!(sample.unanswered <= 5 * 64);
    assert!(sample.engine.starts_with("quic: "), "{}", sample.engine);
    // The server's own count agrees within what was in flight.
    let seen = peer.counts.requests();
    assert!(seen <= sample.sent, "{seen} of {}", sample.sent);
    assert!(seen >= sample.right, "{seen} of {}", sample.right);
}

#[test]
fn a_warm_up_and_a_gap_go_before_the_window() {
    let peer = Peer::right();
    let sample = measured(&spec(BASELINE, peer.addr, 3));
    is_clean(&sample);
    assert!(sample.warmup_right > 0);
    assert_eq!(peer.counts.accepted(), 3);
}

#[test]
fn a_server_that_demands_a_retry_is_right() {
    let options = Options { retry: true, ..Options::default() };
    let peer = Peer::replying(options, |target, _| plain(target));
    is_clean(&measured(&spec(BASELINE, peer.addr, 3)));
    let retries = &peer.counts.retries;
    assert_eq!(retries.load(std::sync::atomic::Ordering::Relaxed), 3);
}
