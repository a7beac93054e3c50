//! Who is faster than whom, as far as the noise allows to say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::{BoardInput, InputError};
use super::reduce::reduce;
use super::reference::References;
use super::standing::Standing;
use super::{FALSE_DISCOVERY, RankRange, Tally};
use crate::stat;

/// How one entry compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Significantly faster and outside the rig's noise.
    Faster,
    /// Significantly slower and outside the rig's noise.
    Slower,
    /// The data do not tell them apart.
    Tie,
}

/// How far apart two results of the same program were on this rig, as a share
/// (0.02 is 2 %). Differences no larger than this are ties.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseFloor {
    /// In the score. `None`: no A/A pair was run, significance alone decides.
    pub score: Option<f64>,
    /// In each profile; the same holds for one that is not listed.
    pub profiles: BTreeMap<String, f64>,
}

impl NoiseFloor {
    /// The larger of both, in the score and in each profile.
    pub fn widen(&mut self, other: NoiseFloor) {
        let larger = |a: f64, b: f64| a.max(b);
        self.score = match (self.score, other.score) {
            (Some(a), Some(b)) => Some(larger(a, b)),
            (a, b) => a.or(b),
        };
        for (name, share) in other.profiles {
            let own = self.profiles.entry(name).or_insert(share);
            *own = larger(*own, share);
        }
    }
}

/// One row of a table to compare: a value per round.
pub(super) type Series = BTreeMap<u32, f64>;

/// The verdicts between all entries of one table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    ids: Vec<String>,
    /// Above the diagonal: of `ids[i]` against `ids[j]`, i < j.
    verdicts: BTreeMap<(usize, usize), Verdict>,
}

impl Verdicts {
    /// Tests every pair of rows with a paired t over the rounds they share,
    /// then holds the false discoveries of the whole table at 5 %.
    pub(super) fn of(
        rows: BTreeMap<String, Series>,
        floor: Option<f64>,
    ) -> Self {
        let (ids, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let mut tests = Vec::new();
        for i in 0..rows.len() {
            for j in i + 1..rows.len() {
                let (a, b) = in_common(&rows[i], &rows[j]);
                let test = stat::paired_t_log(&a, &b);
                tests.extend(test.map(|t| ((i, j), t)));
            }
        }
        let p: Vec<f64> = tests.iter().map(|(_, t)| t.p).collect();
        let significant = stat::benjamini_hochberg(&p, FALSE_DISCOVERY);
        let verdicts = tests
            .iter()
            .zip(significant)
            .map(|((pair, test), significant)| {
                let told_apart = significant && outside(test.ratio, floor);
                let verdict = match told_apart {
                    false => Verdict::Tie,
                    true if test.ratio > 1.0 => Verdict::Faster,
                    true => Verdict::Slower,
                };
                (*pair, verdict)
            })
            .collect();
        Self { ids, verdicts }
    }

    /// How `a` compares with `b`. `None` unless both have a result.
    pub fn get(&self, a: &str, b: &str) -> Option<Verdict> {
        let find =
            |id: &str| self.ids.binary_search_by(|x| x.as_str().cmp(id)).ok();
        let (i, j) = (find(a)?, find(b)?);
        Some(self.at(i, j))
    }

    fn at(&self, i: usize, j: usize) -> Verdict {
        let key = (i.min(j), i.max(j));
        match (self.verdicts.get(&key), i < j) {
            (Some(Verdict::Faster), true) | (Some(Verdict::Slower), false) => {
                Verdict::Faster
            }
            (Some(Verdict::Slower), true) | (Some(Verdict::Faster), false) => {
                Verdict::Slower
            }
            // No test was possible, for instance with one round.
            (Some(Verdict::Tie) | None, _) => Verdict::Tie,
        }
    }

    /// How many others each entry beats, ties with and loses to.
    pub fn tally(&self, id: &str) -> Option<Tally> {
        let i = self.ids.iter().position(|x| x == id)?;
        let mut tally = Tally::default();
        for j in (0..self.ids.len()).filter(|&j| j != i) {
            match self.at(i, j) {
                Verdict::Faster => tally.wins += 1,
                Verdict::Slower => tally.losses += 1,
                Verdict::Tie => tally.ties += 1,
            }
        }
        Some(tally)
    }

    /// The ranks that the verdicts leave open to an entry.
    pub fn rank(&self, id: &str) -> Option<RankRange> {
        let tally = self.tally(id)?;
        Some(RankRange {
            lo: 1 + tally.losses,
            hi: self.ids.len() as u32 - tally.wins,
        })
    }
}

fn in_common(a: &Series, b: &Series) -> (Vec<f64>, Vec<f64>) {
    a.iter().filter_map(|(round, &x)| Some((x, *b.get(round)?))).unzip()
}

/// Whether a ratio is larger than noise, in either direction. The margin is
/// for rounding: an A/A pair must not be separated by its own floor.
fn outside(ratio: f64, floor: Option<f64>) -> bool {
    let floor = floor.filter(|f| f.is_finite()).unwrap_or(0.0).max(0.0);
    ratio.ln().abs() > floor.ln_1p() + 1e-12
}

/// The noise floor from an A/A pair: one program entered under two names.
/// It is the largest difference of any round, so the pair itself is always a
/// tie. A name that is not on the board gives an empty floor.
pub fn noise_floor(
    input: &BoardInput,
    a: &str,
    b: &str,
) -> Result<NoiseFloor, InputError> {
    input.check()?;
    let outcomes = reduce(input);
    let references = References::from_outcomes(input, &outcomes);
    let (Some(row_a), Some(row_b)) = (outcomes.get(a), outcomes.get(b)) else {
        return Ok(NoiseFloor::default());
    };
    let mut floor = NoiseFloor {
        score: largest_difference(
            &Standing::of(row_a, &references).score_rounds(),
            &Standing::of(row_b, &references).score_rounds(),
        ),
        profiles: BTreeMap::new(),
    };
    for (name, outcome) in row_a {
        let other = row_b.get(name).and_then(|o| o.as_ref().ok());
        let (Ok(one), Some(other)) = (outcome, other) else { continue };
        let share = largest_difference(&one.rounds, &other.rounds);
        floor.profiles.extend(share.map(|share| (name.clone(), share)));
    }
    Ok(floor)
}

fn largest_difference(a: &Series, b: &Series) -> Option<f64> {
    let (a, b) = in_common(a, b);
    a.iter()
        .zip(&b)
        .map(|(x, y)| (x / y).ln().abs().exp_m1())
        .max_by(f64::total_cmp)
}
