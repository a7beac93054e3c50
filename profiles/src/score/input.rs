//! What a board is made from: values per round, and reasons for their absence.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// How a profile's own number is made from what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The rate as it is: right answers, messages or echoes per second.
    Rate,
    /// The rate × (b / own)²: own is the mean encoded body size of an answer,
    /// b the smallest such mean of the league.
    RateBySize,
}

/// One profile as this board scores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileScoring {
    /// The profile's name.
    pub name: String,
    /// Every level that an entry must pass for a valid result.
    pub levels: Vec<u32>,
    /// Which number counts.
    pub metric: Metric,
}

/// Why there is no number. Never shown or counted as zero.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    // In the order in which one level's state decides the whole profile's.
    /// The validator found a wrong answer, so nothing was fired.
    FailedValidation,
    /// It crashed, timed out or answered wrongly while under load.
    Failed,
    /// Numbers exist but contradict themselves.
    Suspect,
    /// Taken back, by its author or by us, with a reason.
    Withdrawn,
    /// The entry says that it cannot do this.
    NotSupported,
    /// The entry does not list this profile.
    NotEntered,
    /// It is due and has no result yet.
    NotRunYet,
}

/// What one round gave for one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundValue {
    /// Number of the round. Entries are compared round by round.
    pub round: u32,
    /// Right answers (messages, echoes) per second.
    pub rate: f64,
    /// Mean encoded body bytes per answer, for [`Metric::RateBySize`].
    pub body_bytes: Option<f64>,
}

/// One level of one profile of one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Measured in at least one round.
    Rounds(Vec<RoundValue>),
    /// Not measured.
    Missing(Missing),
}

/// One entry. A level without a cell counts as not run yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryInput {
    /// The entry's name; unique on a board.
    pub id: String,
    /// Cells by profile and level. Those of other profiles are ignored.
    pub cells: BTreeMap<(String, u32), Cell>,
}

/// Everything a board is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardInput {
    /// Name of the league, carried through.
    pub league: String,
    /// The profiles scored for the league.
    pub profiles: Vec<ProfileScoring>,
    /// All entries of the league: never only those that are shown.
    pub entries: Vec<EntryInput>,
}

/// Why there can be no board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Two rows would answer to one name.
    #[error("entry {0:?} stands twice on the {1} board; give it one name")]
    DuplicateEntry(String, String),
    /// A profile would count twice.
    #[error("profile {0:?} is scored twice; list it once")]
    DuplicateProfile(String),
    /// Nothing to average, or one level would weigh twice.
    #[error("profile {0:?} needs at least one level, each listed once")]
    Levels(String),
}

impl BoardInput {
    pub(super) fn check(&self) -> Result<(), InputError> {
        let mut seen = BTreeSet::new();
        for entry in &self.entries {
            if !seen.insert(&entry.id) {
                return Err(InputError::DuplicateEntry(
                    entry.id.clone(),
                    self.league.clone(),
                ));
            }
        }
        seen.clear();
        for profile in &self.profiles {
            if !seen.insert(&profile.name) {
                return Err(InputError::DuplicateProfile(profile.name.clone()));
            }
            let distinct: BTreeSet<_> = profile.levels.iter().collect();
            if distinct.is_empty() || distinct.len() != profile.levels.len() {
                return Err(InputError::Levels(profile.name.clone()));
            }
        }
        Ok(())
    }
}

impl EntryInput {
    pub(super) fn cell(&self, profile: &str, level: u32) -> &Cell {
        const ABSENT: Cell = Cell::Missing(Missing::NotRunYet);
        let key = (profile.to_owned(), level);
        self.cells.get(&key).unwrap_or(const { &ABSENT })
    }
}
