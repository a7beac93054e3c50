//! From stored runs to a ranking: the one path that `arena rank`, the site
//! and the badges share.

mod case;

use std::collections::{BTreeMap, BTreeSet};

pub use case::{CaseSummary, contradictions};

use crate::name::{EntryName, ProfileName};
use crate::profile::{League, Metric};
use crate::record::{Case, Contestant, Fired, Record, Run};
use crate::score::{
    self, Board, BoardInput, Cell, EntryInput, InputError, Missing, NoiseFloor,
    Options, ProfileScoring, noise_floor,
};

/// A run as it was read from its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// `run.json`.
    pub run: Run,
    /// The lines of `samples.jsonl`.
    pub records: Vec<Record>,
}

/// Why runs cannot stand on one board.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MixError {
    /// They differ in what makes numbers comparable.
    #[error(
        "runs {first} and {other} differ in {what}: {left:?} and {right:?}; \
         rank them apart"
    )]
    Differ {
        /// The first run's id.
        first: String,
        /// The other run's id.
        other: String,
        /// The property.
        what: String,
        /// Its value in the first run.
        left: String,
        /// Its value in the other run.
        right: String,
    },
    /// A record belongs to no entry, profile or run of its folder.
    #[error(
        "run {run}: a record of {what}, which run.json does not list; \
         the folder was put together by hand or damaged"
    )]
    Orphan {
        /// The run's id.
        run: String,
        /// What the record names.
        what: String,
    },
    /// One run was given twice, which would make its intervals narrower
    /// without one more shot.
    #[error("run {0} is given twice; name it once")]
    Twice(String),
    /// A case has more than one record in one round.
    #[error(
        "run {run} has two records of {what}; the folder was put together by \
         hand or damaged"
    )]
    Repeated {
        /// The run's id.
        run: String,
        /// The case and the round.
        what: String,
    },
    /// The board's own input check.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// Everything the stored runs say, ready to rank or to show.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The entries, by name.
    pub entries: BTreeMap<EntryName, Contestant>,
    /// The profiles, in the order of the first run that lists them.
    pub profiles: Vec<Fired>,
    /// One summary for each case that has a record.
    pub cases: BTreeMap<Case, CaseSummary>,
}

impl Results {
    /// Joins runs. Rounds of different runs stay different rounds.
    pub fn of(stored: &[Stored]) -> Result<Self, MixError> {
        let mut results = Self::default();
        let mut shots: BTreeMap<Case, Vec<(u32, &Record)>> = BTreeMap::new();
        let mut earlier_rounds = 0_u32;
        let mut seen = BTreeSet::new();
        for one in stored {
            comparable(&stored[0].run, &one.run)?;
            results.add_lists(&stored[0].run, &one.run)?;
            if !seen.insert(one.run.run.as_str()) {
                return Err(MixError::Twice(one.run.run.clone()));
            }
            let mut last = one.run.settings.rounds;
            let mut own = BTreeSet::new();
            for record in &one.records {
                results.owns(&one.run, record)?;
                last = last.max(record.round);
                let round = earlier_rounds.saturating_add(record.round);
                if !own.insert((&record.case, record.round)) {
                    let Case { entry, profile, level } = &record.case;
                    let place = format!("round {}", record.round);
                    return Err(MixError::Repeated {
                        run: one.run.run.clone(),
                        what: format!("{entry}/{profile}/{level} in {place}"),
                    });
                }
                shots
                    .entry(record.case.clone())
                    .or_default()
                    .push((round, record));
            }
            earlier_rounds = earlier_rounds.saturating_add(last);
        }
        // Every record's profile is among them, or it was refused above.
        let metric = |case: &Case| {
            let fired =
                results.profiles.iter().find(|p| p.name == case.profile);
            fired.map_or(Metric::Answers, |fired| fired.metric)
        };
        let cases = shots
            .into_iter()
            .map(|(case, mut shots)| {
                shots.sort_by_key(|(round, _)| *round);
                let summary = CaseSummary::of(metric(&case), &shots);
                (case, summary)
            })
            .collect();
        results.cases = cases;
        Ok(results)
    }

    fn add_lists(&mut self, first: &Run, run: &Run) -> Result<(), MixError> {
        for entry in &run.entries {
            let seen = self.entries.entry(entry.name.clone());
            let seen = seen.or_insert_with(|| entry.clone());
            let what = format!("the build of {}", entry.name);
            let digest = |c: &Contestant| c.artifact_digest.clone();
            same(first, run, &what, digest(seen), digest(entry))?;
        }
        for fired in &run.profiles {
            let known = self.profiles.iter().find(|p| p.name == fired.name);
            let Some(known) = known else {
                self.profiles.push(fired.clone());
                continue;
            };
            let what = format!("the definition of {}", fired.name);
            same(first, run, &what, &known.digest, &fired.digest)?;
            let what = format!("the levels of {}", fired.name);
            let levels = |f: &Fired| format!("{:?}", f.levels);
            same(first, run, &what, levels(known), levels(fired))?;
        }
        Ok(())
    }

    fn owns(&self, run: &Run, record: &Record) -> Result<(), MixError> {
        let Case { entry, profile, level } = &record.case;
        let fired = self.profiles.iter().find(|p| p.name == *profile);
        let what = if record.run != run.run {
            format!("run {:?}", record.run.chars().take(64).collect::<String>())
        } else if !self.entries.contains_key(entry) {
            format!("entry {entry}")
        } else if !fired.is_some_and(|f| f.levels.contains(level)) {
            format!("profile {profile} at {level} connections")
        } else {
            return Ok(());
        };
        Err(MixError::Orphan { run: run.run.clone(), what })
    }

    /// The profiles scored for a league.
    pub fn scored(&self, league: League) -> impl Iterator<Item = &Fired> {
        self.profiles.iter().filter(move |p| p.leagues.contains(&league))
    }

    /// The leagues that have an entry.
    pub fn leagues(&self) -> BTreeSet<League> {
        self.ranked().map(|entry| entry.league).collect()
    }

    /// Those that are ranked: all but twins.
    pub fn ranked(&self) -> impl Iterator<Item = &Contestant> {
        self.entries.values().filter(|entry| entry.twin_of.is_none())
    }

    /// What a league's ranking is made from.
    pub fn board_input(&self, league: League) -> BoardInput {
        self.input(league, self.ranked())
    }

    fn input<'a>(
        &self,
        league: League,
        entries: impl Iterator<Item = &'a Contestant>,
    ) -> BoardInput {
        let scored: Vec<&Fired> = self.scored(league).collect();
        let profile = |fired: &&Fired| ProfileScoring {
            name: fired.name.to_string(),
            levels: levels(fired),
            metric: match fired.metric {
                Metric::AnswersBySize => score::Metric::RateBySize,
                Metric::Answers | Metric::Messages | Metric::Echoes => {
                    score::Metric::Rate
                }
            },
        };
        let entry = |contestant: &Contestant| EntryInput {
            id: contestant.name.to_string(),
            cells: scored
                .iter()
                .flat_map(|fired| {
                    levels(fired).into_iter().map(|level| {
                        let key = (fired.name.to_string(), level);
                        (key, self.cell(contestant, &fired.name, level))
                    })
                })
                .collect(),
        };
        let ranked = entries.filter(|e| e.league == league);
        BoardInput {
            league: league.to_string(),
            profiles: scored.iter().map(profile).collect(),
            entries: ranked.map(entry).collect(),
        }
    }

    /// The ranking of a league. The noise floor is that of its A/A pairs where
    /// `options` gives none.
    pub fn board(
        &self,
        league: League,
        options: &Options,
    ) -> Result<Board, MixError> {
        let mut options = options.clone();
        if options.floor == NoiseFloor::default() {
            options.floor = self.floor(league)?;
        }
        Ok(Board::of(&self.board_input(league), &options)?)
    }

    /// How far apart twins were from what they are twins of; the largest of
    /// all pairs counts.
    fn floor(&self, league: League) -> Result<NoiseFloor, MixError> {
        let mut floor = NoiseFloor::default();
        for twin in self.entries.values().filter(|e| e.league == league) {
            let of = twin.twin_of.as_ref().and_then(|n| self.entries.get(n));
            let Some(of) = of else { continue };
            let all = self.ranked().chain([twin]);
            let input = self.input(league, all);
            let (a, b) = (of.name.as_str(), twin.name.as_str());
            floor.widen(noise_floor(&input, a, b)?);
        }
        Ok(floor)
    }

    /// One entry's cell of one level, as the ranking takes it.
    pub fn cell(
        &self,
        entry: &Contestant,
        name: &ProfileName,
        level: u32,
    ) -> Cell {
        if !entry.profiles.contains(name) {
            return Cell::Missing(Missing::NotEntered);
        }
        let (entry, profile) = (entry.name.clone(), name.clone());
        match self.cases.get(&Case { entry, profile, level }) {
            None => Cell::Missing(Missing::NotRunYet),
            Some(summary) => summary.cell(),
        }
    }
}

/// The levels a valid result needs. A profile that this run could not fire
/// has none planned, yet it counts among the scored ones as not run.
fn levels(fired: &Fired) -> Vec<u32> {
    let levels: BTreeSet<u32> = fired.levels.iter().copied().collect();
    if levels.is_empty() { vec![0] } else { levels.into_iter().collect() }
}

/// Whether the rounds of `other` may stand beside those of `first`: one rig,
/// epoch, host, data, and the same builds and definitions of what both have.
pub fn alike(first: &Run, other: &Run) -> Result<(), MixError> {
    comparable(first, other)?;
    let mut results = Results::default();
    results.add_lists(first, first)?;
    results.add_lists(first, other)
}

fn comparable(first: &Run, other: &Run) -> Result<(), MixError> {
    let rig = |run: &Run| run.environment.rig.clone();
    same(first, other, "rig", rig(first), rig(other))?;
    same(first, other, "epoch", first.epoch, other.epoch)?;
    same(first, other, "host", &first.host, &other.host)?;
    let data = |run: &Run| run.data_digest.clone();
    same(first, other, "data", data(first), data(other))
}

fn same<T: PartialEq + ToString>(
    first: &Run,
    other: &Run,
    what: &str,
    left: T,
    right: T,
) -> Result<(), MixError> {
    if left == right {
        return Ok(());
    }
    Err(MixError::Differ {
        first: first.run.clone(),
        other: other.run.clone(),
        what: what.to_owned(),
        left: left.to_string(),
        right: right.to_string(),
    })
}
