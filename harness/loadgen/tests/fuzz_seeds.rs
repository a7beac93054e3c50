//! The seeds of the fuzz targets, and whatever input once broke one, run in
//! every test run; `scripts/fuzz.sh` goes on from them.

mod fuzzed;

use std::fs;
use std::path::Path;

use fuzzed::{Grpc, H1, H2, RIGHT, Ws};

/// Runs every file of a target's corpus, and says which one fails.
#[track_caller]
fn seeds(target: &str, check: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut count = 0;
    for file in fs::read_dir(root.join(target)).unwrap() {
        let path = file.unwrap().path();
        let script = fs::read(&path).unwrap();
        let run = std::panic::catch_unwind(|| check(&script));
        assert!(run.is_ok(), "{}", path.display());
        count += 1;
    }
    assert!(count > 20, "{target} has {count} seeds");
}

#[test]
fn every_seed_of_http1_gives_one_outcome_in_any_pieces() {
    seeds("http1", fuzzed::check::<H1>);
}

#[test]
fn every_seed_of_http2_gives_one_outcome_in_any_pieces() {
    seeds("http2", fuzzed::check_http2);
}

#[test]
fn every_seed_of_websocket_gives_one_outcome_in_any_pieces() {
    seeds("websocket", fuzzed::check::<Ws>);
}

/// Else the seeds would try little.
#[test]
fn right_answers_in_a_script_are_right() {
    let three = [RIGHT; 3];
    assert_eq!(fuzzed::right::<H1>(&three), 3);
    assert_eq!(fuzzed::right::<H2>(&three), 3);
    assert_eq!(fuzzed::right::<Grpc>(&three), 3);
    assert_eq!(fuzzed::right::<Ws>(&three), 3);
}
