//! Mixed workloads: several request classes on one connection, databases,
//! tokens, and writers beside readers.

mod peer;
mod stack;
mod table;

use peer::{bare, measured};
use profiles::data::{Dataset, STATIC_FILES};
use profiles::sample::Sample;
use profiles::spec::{Spec, Token};
use stack::{Speaks, Stack};
use table::CRUD;

const API: &str = include_str!("../../../profiles/defs/api-4.toml");
const GATEWAY: &str = include_str!("../../../profiles/defs/gateway-64.toml");
const PRODUCTION: &str =
    include_str!("../../../profiles/defs/production-stack.toml");
const DB: &str = include_str!("../../../profiles/defs/async-db.toml");

/// Every class was asked and all of it answered right.
#[track_caller]
fn all_right(sample: &Sample) {
    let ended = sample.right + sample.unanswered;
    assert_eq!(ended, sample.sent, "{:?}", sample.examples);
    for (class, count) in &sample.classes {
        assert!(count.right > 0, "no right answer of {class}");
    }
}

/// The server counted what the gun sent, but for what was on its way.
#[track_caller]
fn agrees(sample: &Sample, stack: &Stack) {
    let seen: u64 = stack.counts().values().sum();
    let missed = sample.sent.saturating_sub(seen);
    assert!(seen <= sample.sent, "{seen} seen, {} sent", sample.sent);
    assert!(missed <= sample.unanswered, "{missed} never came");
}

#[test]
fn crud_reads_see_what_was_written_and_nothing_else() {
    let stack = Stack::start(Speaks::Http1);
    let sample = measured(&bare(CRUD, stack.addr, 8));
    all_right(&sample);
    agrees(&sample, &stack);
    assert!(sample.statuses[&201] > 0, "{:?}", sample.statuses);
    // Ids count up from the first one, each once, over both threads.
    let mut created = stack.created();
    created.sort_unstable();
    let apart = created.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(apart && created[0] >= 100_001, "{created:?}");
}

#[test]
fn a_row_nobody_wrote_is_wrong() {
    let stack = Stack::bent(Speaks::Http1, |path, body| {
        let text = String::from_utf8(body).unwrap();
        let bend = path.starts_with("/crud/items/");
        let bent = text.replace("\"active\":true", "\"active\":false");
        if bend { bent } else { text }.into_bytes()
    });
    let sample = measured(&bare(CRUD, stack.addr, 4));
    assert!(sample.wrong_by["body"] > 0, "{:?}", sample.wrong_by);
    let reads = sample.classes["read"];
    assert!(reads.right < reads.sent);
    assert!(sample.classes["list"].right > 0);
}

#[test]
fn an_api_mix_comes_in_its_shares() {
    let stack = Stack::start(Speaks::Http1);
    let sample = measured(&bare(API, stack.addr, 8));
    all_right(&sample);
    agrees(&sample, &stack);
    assert!(sample.reconnects > 0);
    let sent = |class: &str| sample.classes[class].sent as f64;
    let all = sample.sent as f64;
    // Three in eight each, and two; five standard deviations.
    for (class, share) in
        [("baseline", 0.375), ("json", 0.375), ("async-db", 0.25)]
    {
        let band = 5.0 * (share * (1.0 - share) / all).sqrt();
        let found = sent(class) / all;
        assert!((found - share).abs() < band, "{class}: {found}");
    }
}

#[test]
fn rows_of_a_range_are_right_in_any_order_and_wrong_when_one_is_twice() {
    let backwards = Stack::bent(Speaks::Http1, |_, body| {
        let mut value: serde_json::Value =
            serde_json::from_slice(&body).unwrap();
        value["items"].as_array_mut().unwrap().reverse();
        serde_json::to_vec(&value).unwrap()
    });
    all_right(&measured(&bare(DB, backwards.addr, 4)));
    let twice = Stack::bent(Speaks::Http1, |_, body| {
        let mut value: serde_json::Value =
            serde_json::from_slice(&body).unwrap();
        value["items"][1] = value["items"][0].clone();
        serde_json::to_vec(&value).unwrap()
    });
    let sample = measured(&bare(DB, twice.addr, 4));
    assert_eq!(sample.right, 0);
    assert!(sample.wrong_by["body"] > 0);
}

/// A spec that finds the static files, too.
fn with_files(spec: Spec) -> (tempfile::TempDir, Spec) {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("static");
    std::fs::create_dir(&folder).unwrap();
    for file in &STATIC_FILES {
        std::fs::write(folder.join(file.name), file.contents()).unwrap();
    }
    let dataset = Dataset::generate().to_bytes();
    std::fs::write(data.path().join("dataset.json"), dataset).unwrap();
    let spec = Spec { data_dir: data.path().into(), ..spec };
    (data, spec)
}

#[test]
fn a_gateway_mix_goes_over_one_edge() {
    let stack = Stack::start(Speaks::Http2Tls);
    let (_data, spec) = with_files(bare(GATEWAY, stack.addr, 3));
    let sample = measured(&spec);
    all_right(&sample);
    agrees(&sample, &stack);
}

#[test]
fn readers_and_writers_fire_side_by_side_with_their_tokens() {
    let stack = Stack::start(Speaks::Http2Tls);
    let tokens = [(42, "a.b.c"), (43, "d.e.f"), (44, "g.h.i"), (45, "j.k.l")];
    stack.allow(&tokens);
    let token = |(user, text): &(i64, &str)| Token {
        user: *user,
        token: text.to_string(),
    };
    let (_data, spec) = with_files(bare(PRODUCTION, stack.addr, 4));
    let spec = Spec { tokens: tokens.iter().map(token).collect(), ..spec };
    let sample = measured(&spec);
    all_right(&sample);
    agrees(&sample, &stack);
    // Eight writers beside the four readers, whatever the level.
    assert_eq!(sample.connections_asked, 12);
    assert_eq!(sample.statuses[&204], sample.classes["item-write"].right);
    // The server takes one user's token no more: only his answers are wrong.
    stack.allow(&tokens[1..]);
    let sample = measured(&spec);
    assert!(sample.wrong_by["status"] > 0);
    assert!(sample.statuses[&401] > 0 && sample.right > 0);
}
