//! What is stored: `run.json` and the lines of `samples.jsonl`.
//!
//! A record carries everything needed to audit or repeat it. Failure is a
//! record like any other. A schema number we do not know is refused by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    cpuset::CpuSet,
    name::{EntryName, ProfileName},
    profile::{Family, League, Metric},
    sample::Sample,
};

/// The schema of [`Run`] and [`Record`] this version reads and writes.
pub const RECORD_SCHEMA: u32 = 1;

/// The span in which results are comparable. A change of method starts a new
/// one; see CHANGELOG, heading Method.
pub const EPOCH: u32 = 1;

/// One entry × profile × level: the unit that gets a number.
#[derive(
    Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The contestant.
    pub entry: EntryName,
    /// The workload.
    pub profile: ProfileName,
    /// The connection count.
    pub level: u32,
}

/// A CPU set and the role it plays.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pools {
    /// CPUs of the entry.
    pub server: CpuSet,
    /// CPUs of the gun.
    pub load: CpuSet,
    /// CPUs of the sidecars.
    pub aux: CpuSet,
    /// What the machine was too small for, in words; empty is good.
    pub compromises: Vec<String>,
}

/// The machine and its state, read and never typed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// A digest of what makes results comparable: CPU, topology, memory.
    pub rig: String,
    /// The CPU's model name.
    pub cpu: String,
    /// Physical cores.
    pub cores: u32,
    /// Logical CPUs.
    pub threads: u32,
    /// Installed memory.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// The system's pretty name.
    pub os: String,
    /// Frequency governor, or `unknown`.
    pub governor: String,
    /// Boost: `on`, `off` or `unknown`.
    pub boost: String,
    /// Container engine and version, or `none`.
    pub engine: String,
    /// Compiler that built local entries.
    pub rustc: String,
    /// Settings that matter, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Load average over one minute, before the run.
    pub load_before: f64,
    /// The same after the run.
    pub load_after: Option<f64>,
    /// Foreign processes that used the CPU most before the run: name and
    /// share of one CPU.
    pub foreign: Vec<(String, f64)>,
}

/// How long and how often.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `smoke`, `quick`, `standard` or `full`.
    pub preset: String,
    /// Rounds planned.
    pub rounds: u32,
    /// Window per shot; `None` is each profile's own.
    pub window_ns: Option<u64>,
    /// Warm-up per shot.
    pub warmup_ns: u64,
    /// The gap: the gun takes all of it.
    pub gap_ns: u64,
    /// Levels per profile were cut to so many; `None` keeps all.
    pub levels: Option<u32>,
    /// Connections were capped at this; `None` is no cap.
    pub connections_cap: Option<u32>,
}

/// An entry as it took part, frozen with the run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Contestant {
    /// The entry's id.
    pub name: EntryName,
    /// The name shown. A stranger's text: escape it.
    pub display_name: String,
    /// The type's word.
    pub kind: String,
    /// Its league.
    pub league: League,
    /// Language shown. A stranger's text.
    pub language: String,
    /// Engine shown. A stranger's text.
    pub engine: String,
    /// Upstream version; empty when not given.
    pub version: String,
    /// Upstream address; empty when not given.
    pub repo: String,
    /// The digest of what was run; empty when it did not build.
    pub artifact_digest: String,
    /// The profiles it subscribes to.
    pub profiles: Vec<ProfileName>,
    /// The entry it is the same program as: an A/A pair, that tells the noise
    /// and is not ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<EntryName>,
}

/// A profile as it was fired, frozen with the run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fired {
    /// The profile's name.
    pub name: ProfileName,
    /// Its title.
    pub title: String,
    /// SHA-256 of its definition.
    pub digest: String,
    /// The family board it belongs to.
    pub family: Family,
    /// What is counted.
    pub metric: Metric,
    /// The leagues it is scored for; empty when it is not scored.
    pub leagues: Vec<League>,
    /// Whether this run could fire it.
    pub fired: bool,
    /// The levels that were planned.
    pub levels: Vec<u32>,
}

/// `run.json`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`RECORD_SCHEMA`].
    pub schema: u32,
    /// [`EPOCH`].
    pub epoch: u32,
    /// The run's id: also its folder's name.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended; `None` when it was cut off.
    pub ended_at: Option<String>,
    /// When it was gone on with after it had been cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_at: Vec<String>,
    /// Version of the arena.
    pub arena: String,
    /// Version and revision of the gun.
    pub loadgen: String,
    /// `local`, `docker`, `stack` or `fake`.
    pub host: String,
    /// The seed of the order and of every shot.
    pub seed: u64,
    /// How long and how often.
    pub settings: Settings,
    /// Who used which CPUs.
    pub pools: Pools,
    /// The machine.
    pub environment: Environment,
    /// SHA-256 of the list of data digests.
    pub data_digest: String,
    /// Who took part.
    pub entries: Vec<Contestant>,
    /// What was fired.
    pub profiles: Vec<Fired>,
}

/// What a pool of processes used over exactly the window.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// CPU time, user and system, of all its processes.
    pub cpu_ns: u64,
    /// Anonymous and kernel memory without file cache, median over the
    /// window; `None` where the system does not tell.
    pub memory_median_bytes: Option<u64>,
    /// The same, highest value seen.
    pub memory_peak_bytes: Option<u64>,
}

/// Something a reader of the number must know.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// A stable word, e.g. `client-bound`.
    pub word: String,
    /// What was seen and what to do.
    pub text: String,
    /// Whether the number may not be published.
    pub disqualifies: bool,
}

/// What the judge saw, asking on connections of its own while the gun fired.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Testimony {
    /// Questions it asked.
    pub asked: u64,
    /// Answers that were right.
    pub right: u64,
    /// The first answer that was wrong: what was asked, expected and got. A
    /// stranger's text.
    pub wrong: Option<String>,
}

/// How one shot ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Outcome {
    /// A window was measured. It may still be void.
    Measured {
        /// The gun's books.
        sample: Box<Sample>,
        /// What the entry used.
        server: Usage,
        /// What the gun used.
        load: Usage,
        /// What each sidecar, and each service of a stack, used. Services are
        /// in `server` too; sidecars are not.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        services: BTreeMap<String, Usage>,
        /// Why the number may not be used; empty is a valid shot.
        void: Vec<String>,
    },
    /// No window.
    Failed {
        /// `build`, `gate`, `start`, `ready`, `connect`, `fire`, ...
        stage: String,
        /// What happened and what to do.
        why: String,
        /// The last lines of the entry's log, capped. A stranger's text.
        log_tail: String,
    },
}

/// One line of `samples.jsonl`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`RECORD_SCHEMA`].
    pub schema: u32,
    /// The run's id.
    pub run: String,
    /// The round, from 1.
    pub round: u32,
    /// The place within the round, from 1.
    pub order: u32,
    /// What was measured.
    pub case: Case,
    /// The profile's own level when `case.level` was capped to fit the rig.
    pub capped_from: Option<u32>,
    /// When the shot began, RFC 3339, UTC.
    pub started_at: String,
    /// The digest of what was run; empty when it did not build.
    pub artifact_digest: String,
    /// SHA-256 of the profile's definition.
    pub profile_digest: String,
    /// The seed handed to the gun.
    pub seed: u64,
    /// From start to the first right kind of answer; `None` if never.
    pub ready_ns: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
    /// What the judge saw meanwhile; `None` where it did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testimony: Option<Testimony>,
}

impl Record {
    /// The sample, if the shot is valid: measured, not void, and without a
    /// disqualifying warning.
    pub fn valid(&self) -> Option<&Sample> {
        match &self.outcome {
            Outcome::Measured { sample, void, .. }
                if void.is_empty()
                    && !self.warnings.iter().any(|w| w.disqualifies) =>
            {
                Some(sample)
            }
            _ => None,
        }
    }
}
