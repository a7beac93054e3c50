//! From the threads' books to the one document on stdout.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use profiles::hist::Hist;
use profiles::sample::{
    Failure, OpenLoop, PerConnection, SAMPLE_SCHEMA, Sample, Shot,
};

use crate::books::MAX_EXAMPLES;
use crate::engine::{Connected, Phase, Tally};
use crate::plan::Plan;

/// The version and revision, as in every sample.
pub const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " ", env!("BUILD_REVISION"));

/// Why no window was opened, before the spec's own numbers are added.
#[derive(Clone, Debug)]
pub struct Failed {
    stage: &'static str,
    why: String,
    connected: Connected,
}

impl Failed {
    /// At `stage`, for the reason `why`.
    pub fn new(stage: &'static str, why: String) -> Failed {
        Failed { stage, why, connected: Connected::default() }
    }

    /// By a signal, while `doing`.
    pub fn interrupted(doing: &str) -> Failed {
        Failed::new("interrupted", format!("stopped by a signal while {doing}"))
    }

    /// Fewer connections than asked.
    pub fn too_few(plan: &Plan, connected: Connected) -> Failed {
        let reasons: Vec<String> =
            connected.errors.iter().map(|(e, n)| format!("{n} {e}")).collect();
        let why = format!(
            "{} of {} connections to {} were made ({})",
            connected.made,
            plan.connections(),
            plan.spec.target,
            reasons.join(", ")
        );
        Failed::new("connect", why).with(connected)
    }

    /// With how connecting went.
    pub fn with(self, connected: Connected) -> Failed {
        Failed { connected, ..self }
    }

    /// The document; `asked` connections were to be made.
    pub fn into_shot(self, asked: u32) -> Shot {
        Shot::Failed(Failure {
            schema: SAMPLE_SCHEMA,
            stage: self.stage.into(),
            why: self.why,
            connections_asked: asked,
            connections_made: self.connected.made,
            connect_errors: self.connected.errors,
        })
    }
}

/// The outcome of a shot that was fired.
pub fn shot(plan: &Plan, tallies: Vec<Tally>) -> anyhow::Result<Shot> {
    let up: u32 = tallies.iter().map(|t| t.up_at_open).sum();
    let phase = tallies.iter().map(|t| t.phase).min();
    let missed = tallies.iter().filter(|t| t.missed).count();
    let varied: u64 = tallies.iter().map(|t| t.varied).sum();
    let sample = sample(plan, tallies)?;
    sample
        .check_books()
        .map_err(|open| anyhow!("loadgen's own fault: {open}"))?;
    let connected =
        Connected { made: up, errors: sample.connect_errors.clone() };
    if phase.is_some_and(|p| p < Phase::Closed) {
        let doing = match phase {
            Some(Phase::Window) => "measuring",
            _ => "warming up",
        };
        let mut failed = Failed::interrupted(doing).with(connected);
        failed.why += &format!(
            "; {} were sent and {} answered right in {:.3} s",
            sample.sent,
            sample.right,
            sample.window_ns as f64 / 1e9
        );
        return Ok(failed.into_shot(plan.connections()));
    }
    if missed > 0 {
        let why = format!(
            "{missed} of {} load threads came to the window only after its \
             end: the warm-up held them for longer than gap and window",
            plan.spec.threads
        );
        let failed = Failed::new("warm-up", why).with(connected);
        return Ok(failed.into_shot(plan.connections()));
    }
    if up == 0 {
        let why = "no connection was up when the window opened: the server \
                   closed them all in the warm-up and took no new ones";
        let failed = Failed::new("warm-up", why.into()).with(connected);
        return Ok(failed.into_shot(plan.connections()));
    }
    let answers = sample.right + sample.wrong + sample.warmup_right;
    if varied * 10 > answers.max(1000) {
        eprintln!(
            "loadgen: {varied} of {answers} answers were right but unlike an \
             earlier one to the same question; judging them in full costs the \
             gun CPU time"
        );
    }
    Ok(Shot::Measured(Box::new(sample)))
}

fn sample(plan: &Plan, tallies: Vec<Tally>) -> anyhow::Result<Sample> {
    let (spec, profile) = (&plan.spec, &plan.profile);
    let opened =
        tallies.iter().map(|t| t.opened).min().context("no threads")?;
    let closed = tallies.iter().map(|t| t.closed).max().unwrap_or(opened);
    let mut all = Sample {
        schema: SAMPLE_SCHEMA,
        loadgen: VERSION.into(),
        seed: spec.seed,
        connections_asked: plan.connections(),
        connections_made: plan.connections(),
        in_flight: profile.load.in_flight,
        requests_per_connection: profile.load.requests_per_connection,
        window_asked_ns: spec.window_ns,
        window_ns: if opened == 0 { 0 } else { closed - opened },
        warmup_right: 0,
        warmup_unanswered: 0,
        sent: 0,
        right: 0,
        wrong: 0,
        wrong_by: BTreeMap::new(),
        faults: BTreeMap::new(),
        timed_out: 0,
        unanswered: 0,
        unanswered_age: Hist::new(),
        surplus: 0,
        statuses: BTreeMap::new(),
        classes: BTreeMap::new(),
        right_body_bytes: 0,
        sent_bytes: 0,
        received_bytes: 0,
        latency: Hist::new(),
        latency_wrong: Hist::new(),
        reconnects: 0,
        connect_errors: BTreeMap::new(),
        per_connection: PerConnection::default(),
        threads: Vec::new(),
        examples: Vec::new(),
        engine: tallies.first().map_or(String::new(), |t| t.engine.clone()),
        retried: 0,
        withheld: 0,
        messages: 0,
        open_loop: spec.rate_per_s.map(|rate_per_s| OpenLoop {
            rate_per_s,
            offered: 0,
            unsent: 0,
            pacing: Hist::new(),
        }),
    };
    let mut right_by_slot = Vec::new();
    for tally in tallies {
        let books = tally.books;
        all.warmup_right += books.warmup_right;
        all.warmup_unanswered += books.warmup_unanswered;
        all.sent += books.sent;
        all.right += books.right;
        for (word, n) in books.wrong_by {
            all.wrong += n;
            *all.wrong_by.entry(word.into()).or_default() += n;
        }
        for (fault, n) in books.faults {
            *all.faults.entry(fault).or_default() += n;
        }
        all.timed_out += books.timed_out;
        all.unanswered += books.unanswered_age.count();
        all.unanswered_age.merge(&books.unanswered_age);
        all.surplus += books.surplus;
        let statuses = (0u16..).zip(books.statuses);
        for (status, n) in statuses.filter(|(_, n)| *n > 0) {
            *all.statuses.entry(status).or_default() += n;
        }
        for (class, count) in profile.classes.iter().zip(books.classes) {
            let sum = all.classes.entry(class.name.clone()).or_default();
            sum.sent += count.sent;
            sum.right += count.right;
        }
        all.right_body_bytes += books.right_body_bytes;
        all.sent_bytes += books.sent_bytes;
        all.received_bytes += books.received_bytes;
        all.latency.merge(&books.latency);
        all.latency_wrong.merge(&books.latency_wrong);
        all.reconnects += books.reconnects;
        for (errno, n) in books.connect_errors {
            *all.connect_errors.entry(errno).or_default() += n;
        }
        all.retried += books.retried;
        all.withheld += books.withheld;
        all.messages += books.messages;
        if let Some(open) = &mut all.open_loop {
            open.offered += tally.offered;
            open.unsent += tally.offered.saturating_sub(books.pacing.count());
            open.pacing.merge(&books.pacing);
        }
        all.threads.push(tally.used);
        all.examples.extend(books.examples);
        right_by_slot.extend(tally.right_by_slot);
    }
    all.examples.truncate(MAX_EXAMPLES);
    all.per_connection = per_connection(right_by_slot);
    Ok(all)
}

fn per_connection(mut right: Vec<u64>) -> PerConnection {
    right.sort_unstable();
    let middle = right.len().saturating_sub(1) / 2;
    let at = |index: usize| right.get(index).copied().unwrap_or(0);
    PerConnection {
        min: at(0),
        median: at(middle),
        max: right.last().copied().unwrap_or(0),
        silent: right.iter().take_while(|n| **n == 0).count() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starved_connections_are_counted() {
        let found = per_connection(vec![5, 0, 7, 0, 1]);
        let expected = PerConnection { min: 0, median: 1, max: 7, silent: 2 };
        assert_eq!(found, expected);
        assert_eq!(per_connection(vec![]), PerConnection::default());
    }
}
