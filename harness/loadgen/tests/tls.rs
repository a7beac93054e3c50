//! One connection over TLS against a real server's record layer: whatever
//! the version, the suite and the cuts, the books are those of the plain
//! protocol.

mod peer;
mod tls_peer;

use std::sync::Arc;

use loadgen::session::{Over, Session as _};
use loadgen::wire::Why;
use peer::{BASELINE, PIPELINED};
use profiles::sample::Fault;
use tls_peer::{Tally, Wire, answers, config, one_of_each, plan, suites};

const BAD_MAC: Over =
    Over::Broken(Why::Protocol("a TLS record does not decrypt (bad MAC)"));

#[test]
fn every_version_and_suite_gives_right_answers() {
    for suite in suites() {
        for (definition, n) in [(BASELINE, 1), (PIPELINED, 16)] {
            let plan = plan(definition);
            let mut wire = Wire::up(&plan, &Arc::new(config(&[suite])));
            for _ in 0..20 {
                let replies = answers(&wire.ask());
                let words = wire.say(&replies);
                assert_eq!(wire.feed(&words, usize::MAX), None, "{suite:?}");
            }
            assert_eq!(wire.end(Over::Stopped), Tally::right(20 * n));
        }
    }
}

#[test]
fn a_handshake_goes_on_at_every_cut() {
    let plan = plan(BASELINE);
    for suite in one_of_each() {
        let config = Arc::new(config(&[suite]));
        for size in [1, 2, 7, 100, 1000] {
            let mut wire = Wire::down(&plan, &config);
            assert_eq!(wire.greet(size), None);
            assert!(wire.session.is_ready(), "{suite:?} by {size}");
            let reply = answers(&wire.ask());
            let words = wire.say(&reply);
            assert_eq!(wire.feed(&words, size), None);
            assert_eq!(wire.end(Over::Stopped), Tally::right(1));
        }
    }
}

/// How a reply ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The connection stays.
    Open,
    /// With `close_notify`.
    Notified,
    /// With the socket alone.
    Cut,
}

/// The books of one request answered by `reply` in records of at most
/// `record` bytes: the same at every cut and byte by byte.
#[track_caller]
fn books(reply: fn(&str) -> String, end: End, expected: &Tally) {
    let plan = plan(BASELINE);
    for (suite, record) in one_of_each().into_iter().zip([None, Some(48)]) {
        let mut server = config(&[suite]);
        server.max_fragment_size = record;
        let server = Arc::new(server);
        let mut at = 0;
        loop {
            let mut wire = Wire::up(&plan, &server);
            let reply = reply(&answers(&wire.ask()));
            let mut words = wire.say(&reply);
            if end == End::Notified {
                wire.server.send_close_notify();
                words.extend(wire.words());
            }
            let over = if at == 0 {
                wire.feed(&words, 1)
            } else {
                let (a, b) = words.split_at(at);
                wire.feed(a, usize::MAX).or_else(|| wire.feed(b, usize::MAX))
            };
            let found = match over {
                Some(over) => wire.end(over),
                None if end == End::Open => wire.end(Over::Stopped),
                None => wire.close(),
            };
            assert_eq!(&found, expected, "{suite:?}, cut at {at}: {reply:?}");
            at += 1;
            if at >= words.len() {
                break;
            }
        }
    }
}

#[test]
fn a_right_answer_is_right_at_every_cut() {
    books(str::to_string, End::Open, &Tally::right(1));
}

#[test]
fn an_answer_without_a_length_needs_a_close_notify() {
    let bare = |reply: &str| {
        let (head, body) = reply.split_once("Content-Length").unwrap();
        format!("{head}\r\n{}", body.split_once("\r\n\r\n").unwrap().1)
    };
    books(bare, End::Notified, &Tally::right(1));
    books(bare, End::Cut, &Tally::default().and(Fault::Torn));
}

#[test]
fn a_close_in_an_answer_is_torn_and_before_it_closed() {
    let half = |reply: &str| reply[..reply.len() - 1].to_string();
    books(half, End::Notified, &Tally::default().and(Fault::Torn));
    books(half, End::Cut, &Tally::default().and(Fault::Torn));
    let none = |_: &str| String::new();
    books(none, End::Notified, &Tally::default().and(Fault::Closed));
}

#[test]
fn broken_and_wrong_answers_are_what_they_are_in_the_clear() {
    let garbage = |_: &str| "SSH-2.0-OpenSSH\r\n".to_string();
    books(garbage, End::Open, &Tally::default().and(Fault::Malformed));
    let wrong = |_: &str| peer::ok("nothing");
    let tally = Tally { sent: 1, wrong: 1, ..Tally::default() };
    books(wrong, End::Open, &tally);
}

/// The words of a fault are the last example.
#[track_caller]
fn last_words(wire: &Wire, part: &str) {
    let last = wire.desk.books.examples.last().unwrap();
    assert!(last.contains(part), "{last}");
}

#[test]
fn a_changed_byte_breaks_the_stream() {
    let plan = plan(BASELINE);
    for suite in suites() {
        let server = Arc::new(config(&[suite]));
        for from_end in [1, 20] {
            let mut wire = Wire::up(&plan, &server);
            let reply = answers(&wire.ask());
            let mut words = wire.say(&reply);
            let at = words.len() - from_end;
            words[at] ^= 1;
            assert_eq!(wire.feed(&words, 40), Some(BAD_MAC));
            let tally = Tally::default().and(Fault::Malformed);
            assert_eq!(wire.end(BAD_MAC), tally);
            last_words(&wire, "bad MAC");
        }
    }
}

#[test]
fn no_changed_byte_gives_a_right_answer() {
    let plan = plan(BASELINE);
    for suite in one_of_each() {
        let server = Arc::new(config(&[suite]));
        let mut at = 0;
        loop {
            let mut wire = Wire::up(&plan, &server);
            let reply = answers(&wire.ask());
            let mut words = wire.say(&reply);
            if at == words.len() {
                break;
            }
            words[at] ^= 0x80;
            let over = wire.feed(&words, usize::MAX);
            let tally = wire.end(over.unwrap_or(Over::Stopped));
            assert_eq!(tally.right, 0, "{suite:?} at {at}");
            // Only a length can be taken for one whose rest is missing.
            assert!(over.is_some() || (3..5).contains(&at), "{at}");
            at += 1;
        }
    }
}

#[test]
fn bytes_that_are_no_records_break_the_stream_at_once() {
    for bytes in [&b"H"[..], &[23, 2], &[23, 3, 3, 0xff, 0xff], &[20, 3, 3]] {
        let server = Arc::new(config(&one_of_each()[..1]));
        let mut wire = Wire::up(&plan(BASELINE), &server);
        wire.ask();
        let mut all = bytes.to_vec();
        all.extend([0, 1, 1]);
        let whole = wire.feed(&all, usize::MAX);
        assert!(matches!(whole, Some(Over::Broken(_))), "{bytes:?}");
        let mut wire = Wire::up(&plan(BASELINE), &server);
        wire.ask();
        assert_eq!(wire.feed(&all, 1), whole, "{bytes:?}");
    }
}

#[test]
fn new_keys_are_taken_and_given_in_mid_stream() {
    let plan = plan(PIPELINED);
    let server = Arc::new(config(&one_of_each()[..1]));
    for size in [1, 30, usize::MAX] {
        let mut wire = Wire::up(&plan, &server);
        for round in 0..6 {
            let replies = answers(&wire.ask());
            let (first, second) = replies.split_at(100);
            let mut words = wire.say(first);
            // Twice before we can answer: one answer is enough.
            wire.server.refresh_traffic_keys().unwrap();
            words.extend(wire.words());
            wire.server.refresh_traffic_keys().unwrap();
            words.extend(wire.say(second));
            assert_eq!(wire.feed(&words, size), None, "{round}");
            assert_eq!(wire.flush(), 5 + 5 + 1 + 16);
        }
        assert_eq!(wire.end(Over::Stopped), Tally::right(6 * 16));
    }
}

#[test]
fn a_fatal_alert_is_named() {
    for suite in one_of_each() {
        let server = Arc::new(config(&[suite]));
        let mut wire = Wire::up(&plan(BASELINE), &server);
        wire.ask();
        // It cannot read this, and says so.
        wire.hear(&[23, 3, 3, 0, 40]);
        wire.hear(&[0; 40]);
        let words = wire.words();
        let over = wire.feed(&words, 1).unwrap();
        let tally = wire.end(over);
        assert_eq!(tally, Tally::default().and(Fault::Malformed));
        last_words(&wire, "TLS alert: bad_record_mac");
    }
}

#[test]
fn an_answer_to_half_a_record_is_early() {
    let server = Arc::new(config(&one_of_each()[..1]));
    let mut wire = Wire::up(&plan(BASELINE), &server);
    let Wire { session, desk, kit, now, .. } = &mut wire;
    session.fill(*now, desk, kit);
    session.wrote(3, *now, desk);
    let words = wire.say(&peer::ok("3"));
    let over = wire.feed(&words, usize::MAX).unwrap();
    assert_eq!(over, Over::Broken(Why::Early));
    let tally = wire.end(over);
    let surplus = Tally { surplus: 1, ..Tally::default() };
    assert_eq!(tally, surplus.and(Fault::Surplus));
}

/// A server may speak before it heard our last word.
#[test]
fn what_comes_with_the_handshake_is_heard() {
    let mut server = config(&one_of_each()[..1]);
    server.send_half_rtt_data = true;
    let mut wire = Wire::down(&plan(BASELINE), &Arc::new(server));
    let Wire { session, desk, kit, now, .. } = &mut wire;
    session.open(*now, desk, kit).unwrap();
    wire.flush();
    let mut words = wire.words();
    words.extend(wire.say("unasked"));
    assert_eq!(wire.feed(&words, usize::MAX), Some(Over::Surplus));
    assert_eq!(wire.desk.books.surplus, 1);
}

#[test]
fn a_session_begins_anew_with_new_keys() {
    let plan = plan(BASELINE);
    let server = Arc::new(config(&suites()));
    let mut wire = Wire::up(&plan, &server);
    let reply = answers(&wire.ask());
    let words = wire.say(&reply);
    // Half a record is left, half a request is not sent.
    assert_eq!(wire.feed(&words[..30], usize::MAX), None);
    wire.close();
    let fresh = Wire::down(&plan, &server);
    wire.server = fresh.server;
    assert_eq!(wire.greet(usize::MAX), None);
    assert_eq!(wire.server.handshake_kind(), Some(rustls::HandshakeKind::Full));
    let reply = answers(&wire.ask());
    let words = wire.say(&reply);
    assert_eq!(wire.feed(&words, usize::MAX), None);
    let tally = wire.end(Over::Stopped);
    assert_eq!(tally, Tally::right(1).and(Fault::Closed));
}

#[test]
fn a_server_without_the_protocol_is_refused_by_name() {
    let refused = |protocols: &[&str]| {
        let mut server = config(&suites());
        server.alpn_protocols =
            protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        let mut wire = Wire::down(&plan(BASELINE), &Arc::new(server));
        match wire.greet(usize::MAX) {
            Some(Over::Broken(why)) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&[]), "ALPN: offered http/1.1, the server chose none");
    assert_eq!(
        refused(&["h2"]),
        "the server's TLS alert: no_application_protocol"
    );
}

/// It could save itself the signature otherwise.
#[test]
fn a_server_without_its_certificates_key_is_refused() {
    use aws_lc_rs::encoding::AsDer as _;
    use rustls::crypto::aws_lc_rs::sign::any_supported_type;
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    let size = aws_lc_rs::rsa::KeySize::Rsa2048;
    let other = aws_lc_rs::rsa::KeyPair::generate(size).unwrap();
    let der = other.as_der().unwrap().as_ref().to_vec();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(der).into();
    let key = any_supported_type(&key).unwrap();
    let (chain, _) = tls_peer::identity();
    for suite in one_of_each() {
        let mut server = config(&[suite]);
        let key = CertifiedKey::new(chain.clone(), key.clone());
        server.cert_resolver = Arc::new(SingleCertAndKey::from(key));
        let mut wire = Wire::down(&plan(BASELINE), &Arc::new(server));
        let why = "the server does not hold its certificate's key";
        let over = Some(Over::Broken(Why::Protocol(why)));
        assert_eq!(wire.greet(usize::MAX), over);
    }
}
