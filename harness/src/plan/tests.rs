use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::testing::{entry, profile};

const ROOMY: Limits = Limits { open_files: 1 << 20, local_ports: 60_000 };

fn plan_of(preset: Preset, limits: Limits, seed: u64) -> Plan {
    let names = ["baseline", "upload"];
    let entries = ["a", "b", "c"].map(|n| entry(n, &names));
    let entries: Vec<_> = entries.iter().collect();
    let profiles = names.map(profile);
    let profiles: Vec<_> = profiles.iter().collect();
    Plan::new(&entries, &profiles, preset.settings(), limits, seed).unwrap()
}

fn cases(round: &Round) -> Vec<String> {
    let name = |s: &PlannedShot| {
        format!("{}/{}/{}", s.case.profile, s.case.level, s.case.entry)
    };
    round.shots.iter().map(name).collect()
}

#[test]
fn one_seed_gives_one_plan_and_another_seed_another() {
    let plan = plan_of(Preset::Quick, ROOMY, 7);
    assert_eq!(plan, plan_of(Preset::Quick, ROOMY, 7));
    assert_ne!(plan, plan_of(Preset::Quick, ROOMY, 8));
}

#[test]
fn every_round_visits_every_case_once_in_an_order_of_its_own() {
    let plan = plan_of(Preset::Full, ROOMY, 7);
    assert_eq!(plan.rounds.len(), 7);
    let all: BTreeSet<Vec<String>> = plan.rounds.iter().map(cases).collect();
    assert!(all.len() > 1, "all rounds have the same order");
    let sorted: BTreeSet<Vec<String>> = all
        .into_iter()
        .map(|mut c| {
            c.sort();
            c.dedup();
            c
        })
        .collect();
    assert_eq!(sorted.len(), 1);
    // 3 entries × (2 + 2 levels)
    assert_eq!(sorted.first().unwrap().len(), 12);
}

#[test]
fn entries_of_one_workload_are_neighbours_in_alternating_order() {
    let plan = plan_of(Preset::Standard, ROOMY, 3);
    let mut seen: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for round in &plan.rounds {
        for group in round.shots.chunks(3) {
            let key = |s: &PlannedShot| {
                format!("{}/{}", s.case.profile, s.case.level)
            };
            assert!(group.iter().all(|s| key(s) == key(&group[0])));
            assert!(group.iter().all(|s| s.seed == group[0].seed));
            let order = group.iter().map(|s| s.case.entry.to_string());
            seen.entry(key(&group[0])).or_default().push(order.collect());
        }
    }
    for orders in seen.values() {
        let mut back = orders[1].clone();
        back.reverse();
        assert_eq!(orders[0], back);
        assert_eq!(orders[0], orders[2]);
    }
}

#[test]
fn levels_are_cut_capped_and_labelled() {
    let plan = plan_of(Preset::Smoke, ROOMY, 1);
    let first = |n: usize| plan.levels[n].1.clone();
    let capped = |from| Level { connections: 16, capped_from: Some(from) };
    assert_eq!(first(0), [capped(512)]);
    assert_eq!(first(1), [capped(32)]);
    assert!(plan.notes.is_empty());
    assert!(plan.to_string().contains("baseline/16 (capped from 512)"));
}

#[test]
fn what_the_machine_cannot_open_is_capped_and_said() {
    let few = Limits { open_files: 1064, local_ports: 60_000 };
    let plan = plan_of(Preset::Standard, few, 1);
    let (own, capped) = (plan.levels[0].1[0], plan.levels[0].1[1]);
    assert_eq!(own, Level { connections: 512, capped_from: None });
    assert_eq!(capped, Level { connections: 1000, capped_from: Some(4096) });
    assert!(plan.notes[0].contains("limit of open files is 1064"));
    let few = Limits { open_files: 1 << 20, local_ports: 2000 };
    let plan = plan_of(Preset::Standard, few, 1);
    assert!(plan.notes[0].contains("2000 local ports"), "{:?}", plan.notes);
}

#[test]
fn nothing_to_fire_is_a_refusal_that_says_where_to_look() {
    let only = entry("a", &["upload"]);
    let baseline = profile("baseline");
    let settings = Preset::Quick.settings();
    let refused = Plan::new(&[&only], &[&baseline], settings, ROOMY, 1);
    assert!(refused.unwrap_err().to_string().contains("arena list"));
}

#[test]
fn the_quick_preset_of_seven_profiles_and_three_entries_fits_its_time() {
    let plan = plan_of(Preset::Quick, ROOMY, 1);
    let per_shot = plan.estimate / plan.shots() as u32;
    assert!(per_shot * 63 < Duration::from_secs(300), "{per_shot:?}");
}

#[test]
fn a_plan_prints_one_line_a_shot() {
    let entries = ["a", "b"].map(|n| entry(n, &["baseline"]));
    let entries: Vec<_> = entries.iter().collect();
    let baseline = profile("baseline");
    let mut settings = Preset::Smoke.settings();
    settings.rounds = 2;
    let few = Limits { open_files: 72, local_ports: 60_000 };
    let plan = Plan::new(&entries, &[&baseline], settings, few, 5).unwrap();
    insta::assert_snapshot!(plan.to_string(), @r"
    seed 5, preset smoke, 2 rounds, 4 shots, about 4.0 s
      1    1  a/baseline/8 (capped from 512)
      1    2  b/baseline/8 (capped from 512)
      2    1  b/baseline/8 (capped from 512)
      2    2  a/baseline/8 (capped from 512)
    note: at most 8 connections: the limit of open files is 72; raise it with `ulimit -n`
    ");
}
