//! What will be fired, in which order: data, made before anything runs.
//!
//! Each round visits all cases in its own seeded order. Entries of one
//! workload stand next to each other, forwards in one round and backwards in
//! the next, so that drift falls on all alike.

mod preset;

use std::{fmt, time::Duration};

use profiles::{
    entry::Entry,
    profile::Profile,
    record::{Case, Settings},
    rng::Rng,
};

use crate::rig::Limits;

pub use preset::Preset;

/// Lane of the draws that order entries and workloads. Shots draw from lanes
/// of their own seeds.
const ORDER_LANE: u64 = 1 << 32;
/// Files the gun needs besides its connections.
const SPARE_FILES: u64 = 64;
/// Local ports left to everybody else.
const SPARE_PORTS: u32 = 1_000;
/// Start, ready check, connect and stop, as seen on a small machine.
const AROUND_A_SHOT: Duration = Duration::from_millis(300);

/// All rounds of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where all order and all requests come from.
    pub seed: u64,
    /// How long and how often.
    pub settings: Settings,
    /// The rounds.
    pub rounds: Vec<Round>,
    /// Levels per profile as planned, in the order of the profile's file.
    pub levels: Vec<(profiles::name::ProfileName, Vec<Level>)>,
    /// What was left out or cut, in words.
    pub notes: Vec<String>,
    /// How long it will take, roughly.
    pub estimate: Duration,
}

/// One pass over all cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// From 1.
    pub number: u32,
    /// In the order of firing.
    pub shots: Vec<PlannedShot>,
}

/// One connection count of one profile.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Level {
    /// Connections to open.
    pub connections: u32,
    /// The profile's own number when it was capped.
    pub capped_from: Option<u32>,
}

/// One shot to fire.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedShot {
    /// The place within the round, from 1.
    pub order: u32,
    /// What is measured.
    pub case: Case,
    /// The profile's own level when it was capped.
    pub capped_from: Option<u32>,
    /// The seed for the gun: the same for all entries of one workload and
    /// round, so that they get the same requests.
    pub seed: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct NothingToFire(pub String);

impl Plan {
    /// The plan for `entries` × `profiles` under `settings` on a rig with
    /// `limits`. Pure: the same input gives the same plan.
    pub fn new(
        entries: &[&Entry],
        profiles: &[&Profile],
        settings: Settings,
        limits: Limits,
        seed: u64,
    ) -> Result<Plan, NothingToFire> {
        // The order in which they were named says nothing.
        let mut entries = entries.to_vec();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut profiles = profiles.to_vec();
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        let mut notes = Vec::new();
        let cap = cap(&settings, limits, &mut notes);
        let mut groups = Vec::new();
        let mut planned = Vec::new();
        for profile in &profiles {
            let subscribed: Vec<&Entry> = entries
                .iter()
                .copied()
                .filter(|e| e.profiles.contains(&profile.name))
                .collect();
            if subscribed.is_empty() {
                continue;
            }
            let levels = levels(profile, &settings, cap);
            for level in &levels {
                groups.push((*profile, *level, subscribed.clone()));
            }
            planned.push((profile.name.clone(), levels));
        }
        if groups.is_empty() {
            return Err(NothingToFire(
                "nothing to fire: none of these entries subscribes to one of \
                 these profiles; see `arena list`"
                    .into(),
            ));
        }
        let mut base = Rng::new(seed, ORDER_LANE);
        for (_, _, entries) in &mut groups {
            base.shuffle(entries);
        }
        let rounds: Vec<Round> = (1..=settings.rounds)
            .map(|number| round(number, seed, groups.clone()))
            .collect();
        let estimate = estimate(&rounds, &profiles, &settings);
        Ok(Plan { seed, settings, rounds, levels: planned, notes, estimate })
    }

    /// How many shots there are in all rounds.
    pub fn shots(&self) -> usize {
        self.rounds.iter().map(|r| r.shots.len()).sum()
    }
}

fn round(
    number: u32,
    seed: u64,
    mut groups: Vec<(&Profile, Level, Vec<&Entry>)>,
) -> Round {
    let mut rng = Rng::new(seed, ORDER_LANE + u64::from(number));
    // Drawn before the shuffle: a shot's seed does not depend on its place.
    // 53 bits, so that every reader of JSON keeps them exact.
    let seeds: Vec<u64> = groups.iter().map(|_| rng.bits() >> 11).collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    rng.shuffle(&mut order);
    let mut shots = Vec::new();
    for at in order {
        let (profile, level, entries) = &mut groups[at];
        if number.is_multiple_of(2) {
            entries.reverse();
        }
        for entry in entries {
            shots.push(PlannedShot {
                order: shots.len() as u32 + 1,
                case: Case {
                    entry: entry.name.clone(),
                    profile: profile.name.clone(),
                    level: level.connections,
                },
                capped_from: level.capped_from,
                seed: seeds[at],
            });
        }
    }
    Round { number, shots }
}

/// The most connections any level may have, and why.
fn cap(settings: &Settings, limits: Limits, notes: &mut Vec<String>) -> u32 {
    let files = limits.open_files.saturating_sub(SPARE_FILES);
    let files = u32::try_from(files).unwrap_or(u32::MAX).max(1);
    let ports = limits.local_ports.saturating_sub(SPARE_PORTS).max(1);
    let wanted = settings.connections_cap.unwrap_or(u32::MAX);
    if files < wanted && files <= ports {
        notes.push(format!(
            "at most {files} connections: the limit of open files is {}; raise \
             it with `ulimit -n`",
            limits.open_files
        ));
    } else if ports < wanted && ports < files {
        notes.push(format!(
            "at most {ports} connections: {} local ports are there for one \
             address; see net.ipv4.ip_local_port_range",
            limits.local_ports
        ));
    }
    wanted.min(files).min(ports)
}

fn levels(profile: &Profile, settings: &Settings, cap: u32) -> Vec<Level> {
    let keep = settings.levels.map_or(usize::MAX, |n| n as usize);
    let mut out: Vec<Level> = Vec::new();
    for &own in profile.load.levels.iter().take(keep) {
        let connections = own.min(cap);
        if out.iter().all(|l| l.connections != connections) {
            let capped_from = (connections < own).then_some(own);
            out.push(Level { connections, capped_from });
        }
    }
    out
}

fn estimate(
    rounds: &[Round],
    profiles: &[&Profile],
    settings: &Settings,
) -> Duration {
    let window = |shot: &PlannedShot| {
        settings.window_ns.map(Duration::from_nanos).or_else(|| {
            let p = profiles.iter().find(|p| p.name == shot.case.profile)?;
            Some(p.load.window)
        })
    };
    let before = settings.warmup_ns + settings.gap_ns;
    let around = Duration::from_nanos(before) + AROUND_A_SHOT;
    rounds
        .iter()
        .flat_map(|r| &r.shots)
        .map(|s| window(s).unwrap_or_default() + around)
        .sum()
}

impl fmt::Display for Plan {
    /// One line a shot, as `arena bench --list` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, preset {}, {} rounds, {} shots, about {}",
            self.seed,
            self.settings.preset,
            self.rounds.len(),
            self.shots(),
            crate::show::time(self.estimate)
        )?;
        for round in &self.rounds {
            for shot in &round.shots {
                let PlannedShot { order, case, .. } = shot;
                write!(
                    f,
                    "{:>3} {order:>4}  {}/{}/{}",
                    round.number, case.entry, case.profile, case.level
                )?;
                if let Some(own) = shot.capped_from {
                    write!(f, " (capped from {own})")?;
                }
                writeln!(f)?;
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
