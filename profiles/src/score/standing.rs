//! One entry's valid results, each with what 100 means for it.

use std::collections::BTreeMap;

use super::coverage_weighted;
use super::pairs::Series;
use super::reduce::{Outcome, Reduced};
use super::reference::{Reference, References};

/// The valid results of one entry, each with what 100 means for it.
pub(super) struct Standing<'a> {
    /// Profiles scored for the league.
    pub of: usize,
    /// By profile.
    pub valid: BTreeMap<&'a str, (&'a Reduced, &'a Reference)>,
}

impl<'a> Standing<'a> {
    pub fn of(
        row: &'a BTreeMap<String, Outcome>,
        references: &'a References,
    ) -> Self {
        let valid = row
            .iter()
            .filter_map(|(name, outcome)| {
                let reference = references.usable(name)?;
                Some((name.as_str(), (outcome.as_ref().ok()?, reference)))
            })
            .collect();
        Self { of: row.len(), valid }
    }

    /// `s` of every valid profile except one.
    pub fn shares(&self, without: Option<&str>) -> Vec<f64> {
        self.valid
            .iter()
            .filter(|(name, _)| Some(**name) != without)
            .map(|(_, (reduced, reference))| reference.share(reduced))
            .collect()
    }

    /// One score per round, for rounds with a value in every valid profile.
    pub fn score_rounds(&self) -> Series {
        let series: Vec<Series> = self
            .valid
            .values()
            .map(|(reduced, reference)| reference.round_shares(reduced))
            .collect();
        let Some(first) = series.first() else { return Series::new() };
        let in_round = |round: &u32| {
            let s: Option<Vec<f64>> =
                series.iter().map(|one| one.get(round).copied()).collect();
            Some((*round, coverage_weighted(&s?, self.of)?))
        };
        first.keys().filter_map(in_round).collect()
    }

    /// The score on a board that lacks one profile.
    pub fn score_without(&self, profile: &str) -> Option<f64> {
        coverage_weighted(&self.shares(Some(profile)), self.of - 1)
    }
}
