//! Made-up rounds for the pages: a normal one, a hostile one, single ones.

#![allow(dead_code, reason = "each test file uses its own part")]

use profiles::board::Stored;
use profiles::profile::{Family, League};
use profiles::record::{Contestant, Fired, Record};

use crate::made_up::{
    case, contestant, failed, fired, measured, rounds, run, sample, warn,
};

const FIRED: [&str; 4] = ["baseline", "pipelined", "json", "static"];
pub const BOTH: [League; 2] = [League::Framework, League::Engine];

fn profiles() -> Vec<Fired> {
    let mut all: Vec<Fired> =
        FIRED.iter().map(|name| fired(name, &[512], &BOTH)).collect();
    let mut later = fired("baseline-h2", &[], &BOTH);
    later.family = Family::H2;
    all.push(later);
    all
}

fn five(rate: u64) -> [u64; 5] {
    [1000, 1012, 991, 1004, 996].map(|permille| rate * permille / 1000)
}

fn row(entry: &str, rates: [u64; 4]) -> Vec<Record> {
    let one = |(name, rate): (&&str, u64)| rounds(entry, name, &five(rate));
    FIRED.iter().zip(rates).flat_map(one).collect()
}

/// Four frameworks, two of them not to be told apart, and an engine.
pub fn normal() -> Stored {
    let mut entries = vec![
        contestant("swift-fox", "production", &FIRED),
        contestant("grey-goose", "tuned", &FIRED),
        contestant("red-panda", "production", &FIRED),
        contestant("slow-loris", "production", &FIRED[..2]),
        contestant("bare-bear", "engine", &FIRED),
    ];
    entries[2].language = "Go".into();
    entries[2].engine = "net/http".into();
    let mut records = row("swift-fox", [120_000, 400_000, 90_000, 50_000]);
    // Close to the fox in every round, now above and now below.
    let near = [100_200, 101_000, 99_400, 100_100, 99_900];
    for (name, rate) in FIRED.iter().zip([120, 400, 90, 50]) {
        let rates = near.map(|r| r * rate / 100);
        records.extend(rounds("grey-goose", name, &rates));
    }
    records.extend(row("red-panda", [60_000, 150_000, 30_000, 20_000]));
    records.extend(row("slow-loris", [10_000, 9_000, 1_000, 1_000]));
    records.retain(|record| {
        let case = &record.case;
        let (entry, name) = (case.entry.as_str(), case.profile.as_str());
        let broken = (entry == "red-panda" && name == "static")
            || (entry == "slow-loris" && (name == "json" || name == "static"));
        !broken
    });
    let at = || case("red-panda", "static", 512);
    records.extend((1..=5).map(|round| {
        failed(round, at(), "gate", "static.digest: reset.css differs")
    }));
    records.extend(row("bare-bear", [150_000, 900_000, 95_000, 60_000]));
    for record in &mut records {
        if record.case.profile.as_str() == "pipelined" {
            warn(record, "client-bound", false);
        }
    }
    let mut run = run(entries, profiles());
    run.settings.rounds = 5;
    Stored { run, records }
}

/// Texts that would take over a page that trusted them.
pub const EVIL: &str = "<img src=x onerror=alert(1)>\"'&<script>alert(2)\
                        </script>\u{202e}and sixty more characters of a name";

fn evil(mut entry: Contestant) -> Contestant {
    entry.display_name = EVIL.into();
    entry.language = EVIL.into();
    entry.engine = EVIL.into();
    entry.version = EVIL.into();
    entry.kind = EVIL.into();
    entry.repo = "javascript:alert(3)".into();
    entry
}

/// Every text of a stranger is hostile, and every reachable state occurs.
pub fn hostile() -> Stored {
    let all = ["baseline", "pipelined", "json", "static"];
    let entries = vec![
        evil(contestant("evil", "production", &all)),
        contestant(&"n".repeat(64), "tuned", &all[..3]),
        contestant("none", "production", &all),
    ];
    let mut suspect = rounds("evil", "pipelined", &[70]);
    warn(&mut suspect[0], EVIL, true);
    let mut records = rounds("evil", "baseline", &[100]);
    records.extend(suspect);
    let json = case("evil", "json", 512);
    records.push(failed(1, json, "start", EVIL));
    let files = case("evil", "static", 512);
    records.push(failed(1, files, "gate", EVIL));
    let mut zero = sample(100, 512);
    zero.right = 0;
    records.push(measured(1, case("none", "baseline", 512), zero));
    records.extend(rounds(&"n".repeat(64), "baseline", &[90]));
    let mut run = run(entries, profiles());
    run.settings.rounds = 1;
    run.environment.cpu = EVIL.into();
    run.environment.rig = EVIL.into();
    run.pools.compromises = vec![EVIL.into()];
    run.profiles[0].title = EVIL.into();
    Stored { run, records }
}
