//! The honest twin passes under every seed, and so do the servers that are
//! unusual within the law.

use std::time::Duration;

use profiles::verdict::{Verdict, Verdicts};
use validate::Options;

use crate::support::cheat::Cheat;
use crate::support::{SEVEN, Twin};

fn options(seed: u64) -> Options<'static> {
    Options { timeout: Duration::from_secs(20), ..Options::new(seed) }
}

fn judged(cheat: Cheat, seed: u64) -> Verdicts {
    let verdicts = Twin::start(cheat).judged(&SEVEN, &options(seed));
    all_pass(&verdicts);
    for name in SEVEN {
        assert!(verdicts.passes(&name.parse().unwrap()), "{name}");
    }
    verdicts
}

#[track_caller]
fn all_pass(verdicts: &Verdicts) {
    for p in &verdicts.probes {
        assert_eq!(
            p.verdict,
            Verdict::Pass,
            "seed {}: {} asked {}: expected {}, got {}",
            verdicts.seed,
            p.id,
            p.asked,
            p.expected,
            p.got
        );
    }
}

#[test]
fn honest_servers_of_different_habits_pass_under_fifty_seeds() {
    let habits = [Cheat::Honest, Cheat::Unusual, Cheat::Curt];
    crate::gallery::seeds(50, |seed| {
        judged(habits[seed as usize % habits.len()], seed);
        None
    });
}

#[test]
fn servers_that_are_unusual_within_the_law_pass() {
    for cheat in [Cheat::Unusual, Cheat::Curt] {
        judged(cheat, 31);
    }
}

#[test]
fn an_entry_is_asked_only_for_what_it_subscribes_to() {
    for (name, paths) in [
        ("baseline", "/baseline11"),
        ("limited-conn", "/baseline11"),
        ("pipelined", "/pipeline"),
        ("json", "/json/"),
        ("json-comp", "/json/"),
        ("upload", "/upload"),
        ("static", "/static/"),
    ] {
        let verdicts =
            Twin::serving(Cheat::Honest, paths).judged(&[name], &options(8));
        all_pass(&verdicts);
        assert!(verdicts.passes(&name.parse().unwrap()), "{name}");
        assert!(verdicts.probes.iter().all(|p| p.profile.as_str() == name));
    }
}

#[test]
fn one_seed_asks_the_same_every_time() {
    let asked = |seed| {
        let verdicts = judged(Cheat::Honest, seed);
        verdicts.probes.into_iter().map(|p| (p.id, p.asked)).collect::<Vec<_>>()
    };
    assert_eq!(asked(5), asked(5));
    assert_ne!(asked(5), asked(6));
}
