//! What else runs on this machine, just before it is measured.

use std::{collections::BTreeMap, thread, time::Duration};

use crate::watch::proc::{self, Stat, TICK_NS};

/// Long enough for a share of a few per cent in ticks of 10 ms.
const LOOK: Duration = Duration::from_millis(400);
/// How many processes are named.
const NAMED: usize = 5;
/// Below this share of one CPU nothing is named.
const WORTH_NAMING: f64 = 0.02;
/// Above this share of one CPU, all named together, the user is told.
const WORTH_A_NOTE: f64 = 0.10;

/// The busiest processes other than ours: name and share of one CPU. Takes
/// a moment.
pub fn foreign() -> Vec<(String, f64)> {
    let before = ticks();
    thread::sleep(LOOK);
    busiest(&before, &ticks(), proc::name)
}

/// One line when others use so much that shots will be marked noisy.
pub fn note(foreign: &[(String, f64)]) -> Option<String> {
    let total: f64 = foreign.iter().map(|(_, share)| share).sum();
    (total > WORTH_A_NOTE).then(|| {
        let one = |(name, share): &(String, f64)| {
            format!("{name} {:.0} %", share * 100.0)
        };
        let names: Vec<String> = foreign.iter().map(one).collect();
        format!(
            "this machine is busy ({} of a cpu); close what you can, or shots \
             will be marked noisy",
            names.join(", ")
        )
    })
}

fn ticks() -> BTreeMap<(i32, u64), u64> {
    let me = std::process::id() as i32;
    proc::all()
        .into_iter()
        .filter(|pid| *pid != me)
        .filter_map(|pid| {
            let stat = Stat::of(pid)?;
            Some(((pid, stat.start), stat.ticks))
        })
        .collect()
}

fn busiest(
    before: &BTreeMap<(i32, u64), u64>,
    after: &BTreeMap<(i32, u64), u64>,
    name: impl Fn(i32) -> String,
) -> Vec<(String, f64)> {
    let mut found: Vec<(i32, f64)> = after
        .iter()
        .map(|(key, now)| {
            let then = before.get(key).copied().unwrap_or(0);
            let used = now.saturating_sub(then) * TICK_NS;
            (key.0, used as f64 / LOOK.as_nanos() as f64)
        })
        .filter(|(_, share)| *share >= WORTH_NAMING)
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(NAMED);
    let round = |share: f64| (share * 100.0).round() / 100.0;
    found.into_iter().map(|(pid, s)| (name(pid), round(s))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_noted_with_names_and_a_quiet_one_is_not() {
        let busy = [("cc".to_string(), 0.9), ("make".to_string(), 0.05)];
        let text = note(&busy).unwrap();
        assert!(text.contains("(cc 90 %, make 5 % of a cpu)"), "{text}");
        assert_eq!(note(&busy[1..]), None);
    }

    #[test]
    fn the_busiest_come_first_and_the_idle_are_not_named() {
        let before = BTreeMap::from([((1, 9), 100), ((2, 9), 0), ((4, 1), 50)]);
        let after = BTreeMap::from([
            ((1, 9), 100),
            ((2, 9), 40),
            ((3, 9), 20),
            // A new process under an old number.
            ((4, 7), 4),
        ]);
        let found = busiest(&before, &after, |pid| pid.to_string());
        let expected = [("2", 1.0), ("3", 0.5), ("4", 0.1)];
        assert_eq!(found, expected.map(|(n, s)| (n.to_string(), s)));
    }
}
