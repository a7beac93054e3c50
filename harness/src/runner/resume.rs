//! Going on with a run that was cut off: the same plan on the same rig with
//! the same builds, less the shots that are stored.

use std::collections::BTreeSet;

use profiles::{
    board::{Stored, alike},
    record::{Case, Run},
};

use super::now;
use crate::problem::Problem;

/// The shots that need not be fired again, by round.
pub fn stored_shots(before: Option<&Stored>) -> BTreeSet<(u32, Case)> {
    let records = before.iter().flat_map(|b| &b.records);
    records.map(|r| (r.round, r.case.clone())).collect()
}

/// The run that was cut off, as it is when it goes on; `fresh` is the run as
/// this command would begin it. What differs is refused before any shot.
pub fn again(before: &Run, mut fresh: Run) -> Result<Run, Problem> {
    let refuse = |what: &str, was: &str, is: &str| {
        Err(Problem::Usage(format!(
            "run {} cannot go on: {what} was {was}, and is {is} now; begin a \
             new run",
            before.run
        )))
    };
    for (what, was, is) in [
        ("the arena", &before.arena, &fresh.arena),
        ("the load generator", &before.loadgen, &fresh.loadgen),
    ] {
        if was != is {
            return refuse(what, was, is);
        }
    }
    for contestant in &mut fresh.entries {
        let known = before.entries.iter().find(|e| e.name == contestant.name);
        let listed = |run: &[_]| format!("{run:?}");
        match known {
            Some(known) if known.profiles == contestant.profiles => {
                // It is built later, and looked at then.
                contestant.artifact_digest = known.artifact_digest.clone();
            }
            known => {
                let was =
                    known.map_or("absent".into(), |k| listed(&k.profiles));
                let what = format!("the profiles of {}", contestant.name);
                return refuse(&what, &was, &listed(&contestant.profiles));
            }
        }
    }
    if let Err(why) = alike(before, &fresh) {
        let why = format!("run {} cannot go on: {why}", before.run);
        return Err(Problem::Usage(why));
    }
    let mut run = before.clone();
    run.ended_at = None;
    run.resumed_at.push(now());
    Ok(run)
}

/// One build of an entry for the whole run.
pub fn same_build(name: &str, was: &str, is: &str) -> Result<(), Problem> {
    if was.is_empty() || was == is {
        return Ok(());
    }
    let is = if is.is_empty() { "none: it does not build" } else { is };
    Err(Problem::Usage(format!(
        "the run cannot go on: {name} was built as {was}, and is {is} now; go \
         back to that version, or begin a new run"
    )))
}

/// Twins are one program, or their difference says nothing of the noise.
pub fn true_twins(run: &Run) -> Result<(), Problem> {
    for twin in &run.entries {
        let of =
            run.entries.iter().find(|e| Some(&e.name) == twin.twin_of.as_ref());
        let differs =
            |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
        if of.is_some_and(|of| {
            differs(&of.artifact_digest, &twin.artifact_digest)
        }) {
            return Err(Problem::Ours(format!(
                "{} was built twice and came out different; its A/A pair \
                 would not show the noise",
                twin.twin_of.as_ref().map_or("", |n| n.as_str())
            )));
        }
    }
    Ok(())
}
