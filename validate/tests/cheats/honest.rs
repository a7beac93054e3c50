//! The honest twin passes under every seed, and so do the servers that are
//! unusual within the law.

use std::time::Duration;

use profiles::verdict::{Verdict, Verdicts};
use validate::Options;

use crate::support::cheat::Cheat;
use crate::support::{SEVEN, Twin};

fn judged(cheat: Cheat, seed: u64) -> Verdicts {
    let timeout = Duration::from_secs(20);
    Twin::start(cheat)
        .judged(&SEVEN, &Options { timeout, ..Options::new(seed) })
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
    for name in SEVEN {
        assert!(verdicts.passes(&name.parse().unwrap()), "{name}");
    }
}

#[test]
fn the_honest_twin_passes_under_twenty_seeds() {
    for seed in 1..=20 {
        all_pass(&judged(Cheat::Honest, seed));
    }
}

#[test]
fn servers_that_are_unusual_within_the_law_pass() {
    for cheat in [Cheat::Unusual, Cheat::Curt] {
        all_pass(&judged(cheat, 31));
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
