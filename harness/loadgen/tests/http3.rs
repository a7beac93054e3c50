//! The gun over HTTP/3 at right servers.

mod http3_peer;
mod peer;

use http3_peer::{BASELINE, Options, Peer, plain};
use peer::{bare, measured, spec};
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

#[test]
fn documents_of_many_packets_are_right_with_and_without_a_length() {
    let definition = BASELINE
        .replace("ask = \"sum\"", "ask = \"json\"")
        .replace("path = \"/baseline2\"", "path = \"/json/\"")
        .replace("operands = \"1-9999\"", "counts = [\"1-50\"]");
    let dataset = Dataset::generate();
    let peer = Peer::replying(Options::default(), move |target, _| {
        let count: usize = target.rsplit('/').next().unwrap().parse().unwrap();
        let mut items = serde_json::to_value(&dataset.0).unwrap();
        items.as_array_mut().unwrap().truncate(count);
        for item in items.as_array_mut().unwrap() {
            let number = |key: &str| item[key].as_u64().unwrap();
            item["total"] = (number("price") * number("quantity")).into();
        }
        let document = serde_json::json!({ "items": items, "count": count });
        let body = document.to_string();
        let mut fields = vec![("content-type", "application/json".to_string())];
        if count.is_multiple_of(2) {
            fields.push(("content-length", body.len().to_string()));
        }
        (200, fields, body.into())
    });
    let sample = measured(&spec(&definition, peer.addr, 3));
    is_clean(&sample);
    assert!(sample.mean_body_bytes().unwrap() > 1000.0);
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let peer = Peer::right();
    let mut spec = bare(BASELINE, peer.addr, 3);
    spec.rate_per_s = Some(500.0);
    let sample = measured(&spec);
    is_clean(&sample);
    let open = sample.open_loop.as_ref().unwrap();
    assert_eq!(open.offered, 150);
    assert_eq!(open.offered - open.unsent, sample.sent, "{sample:?}");
    assert!(peer.counts.requests() <= 150);
}
