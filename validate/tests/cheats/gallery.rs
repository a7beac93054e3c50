//! Every cheat is caught by the probes made for it and by no unrelated one,
//! and every probe catches one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use profiles::verdict::{Verdict, Verdicts};
use validate::{Options, rules};

use crate::row::{self, Row};

/// Rules whose cheat is no server of the gallery: `alive.after` has a test of
/// its own in `verdicts`, those about files in the lints.
const ELSEWHERE: &[&str] = &[
    "alive.after",
    "files.read",
    "files.pinned",
    "files.expose",
    "files.privileged",
    "files.mounts",
    "files.cpus",
];

/// Probes that ask the same more than once, on purpose: for chance, or to see
/// that nothing is kept.
const REPEATS: &[(&str, &str)] = &[
    ("json.default", "two counts, for chance"),
    ("pipeline.ok", "nothing in it can be drawn, so it is asked anew"),
    ("pipeline.order", "three mixes, each drawn"),
    ("stack.static-at-edge", "an edge may keep some files and not others"),
    ("sum.percent", "two sums, for chance"),
];

/// Longer than for entries: several twins share a busy machine, and none of
/// the gallery is silent.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn options(seed: u64) -> Options<'static> {
    Options { timeout: PATIENCE, ..Options::new(seed) }
}

/// The ids of the probes that did not simply pass.
fn caught_by(verdicts: &Verdicts) -> BTreeSet<&str> {
    let missed = |v: Verdict| v.blocks() || v == Verdict::Warn;
    let probes = verdicts.probes.iter();
    probes.filter(|p| missed(p.verdict)).map(|p| &p.id[..]).collect()
}

/// What is wrong with one row, if anything.
fn check(row: &Row, verdicts: &Verdicts) -> Option<String> {
    let caught = caught_by(verdicts);
    let missed: Vec<_> =
        row.named.iter().filter(|id| !caught.contains(**id)).collect();
    if !missed.is_empty() {
        let of = verdicts
            .probes
            .iter()
            .filter(|p| missed.iter().any(|id| ***id == p.id));
        let found: Vec<_> = of.map(|p| (&p.id, p.verdict, &p.got)).collect();
        return Some(format!(
            "{}: {missed:?} did not catch it: {caught:?} {found:?}",
            row.name
        ));
    }
    let may = |id: &str| row.named.contains(&id) || row.others.contains(&id);
    let strangers: Vec<String> = verdicts
        .probes
        .iter()
        .filter(|p| caught.contains(&p.id[..]) && !may(&p.id))
        .map(|p| format!("{} ({:?}, {})", p.id, p.verdict, p.got))
        .collect();
    (!strangers.is_empty())
        .then(|| format!("{}: unrelated probes: {strangers:?}", row.name))
}

/// Works on everything of a list, four at a time; what is wrong with it.
fn each<T: Sync>(
    list: &[T],
    work: impl Fn(usize, &T) -> Option<String> + Sync,
) {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = list.get(i) else { break };
                    if let Some(why) = work(i, item) {
                        wrong.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Works on so many seeds, two at a time.
pub fn seeds(n: u64, work: impl Fn(u64) -> Option<String> + Sync) {
    let seeds: Vec<u64> = (1..=n).collect();
    each(&seeds, |_, seed| work(*seed));
}

/// `ARENA_CHEATS=Name` runs only the cheats whose name has that in it.
fn rows() -> Vec<Row> {
    let mut rows = row::all();
    if let Ok(part) = std::env::var("ARENA_CHEATS") {
        rows.retain(|row| row.name.contains(&part));
    }
    rows
}

#[test]
fn every_cheat_is_caught_by_its_probe_and_by_no_unrelated_one() {
    each(&rows(), |i, row| check(row, &row.judged(&options(100 + i as u64))));
}

#[test]
fn every_probe_has_a_cheat_and_every_cheat_a_probe() {
    let rows = row::all();
    let mut caught: BTreeSet<&str> = ELSEWHERE.iter().copied().collect();
    for row in &rows {
        assert!(!row.named.is_empty(), "{}", row.name);
        caught.extend(&row.named);
    }
    // Without a database its cheats cannot run here; that was said aloud.
    caught.extend(crate::database::probes());
    caught.extend(crate::stack::probes());
    let all: BTreeSet<&str> = rules().iter().map(|r| r.id).collect();
    let dead: Vec<_> = all.difference(&caught).collect();
    assert!(dead.is_empty(), "nothing can make these fail: {dead:?}");
    let unknown: Vec<_> = caught.difference(&all).collect();
    assert!(unknown.is_empty(), "no such probes: {unknown:?}");
    let mut names = BTreeSet::new();
    for row in &rows {
        assert!(names.insert(&row.name), "{} stands twice", row.name);
    }
}

/// The mutation test. Two mutants of each probe: one that is taken out of the
/// table, and one that is satisfied after its first question. A row of the
/// gallery must notice each, or what was taken away was of no use.
#[test]
fn no_probe_can_be_removed_or_weakened_unnoticed() {
    let rows = rows();
    let mut by_probe: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        for id in &row.named {
            by_probe.entry(id).or_default().push(row);
        }
    }
    let probes: Vec<_> = by_probe.into_iter().collect();
    each(&probes, |i, (id, rows)| mutants(id, rows, 500 + i as u64));
}

fn mutants(id: &str, rows: &[&Row], seed: u64) -> Option<String> {
    let only = Options { only: Some(id), ..options(seed) };
    // Removed: the row's own check must then fail.
    let row = rows[0];
    let mut verdicts = row.judged(&only);
    verdicts.probes.retain(|p| p.id != id);
    if check(row, &verdicts).is_none() {
        return Some(format!("{id}: removed, and nobody noticed"));
    }
    // Weakened.
    let honest = (row.honest)();
    let whole = row.replayed(&*honest, &only);
    let bad = |v: &Verdicts| !caught_by(v).is_empty();
    if bad(&whole.verdicts) {
        let found = &whole.verdicts.probes;
        return Some(format!("{id}: the honest twin fails: {found:?}"));
    }
    let weak = Options { questions: Some(1), ..only };
    let escapes = rows
        .iter()
        .any(|row| !bad(&row.replayed(&*(row.start)(), &weak).verdicts));
    let repeats = REPEATS.iter().any(|(probe, _)| *probe == id);
    match (whole.questions > 1, escapes, repeats) {
        (true, false, false) => Some(format!(
            "{id}: of its {} questions the first one is enough",
            whole.questions
        )),
        (_, true, true) => Some(format!("{id}: no repeat, after all")),
        _ => None,
    }
}
