//! How results become a ranking: the coverage-weighted geometric mean.
//!
//! An entry's result in a profile is first set in proportion to the best of
//! its league, which gives `s` in 0..=100. Over the N profiles scored for the
//! league the entry's score is then the largest value of
//! `(k / N) × geometric mean of the k best s` over all k.
//!
//! While no profile is worse than about 1/e of an entry's others, this is
//! exactly coverage × speed. A hopeless profile can never lower it, so not
//! running one never pays. Filters cannot change it, because the proportion is
//! taken to reference values of the whole league that are frozen with the
//! round, never to the visible rows.

mod board;
pub mod check;
mod input;
mod pairs;
mod reduce;
mod reference;
mod row;
mod standing;

pub use board::{Board, Options};
pub use input::{
    BoardInput, Cell, EntryInput, InputError, Metric, Missing, ProfileScoring,
    RoundValue,
};
pub use pairs::{NoiseFloor, Verdict, Verdicts, noise_floor};
pub use reference::{Reference, References};
pub use row::{Coverage, Estimate, ProfileCell, RankRange, Row, Tally};

use crate::stat;

/// Confidence of every published interval.
pub const CONFIDENCE: f64 = 0.95;
/// Expected share of wrong "faster" verdicts in one table of pairs.
pub const FALSE_DISCOVERY: f64 = 0.05;

/// `max over k of (k / of) × geometric mean of the k best`.
///
/// `None` without results, with more results than profiles, or with a value
/// that is not a positive number.
pub fn coverage_weighted(s: &[f64], of: usize) -> Option<f64> {
    if s.len() > of {
        return None;
    }
    // Refuses what has no logarithm, so that no zero or NaN gets through.
    stat::geometric_mean(s)?;
    let mut best_first = s.to_vec();
    best_first.sort_by(|a, b| b.total_cmp(a));
    let with_best = |k: usize| {
        let mean = stat::geometric_mean(&best_first[..k])?;
        Some(k as f64 / of as f64 * mean)
    };
    (1..=s.len()).filter_map(with_best).max_by(f64::total_cmp)
}

/// Geometric mean over the profiles that were run: the naive mean of ratios.
/// It says how fast, never how much was covered.
pub fn speed(s: &[f64]) -> Option<f64> {
    stat::geometric_mean(s)
}

/// Share of the profiles run times the speed in them.
pub fn coverage_times_speed(s: &[f64], of: usize) -> Option<f64> {
    (s.len() <= of).then(|| speed(s).map(|v| v * s.len() as f64 / of as f64))?
}

/// Arithmetic mean over all profiles with a zero for each that was not run.
pub fn zero_filled_mean(s: &[f64], of: usize) -> Option<f64> {
    (s.len() <= of).then(|| Some(plain_sum(s)? / of as f64))?
}

/// The plain sum that HttpArena ranks by.
pub fn plain_sum(s: &[f64]) -> Option<f64> {
    Some(stat::mean(s)? * s.len() as f64)
}
