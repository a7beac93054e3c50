//! All shots of one case, summed up.

use std::collections::{BTreeMap, BTreeSet};

use crate::hist::Hist;
use crate::profile::Metric;
use crate::record::{Outcome, Record, Usage};
use crate::sample::{Sample, ThreadUse};
use crate::score::check::{Claim, Slots, Violation, violations};
use crate::score::{Cell, Missing, RoundValue};
use crate::stat::{self, Range};

/// The warning by which the rig says that the gun was the limit.
const CLIENT_BOUND: &str = "client-bound";
/// Longest reason carried on; the record holds all of it.
const LONGEST_REASON: usize = 300;

/// What all shots of one case gave together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSummary {
    /// Shots fired or tried.
    pub shots: u32,
    /// The values of the valid ones.
    pub values: Vec<RoundValue>,
    /// Why there is no number; `None` when there is one.
    pub missing: Option<Missing>,
    /// What happened in shots that are not valid, with the rounds.
    pub reasons: Vec<String>,
    /// Warnings of all shots, by their word.
    pub warnings: BTreeMap<String, String>,
    /// Latencies of the valid shots, merged. Closed loop: this is the round
    /// trip under saturation.
    pub latency: Hist,
    /// Right answers of the valid shots.
    pub right: u64,
    /// CPU time of the entry in them.
    pub server_cpu_ns: u64,
    /// Highest working set seen in them.
    pub memory_peak_bytes: Option<u64>,
}

/// A shot without a usable number.
struct Bad {
    state: Missing,
    why: String,
    /// One such shot settles the case, however many others are good.
    settles: bool,
}

impl CaseSummary {
    /// Sums up the shots of one case, each with its round.
    ///
    /// A refusal of the judge and a wrong answer settle a case as failed. For
    /// all else the case counts as measured while more than half of its shots
    /// are valid; the others are listed, never dropped in silence.
    ///
    /// The rate of each is that of `metric`.
    pub(super) fn of(metric: Metric, shots: &[(u32, &Record)]) -> Self {
        let mut summary = Self::default();
        let mut bad: Vec<Bad> = Vec::new();
        let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for &(round, record) in shots {
            summary.shots += 1;
            for warning in &record.warnings {
                summary
                    .warnings
                    .entry(warning.word.clone())
                    .or_insert_with(|| cut(&warning.text));
            }
            match usable(record) {
                Ok((sample, server)) => {
                    summary.add(round, metric, sample, server);
                }
                Err(shot) => {
                    let rounds = reasons.entry(cut(&shot.why)).or_default();
                    rounds.push(round.to_string());
                    bad.push(shot);
                }
            }
        }
        summary.reasons = reasons
            .into_iter()
            .map(|(why, rounds)| {
                let word = if rounds.len() == 1 { "round" } else { "rounds" };
                format!("{word} {}: {why}", rounds.join(", "))
            })
            .collect();
        let most = summary.values.len() * 2 > shots.len();
        summary.missing = bad
            .iter()
            .filter(|shot| shot.settles || !most)
            .map(|shot| shot.state)
            .min();
        summary
    }

    fn add(
        &mut self,
        round: u32,
        metric: Metric,
        sample: &Sample,
        server: &Usage,
    ) {
        self.values.push(RoundValue {
            round,
            rate: sample.rate_of(metric),
            body_bytes: sample.mean_body_bytes(),
        });
        self.latency.merge(&sample.latency);
        self.right = self.right.saturating_add(sample.right);
        self.server_cpu_ns = self.server_cpu_ns.saturating_add(server.cpu_ns);
        self.memory_peak_bytes =
            self.memory_peak_bytes.max(server.memory_peak_bytes);
    }

    /// The case as the ranking takes it.
    pub fn cell(&self) -> Cell {
        match self.missing {
            Some(state) => Cell::Missing(state),
            None => Cell::Rounds(self.values.clone()),
        }
    }

    fn rates(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.rate).collect()
    }

    /// Median rate over the valid rounds.
    pub fn rate(&self) -> Option<f64> {
        stat::median(&self.rates())
    }

    /// Slowest and fastest valid round.
    pub fn rate_range(&self) -> Option<Range> {
        stat::min_max(&self.rates())
    }

    /// Largest difference of rounds as a share of the median.
    pub fn rate_spread(&self) -> Option<f64> {
        stat::spread(&self.rates())
    }

    /// Median over rounds of the mean encoded body of an answer.
    pub fn body_bytes(&self) -> Option<f64> {
        let sizes: Vec<f64> =
            self.values.iter().filter_map(|v| v.body_bytes).collect();
        stat::median(&sizes)
    }

    /// The entry's CPU time for one right answer.
    pub fn cpu_ns_per_answer(&self) -> Option<f64> {
        let spent = self.right > 0 && self.server_cpu_ns > 0;
        spent.then(|| self.server_cpu_ns as f64 / self.right as f64)
    }
}

fn usable(record: &Record) -> Result<(&Sample, &Usage), Bad> {
    let (sample, server, void) = match &record.outcome {
        Outcome::Measured { sample, server, void, .. } => {
            (sample.as_ref(), server, void)
        }
        Outcome::Failed { stage, why, .. } => {
            let gate = stage == "gate";
            return Err(Bad {
                state: if gate {
                    Missing::FailedValidation
                } else {
                    Missing::Failed
                },
                why: format!("{stage}: {why}"),
                settles: gate,
            });
        }
    };
    let bad = |state, why, settles| Err(Bad { state, why, settles });
    if !void.is_empty() {
        return bad(Missing::Failed, void.join("; "), sample.wrong > 0);
    }
    if sample.wrong > 0 {
        let why = format!("{} wrong answers under load", sample.wrong);
        return bad(Missing::Failed, why, true);
    }
    if sample.right == 0 {
        let why = "not one right answer in the window".to_owned();
        return bad(Missing::Failed, why, false);
    }
    let against: Vec<&str> = record
        .warnings
        .iter()
        .filter(|warning| warning.disqualifies)
        .map(|warning| warning.text.as_str())
        .collect();
    if !against.is_empty() {
        return bad(Missing::Suspect, against.join("; "), false);
    }
    if let Err(open) = sample.check_books() {
        return bad(Missing::Suspect, open.to_string(), false);
    }
    let found = contradictions(record, sample);
    if let Some(first) = found.first() {
        return bad(Missing::Suspect, first.to_string(), false);
    }
    Ok((sample, server))
}

/// What in a shot's numbers cannot be true at once. The rig asks this before
/// it stores a shot, the ranking again before it believes one.
///
/// Loopback has no link speed, so that check does not apply here.
pub fn contradictions(record: &Record, sample: &Sample) -> Vec<Violation> {
    let words: BTreeSet<&str> =
        record.warnings.iter().map(|w| w.word.as_str()).collect();
    // The time that faults and time-outs held a slot is not on record.
    let gaps = sample.requests_per_connection.is_some()
        || sample.reconnects > 0
        // What the server does not grant cannot be filled.
        || sample.withheld > 0
        // Writers beside the level's connections have fewer in flight each.
        || sample.connections_made > record.case.level
        || sample.faulted() + sample.timed_out > 0
        || words.contains(CLIENT_BOUND);
    let held =
        |hist: &Hist| hist.count() as f64 * hist.mean_ns().unwrap_or(0.0);
    let slots =
        f64::from(sample.connections_made) * f64::from(sample.in_flight);
    let other = held(&sample.unanswered_age) + held(&sample.latency_wrong);
    let available = slots * sample.window_ns as f64;
    // An open loop counts from the schedule, before a request holds a slot.
    let mean_ns = sample.latency.mean_ns();
    violations(&Claim {
        connections: sample.connections_made,
        in_flight: sample.in_flight,
        rate: sample.rate(),
        mean_ns: mean_ns.filter(|_| sample.open_loop.is_none()),
        p50_ns: sample.latency.quantile_ns(0.5),
        p99_ns: sample.latency.quantile_ns(0.99),
        max_ns: sample.latency.max_ns(),
        bytes_per_s: None,
        link_bits_per_s: None,
        client_share: busiest(sample),
        other_slot_share: if available > 0.0 { other / available } else { 0.0 },
        slots: if gaps { Slots::SometimesEmpty } else { Slots::AlwaysFull },
    })
}

/// The largest share of its window that a thread of the gun worked.
fn busiest(sample: &Sample) -> f64 {
    let share = |t: &ThreadUse| t.cpu_ns as f64 / t.wall_ns.max(1) as f64;
    sample.threads.iter().map(share).fold(0.0, f64::max)
}

/// A reason short enough for a table.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_REASON) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
