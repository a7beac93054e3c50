//! Reference values: what 100 means in a round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::{BoardInput, InputError, Metric};
use super::reduce::{Outcomes, Reduced, reduce};

/// What 100 means in one profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The best number of the league.
    pub best: f64,
    /// The smallest mean encoded body size of the league, for profiles whose
    /// number depends on it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smallest_body_bytes: Option<f64>,
}

/// Reference values by profile. They are computed once over all entries of a
/// league, stored with the round, and frozen with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct References(pub BTreeMap<String, Reference>);

impl References {
    /// The reference values of these results.
    pub fn of(input: &BoardInput) -> Result<Self, InputError> {
        input.check()?;
        Ok(Self::from_outcomes(input, &reduce(input)))
    }

    /// The values of one profile, unless they come from a file that holds
    /// what nothing can be divided by.
    pub(super) fn usable(&self, profile: &str) -> Option<&Reference> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        self.0.get(profile).filter(|r| {
            positive(r.best) && r.smallest_body_bytes.is_none_or(positive)
        })
    }

    pub(super) fn from_outcomes(input: &BoardInput, all: &Outcomes) -> Self {
        let mut references = BTreeMap::new();
        for profile in &input.profiles {
            let valid = || {
                all.values()
                    .filter_map(|row| row.get(&profile.name)?.as_ref().ok())
            };
            let smallest_body_bytes = match profile.metric {
                Metric::Rate => None,
                Metric::RateBySize => {
                    valid().filter_map(|r| r.body_bytes).min_by(f64::total_cmp)
                }
            };
            let reference = Reference { best: 0.0, smallest_body_bytes };
            let best = valid()
                .map(|reduced| reference.number(reduced))
                .max_by(f64::total_cmp);
            if let Some(best) = best {
                let reference = Reference { best, ..reference };
                references.insert(profile.name.clone(), reference);
            }
        }
        Self(references)
    }
}

impl Reference {
    /// b² where the profile has it; a constant for the whole league.
    fn factor(&self) -> f64 {
        self.smallest_body_bytes.map_or(1.0, |b| b * b)
    }

    /// The profile's own number of one entry.
    pub(super) fn number(&self, reduced: &Reduced) -> f64 {
        reduced.x * self.factor()
    }

    /// `s`: 100 for the best. Capped, so that a result added after the values
    /// were frozen cannot break the scale.
    pub(super) fn share(&self, reduced: &Reduced) -> f64 {
        (100.0 * self.number(reduced) / self.best).min(100.0)
    }

    /// `s` of each round. Not capped: the reference is a median, so the best
    /// entry's good rounds lie above it, and cutting them would bias the
    /// comparison.
    pub(super) fn round_shares(&self, reduced: &Reduced) -> BTreeMap<u32, f64> {
        let scale = 100.0 * self.factor() / self.best;
        reduced.rounds.iter().map(|(&r, &x)| (r, x * scale)).collect()
    }
}
