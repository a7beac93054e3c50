//! One row of the board: the numbers, and how sure they are.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::CONFIDENCE;
use super::input::Missing;
use super::pairs::Series;
use crate::stat::{self, Range};

/// The ranks an entry may hold: a range, since noise allows no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankRange {
    /// 1 + the entries that are significantly faster.
    pub lo: u32,
    /// All entries − those that are significantly slower.
    pub hi: u32,
}

/// A published number with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// From the medians over rounds.
    pub centre: f64,
    /// Student t on the logarithms, 95 %, widened to hold the centre if need
    /// be. `None` with fewer than two rounds.
    pub interval: Option<Range>,
    /// Rounds that have all the values this number needs.
    pub rounds: u32,
}

/// How much of the board an entry ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Profiles with a valid result.
    pub ran: u32,
    /// Profiles scored for the league.
    pub of: u32,
}

/// Comparisons with all other ranked entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Significantly faster than these many.
    pub wins: u32,
    /// Not told apart from these many.
    pub ties: u32,
    /// Significantly slower than these many.
    pub losses: u32,
}

/// One profile of one row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ProfileCell {
    /// A valid result.
    Measured {
        /// The profile's own number.
        number: f64,
        /// The same in per cent of the best of the league.
        s: Estimate,
        /// The ranks it may hold in this profile alone.
        rank: RankRange,
    },
    /// No valid result.
    Missing {
        /// The reason.
        reason: Missing,
    },
}

/// One entry on the board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The entry's name.
    pub entry: String,
    /// `None`: no valid result at all, so it is not ranked.
    pub rank: Option<RankRange>,
    /// The coverage-weighted geometric mean.
    pub score: Option<Estimate>,
    /// Geometric mean over what it ran, also known as the naive mean.
    pub speed: Option<f64>,
    /// How much it ran.
    pub coverage: Coverage,
    /// Arithmetic mean with zeros for what it did not run. Only to compare.
    pub zero_filled_mean: Option<f64>,
    /// The sum HttpArena would rank by. Only to compare.
    pub plain_sum: Option<f64>,
    /// Best and worst place in the order of scores when any one profile is
    /// left out. `None` on a board of one profile.
    pub sensitivity: Option<RankRange>,
    /// Comparisons with all others by score.
    pub tally: Option<Tally>,
    /// Every scored profile, by name.
    pub profiles: BTreeMap<String, ProfileCell>,
}

impl Estimate {
    pub(super) fn new(centre: f64, rounds: &Series) -> Self {
        let values: Vec<f64> = rounds.values().copied().collect();
        let interval = stat::t_interval_log(&values, CONFIDENCE)
            .map(|r| Range { lo: r.lo.min(centre), hi: r.hi.max(centre) });
        Self { centre, interval, rounds: values.len() as u32 }
    }

    /// No score is above 100, so no interval needs to say that it might be.
    pub(super) fn within_the_scale(mut self) -> Self {
        if let Some(interval) = &mut self.interval {
            interval.hi = interval.hi.min(100.0_f64.max(self.centre));
        }
        self
    }
}

/// Best score first, then by name; those without a score last.
pub(super) fn by_score(a: &Row, b: &Row) -> Ordering {
    let centre = |row: &Row| row.score.map_or(f64::NEG_INFINITY, |s| s.centre);
    centre(b).total_cmp(&centre(a)).then_with(|| a.entry.cmp(&b.entry))
}
