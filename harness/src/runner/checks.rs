//! Whether a measured shot may stand: what makes it void, what is warned of.

use profiles::{record::Pools, sample::Sample};

use super::watching::Watched;
use crate::{host::Exit, warn::Warn};

/// Above this share of faults or time-outs a shot is void.
const FAULT_SHARE: f64 = 0.001;
/// Above this share of a CPU a thread of the gun was at its limit.
const SATURATED: f64 = 0.90;
/// Above this share of the pools' CPU time, others disturbed the shot.
const FOREIGN: f64 = 0.03;
/// The window may differ by this share,
const WINDOW_SHARE: f64 = 0.01;
/// or by this much, since a busy machine wakes the gun late.
const WINDOW_SLACK_NS: f64 = 20e6;

/// Everything known of a shot besides the gun's books.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// Who used which CPUs.
    pub pools: &'a Pools,
    /// How the server ended before the shot was over, if it did.
    pub exit: Option<Exit>,
    /// The last line of its output, if it ended.
    pub last_words: Option<String>,
    /// A thread of the server outside its CPUs.
    pub strayed: Option<String>,
    /// The cost of both pools.
    pub watched: Watched,
    /// What the profile asked for and did not get.
    pub shortfalls: &'a [String],
}

/// Why the shot is void; empty when it is not.
pub fn void(sample: &Sample, seen: &Seen<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(exit) = &seen.exit {
        let words = match &seen.last_words {
            Some(words) => format!("; its last words: {words}"),
            None => String::new(),
        };
        out.push(format!("the server {exit} during the shot{words}"));
    }
    if let Some(strayed) = &seen.strayed {
        out.push(format!(
            "{strayed}; an entry must not change its own pinning"
        ));
    }
    let (made, asked) = (sample.connections_made, sample.connections_asked);
    if made < asked {
        out.push(format!("only {made} of {asked} connections were made"));
    }
    if sample.wrong > 0 {
        let kinds: Vec<String> =
            sample.wrong_by.iter().map(|(w, n)| format!("{w} {n}")).collect();
        let example = match sample.examples.first() {
            Some(e) => format!(", e.g. {}", crate::show::line(e)),
            None => String::new(),
        };
        out.push(format!(
            "{} of {} answers were wrong ({}){example}",
            sample.wrong,
            sample.wrong + sample.right,
            kinds.join(", ")
        ));
    }
    let share = |n: u64| n as f64 / (sample.sent.max(1)) as f64;
    let faults = sample.faulted() + sample.surplus;
    if share(faults) > FAULT_SHARE {
        let kinds: Vec<String> = sample
            .faults
            .iter()
            .map(|(kind, n)| format!("{kind:?} {n}").to_lowercase())
            .collect();
        out.push(format!(
            "{faults} faults on {} requests ({})",
            sample.sent,
            kinds.join(", ")
        ));
    }
    if share(sample.timed_out) > FAULT_SHARE {
        out.push(format!(
            "{} of {} requests timed out",
            sample.timed_out, sample.sent
        ));
    }
    if sample.right == 0 && out.is_empty() {
        out.push("not one right answer in the window".into());
    }
    out
}

/// What a reader of the number must know.
pub fn warnings(sample: &Sample, seen: &Seen<'_>) -> Vec<Warn> {
    let mut out = Vec::new();
    let busiest = sample
        .threads
        .iter()
        .filter(|t| t.wall_ns > 0)
        .map(|t| t.cpu_ns as f64 / t.wall_ns as f64)
        .fold(0.0, f64::max);
    if busiest > SATURATED {
        out.push(Warn::ClientBound { busiest });
    }
    if let Some(share) = seen.watched.foreign_share
        && share > FOREIGN
    {
        out.push(Warn::Noisy { share });
    }
    let (server, load) = (&seen.pools.server, &seen.pools.load);
    if !server.overlap(load).is_empty() {
        out.push(Warn::SharedCpus);
    } else if seen.pools.compromises.iter().any(|c| c.contains("one physical"))
    {
        out.push(Warn::SharedCore);
    }
    out.extend(seen.shortfalls.iter().cloned().map(Warn::Shortfall));
    if !seen.watched.marked {
        out.push(Warn::NoUsage);
    }
    let silent = sample.per_connection.silent;
    if silent > 0 && sample.right > 0 {
        let of = sample.connections_made;
        out.push(Warn::Starved { silent, of });
    }
    let (asked, got) = (sample.window_asked_ns, sample.window_ns);
    let off = (got as f64 - asked as f64).abs();
    if off > (asked as f64 * WINDOW_SHARE).max(WINDOW_SLACK_NS) {
        let ms = |ns: u64| ns as f64 / 1e6;
        out.push(Warn::WindowCut { asked_ms: ms(asked), got_ms: ms(got) });
    }
    if let Err(open) = sample.check_books() {
        out.push(Warn::Inconsistent(open.to_string()));
    }
    out
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
