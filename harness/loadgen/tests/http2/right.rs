//! Right servers get right books.

use profiles::sample::Sample;
use profiles::spec::Spec;

use crate::peer::{bare, measured};
use crate::server::{Server, Ways};

const SUMS: &str = include_str!("../../../../profiles/defs/baseline-h2c.toml");
const JSON: &str = include_str!("../../../../profiles/defs/json-h2c.toml");
const UNARY: &str = include_str!("../../../../profiles/defs/unary-grpc.toml");
const UPLOAD: &str = include_str!("../../../../profiles/defs/upload.toml");
const STREAM: &str = include_str!("../../../../profiles/defs/stream-grpc.toml");

/// Fires at a right server: all answers are right, and the server counts as
/// many as the gun does, but for those that were in flight at the end.
#[track_caller]
fn all_right(server: &Server, spec: &Spec) -> Sample {
    let sample = measured(spec);
    assert_eq!((sample.wrong, sample.faulted()), (0, 0), "{sample:?}");
    assert_eq!((sample.surplus, sample.timed_out), (0, 0), "{sample:?}");
    assert!(sample.right > 0, "{sample:?}");
    let open = u64::from(sample.in_flight) * u64::from(spec.connections);
    assert!(sample.unanswered <= open, "{sample:?}");
    let asked = server.asked();
    let (least, most) = (sample.right, sample.sent);
    assert!((least..=most).contains(&asked), "{least} {asked} {most}");
    sample
}

#[test]
fn sums_and_documents_are_right() {
    for (definition, ways) in [
        (SUMS, Ways::default()),
        (JSON, Ways::default()),
        (JSON, Ways { piece: 1000, dates: true, ..Ways::default() }),
        (SUMS, Ways { streams: 3, dates: true, ..Ways::default() }),
    ] {
        let server = Server::new(ways);
        all_right(&server, &bare(definition, server.addr, 4));
        assert_eq!(server.connections(), 4);
    }
}

#[test]
fn calls_are_right_message_by_message() {
    let server = Server::new(Ways::default());
    let sample = all_right(&server, &bare(UNARY, server.addr, 4));
    assert_eq!(sample.messages, sample.right);
    for piece in [0, 1000] {
        let server = Server::new(Ways { piece, ..Ways::default() });
        let spec = bare(STREAM, server.addr, 2);
        let sample = all_right(&server, &spec);
        let mean = sample.messages as f64 / sample.right as f64;
        assert!((4900.0..=5100.0).contains(&mean), "{mean}");
    }
}

#[test]
fn a_server_that_refuses_and_goes_away_gets_right_books_too() {
    for ways in [
        Ways { goaway: 50, ..Ways::default() },
        Ways { goaway: 7, streams: 5, window: 4, ..Ways::default() },
    ] {
        for definition in [SUMS, UNARY] {
            let server = Server::new(ways);
            let sample = all_right(&server, &bare(definition, server.addr, 2));
            assert!(server.connections() > 2 && sample.reconnects > 0);
        }
    }
    let server = Server::new(Ways { refuse: 100, ..Ways::default() });
    let sample = all_right(&server, &bare(SUMS, server.addr, 2));
    assert!(sample.retried > 0, "{sample:?}");
}

/// Bodies of requests wait for narrow windows.
#[test]
fn bodies_of_any_size_go_through_narrow_windows() {
    let sizes = "sizes = [\"500KiB\", \"1MiB\"]";
    let line = UPLOAD.lines().find(|l| l.starts_with("sizes")).unwrap();
    let definition = UPLOAD
        .replace(line, sizes)
        .replace("\"http1\"", "\"http2-cleartext\"")
        .replace("in_flight = 1", "in_flight = 5")
        .replace("requests_per_connection = 5\n", "");
    for window in [0, 1000] {
        let server = Server::new(Ways { window, ..Ways::default() });
        all_right(&server, &bare(&definition, server.addr, 2));
    }
}
