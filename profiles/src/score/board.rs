//! The board: rows in order, each with how sure it is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::input::{BoardInput, InputError, Missing};
use super::pairs::{NoiseFloor, Verdicts};
use super::reduce::{Outcome, reduce};
use super::reference::References;
use super::row::{Coverage, Estimate, ProfileCell, RankRange, Row, by_score};
use super::standing::Standing;
use super::{coverage_weighted, plain_sum, speed, zero_filled_mean};

/// What a board is judged by, besides its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Reference values of a frozen round. `None`: those of this input.
    pub frozen: Option<References>,
    /// Differences the rig cannot tell from noise.
    pub floor: NoiseFloor,
}

/// A league's ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Board {
    /// Name of the league.
    pub league: String,
    /// Names of the scored profiles, in order.
    pub profiles: Vec<String>,
    /// What 100 means.
    pub references: References,
    /// What counts as noise.
    pub floor: NoiseFloor,
    /// Best score first, then by name; those without a score last.
    pub rows: Vec<Row>,
    #[serde(skip)]
    verdicts: Verdicts,
    #[serde(skip)]
    by_profile: BTreeMap<String, Verdicts>,
}

impl Board {
    /// Ranks a league.
    pub fn of(
        input: &BoardInput,
        options: &Options,
    ) -> Result<Self, InputError> {
        input.check()?;
        let outcomes = reduce(input);
        let references = options
            .frozen
            .clone()
            .unwrap_or_else(|| References::from_outcomes(input, &outcomes));
        let standings: BTreeMap<&str, Standing> = outcomes
            .iter()
            .map(|(id, row)| (id.as_str(), Standing::of(row, &references)))
            .collect();
        let mut profiles: Vec<String> =
            input.profiles.iter().map(|p| p.name.clone()).collect();
        profiles.sort();

        let floor = options.floor.clone();
        let ranked = standings
            .iter()
            .filter(|(_, standing)| !standing.valid.is_empty())
            .map(|(id, standing)| ((*id).to_owned(), standing.score_rounds()));
        let verdicts = Verdicts::of(ranked.collect(), floor.score);
        let by_profile = profiles
            .iter()
            .map(|name| {
                let rows = standings.iter().filter_map(|(id, standing)| {
                    let (reduced, _) = standing.valid.get(name.as_str())?;
                    Some(((*id).to_owned(), reduced.rounds.clone()))
                });
                let floor = floor.profiles.get(name).copied();
                (name.clone(), Verdicts::of(rows.collect(), floor))
            })
            .collect();

        let mut board = Self {
            league: input.league.clone(),
            profiles,
            references: references.clone(),
            floor,
            rows: Vec::new(),
            verdicts,
            by_profile,
        };
        let mut rows: Vec<Row> = standings
            .iter()
            .map(|(id, standing)| board.row(id, standing, &outcomes[*id]))
            .collect();
        sensitivity(&mut rows, &standings, &board.profiles);
        rows.sort_by(by_score);
        board.rows = rows;
        Ok(board)
    }

    fn row(
        &self,
        id: &str,
        standing: &Standing,
        outcomes: &BTreeMap<String, Outcome>,
    ) -> Row {
        let s = standing.shares(None);
        let of = standing.of;
        let score = coverage_weighted(&s, of)
            .map(|centre| Estimate::new(centre, &standing.score_rounds()))
            .map(Estimate::within_the_scale);
        let profiles = outcomes
            .iter()
            .map(|(name, outcome)| {
                let cell = self.cell(id, name, outcome, standing);
                (name.clone(), cell)
            })
            .collect();
        Row {
            entry: id.to_owned(),
            rank: self.verdicts.rank(id),
            score,
            speed: speed(&s),
            coverage: Coverage { ran: s.len() as u32, of: of as u32 },
            zero_filled_mean: zero_filled_mean(&s, of),
            plain_sum: plain_sum(&s),
            sensitivity: None,
            tally: self.verdicts.tally(id),
            profiles,
        }
    }

    fn cell(
        &self,
        id: &str,
        profile: &str,
        outcome: &Outcome,
        standing: &Standing,
    ) -> ProfileCell {
        let measured = || {
            let (reduced, reference) = standing.valid.get(profile)?;
            let rounds = reference.round_shares(reduced);
            Some(ProfileCell::Measured {
                number: reference.number(reduced),
                s: Estimate::new(reference.share(reduced), &rounds),
                rank: self.by_profile.get(profile)?.rank(id)?,
            })
        };
        let reason = outcome.as_ref().err().copied();
        measured().unwrap_or(ProfileCell::Missing {
            // Measured, but the frozen values say nothing of this profile.
            reason: reason.unwrap_or(Missing::NotRunYet),
        })
    }

    /// The verdicts of the board as a whole.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// The verdicts within one profile.
    pub fn profile_verdicts(&self, profile: &str) -> Option<&Verdicts> {
        self.by_profile.get(profile)
    }

    /// Whether every entry down to row `index` is separated from every one
    /// below it: the only place where a dividing line is honest.
    pub fn separated_after(&self, index: usize) -> bool {
        let above = self.rows.iter().take(index + 1);
        let below = self.rows.iter().skip(index + 1);
        let worst = above.filter_map(|row| Some(row.rank?.hi)).max();
        let best = below.filter_map(|row| Some(row.rank?.lo)).min();
        matches!((worst, best), (Some(worst), Some(best)) if worst < best)
    }
}

/// Fills in each row's best and worst place with one profile left out.
fn sensitivity(
    rows: &mut [Row],
    standings: &BTreeMap<&str, Standing>,
    profiles: &[String],
) {
    if profiles.len() < 2 {
        return;
    }
    for profile in profiles {
        let scores: Vec<f64> = rows
            .iter()
            .map(|row| standings[row.entry.as_str()].score_without(profile))
            .map(|score| score.unwrap_or(0.0))
            .collect();
        for (row, own) in rows.iter_mut().zip(&scores) {
            if row.score.is_none() {
                continue;
            }
            // Equal scores may differ in their last bit.
            let better =
                scores.iter().filter(|&&other| other > own * (1.0 + 1e-12));
            let place = 1 + better.count() as u32;
            let range = row
                .sensitivity
                .get_or_insert(RankRange { lo: place, hi: place });
            range.lo = range.lo.min(place);
            range.hi = range.hi.max(place);
        }
    }
}
