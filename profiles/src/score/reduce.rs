//! From rounds and levels to one number per entry and profile.

use std::collections::BTreeMap;

use super::input::{
    BoardInput, Cell, EntryInput, Metric, Missing, ProfileScoring, RoundValue,
};
use crate::stat;

/// One entry's result in one profile, before it is set against the best.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reduced {
    /// Geometric mean over the levels of the median over rounds. For
    /// [`Metric::RateBySize`] still without the factor b².
    pub x: f64,
    /// The same per round, for rounds in which every level has a value.
    pub rounds: BTreeMap<u32, f64>,
    /// Mean encoded body bytes: geometric mean over levels of the medians.
    pub body_bytes: Option<f64>,
}

pub(super) type Outcome = Result<Reduced, Missing>;

/// Outcomes by entry, then by profile; both in the order of names.
pub(super) type Outcomes = BTreeMap<String, BTreeMap<String, Outcome>>;

/// Reduces all cells that the board scores.
pub(super) fn reduce(input: &BoardInput) -> Outcomes {
    let of_entry = |entry: &EntryInput| {
        let outcome =
            |p: &ProfileScoring| (p.name.clone(), one_profile(entry, p));
        input.profiles.iter().map(outcome).collect()
    };
    input.entries.iter().map(|e| (e.id.clone(), of_entry(e))).collect()
}

fn one_profile(entry: &EntryInput, profile: &ProfileScoring) -> Outcome {
    let levels: Vec<_> = profile
        .levels
        .iter()
        .map(|&level| one_level(entry.cell(&profile.name, level), profile))
        .collect();
    // A level that failed is a failed profile, not a smaller average.
    if let Some(worst) = levels.iter().filter_map(|l| l.as_ref().err()).min() {
        return Err(*worst);
    }
    let levels: Vec<Reduced> = levels.into_iter().flatten().collect();
    across(&levels).ok_or(Missing::Failed)
}

/// One level: the median over rounds. A rate of zero, or one that is not a
/// number, is no measurement but a failure.
fn one_level(cell: &Cell, profile: &ProfileScoring) -> Outcome {
    let values = match cell {
        Cell::Missing(state) => return Err(*state),
        Cell::Rounds(values) if values.is_empty() => {
            return Err(Missing::NotRunYet);
        }
        Cell::Rounds(values) => values,
    };
    let level = || {
        let mut rounds = BTreeMap::new();
        let mut sizes = Vec::new();
        for value in values {
            rounds.insert(value.round, own_number(value, profile.metric)?);
            sizes.extend(value.body_bytes);
        }
        let numbers: Vec<f64> = rounds.values().copied().collect();
        let x = stat::median(&numbers)?;
        Some(Reduced { x, rounds, body_bytes: stat::median(&sizes) })
    };
    level().ok_or(Missing::Failed)
}

fn own_number(value: &RoundValue, metric: Metric) -> Option<f64> {
    let number = match metric {
        Metric::Rate => value.rate,
        Metric::RateBySize => {
            let size = value.body_bytes.filter(|&b| b > 0.0)?;
            value.rate / (size * size)
        }
    };
    (number > 0.0 && number.is_finite()).then_some(number)
}

/// The geometric mean over levels, as a whole and round by round.
fn across(levels: &[Reduced]) -> Option<Reduced> {
    let mean = |number: &dyn Fn(&Reduced) -> Option<f64>| {
        let row: Option<Vec<f64>> = levels.iter().map(number).collect();
        stat::geometric_mean(&row?)
    };
    let in_round = |&round: &u32| {
        Some((round, mean(&|level| level.rounds.get(&round).copied())?))
    };
    Some(Reduced {
        x: mean(&|level| Some(level.x))?,
        rounds: levels.first()?.rounds.keys().filter_map(in_round).collect(),
        body_bytes: mean(&|level| level.body_bytes),
    })
}
