//! The round loop: gate, start, ready, fire, look, stop, store.
//!
//! One entry's failure is a record and never stops the others. What stops the
//! run is the user, a full disk, or a machine that cannot measure.

mod checks;
mod contestants;
mod describe;
mod events;
mod gun;
mod ready;
mod resume;
mod serve;
mod shot;
mod stack;
mod watching;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use profiles::{
    board::Stored,
    catalog::Catalog,
    name::EntryName,
    record::{Outcome, RECORD_SCHEMA, Record, Run, Warning},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    host::{DataPaths, Host},
    interrupt::Interrupt,
    plan::{Plan, PlannedShot},
    problem::{ExitClass, Problem},
    rig::{Pinned, Rig, busy_note, load_average},
    sidecar::Sidecars,
    store::Store,
    warn::Warn,
};
use contestants::{Contender, prepare};
use describe::{describe, taking_part};
use resume::stored_shots;
use shot::{Ended, Halt, Range, shoot};

pub use contestants::{Gate, Lost, NoVerdict};
pub use events::{Event, Observer, Silent};
pub use gun::{CLOSED, Gun, Loadgen, Misfire, OPENED};
pub use ready::{Greet, only_http1};
pub use serve::{NotServed, Place, Served, serve};
pub use shot::Witness;
pub use watching::{Watched, Watching};

/// After so many failed starts in a row an entry is not tried again: each
/// costs up to half a minute.
const MOST_FAILED_STARTS: u32 = 3;

/// What a run needs.
pub struct BenchRequest<'a> {
    /// All there is.
    pub catalog: &'a Catalog,
    /// What to fire.
    pub plan: &'a Plan,
    /// The machine.
    pub rig: &'a Rig,
    /// Where entries run.
    pub host: &'a dyn Host,
    /// Who fires.
    pub gun: &'a dyn Gun,
    /// The folder of all runs.
    pub results: &'a Path,
    /// The folder of the generated data.
    pub data_dir: &'a Path,
    /// SHA-256 of the list of data digests.
    pub data_digest: String,
    /// Version and revision of the arena.
    pub arena: String,
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
    /// Asks whether a server answers in what is not cleartext HTTP/1.1.
    pub greet: Greet,
    /// What stands beside entries.
    pub sidecars: Option<&'a RefCell<Sidecars>>,
    /// Who asks beside the gun, if anybody.
    pub witness: Option<&'a dyn Witness>,
    /// The run that was cut off and goes on; its shots are not fired again.
    pub before: Option<&'a Stored>,
}

/// How a run went.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BenchSummary {
    /// Its id.
    pub run: String,
    /// Its folder.
    pub dir: PathBuf,
    /// Shots planned.
    pub planned: usize,
    /// Shots stored.
    pub shots: usize,
    /// Those whose number stands.
    pub valid: usize,
    /// Those without a window.
    pub failed: usize,
    /// Those with one that may not be used.
    pub void: usize,
    /// Those with a disqualifying warning only.
    pub disqualified: usize,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

impl BenchSummary {
    /// The exit code's class.
    pub fn class(&self) -> ExitClass {
        if self.interrupted {
            ExitClass::Ours
        } else if self.valid < self.planned {
            ExitClass::Cases
        } else {
            ExitClass::Done
        }
    }

    fn count(&mut self, record: &Record) {
        self.shots += 1;
        match &record.outcome {
            _ if record.valid().is_some() => self.valid += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Measured { void, .. } if !void.is_empty() => {
                self.void += 1;
            }
            Outcome::Measured { .. } => self.disqualified += 1,
        }
    }
}

/// Runs the whole plan.
pub fn bench(
    request: &BenchRequest<'_>,
    gate: &mut dyn Gate,
    observer: &mut dyn Observer,
) -> Result<BenchSummary, Problem> {
    // Before any row: without these there is nothing to write rows about.
    let loadgen = request.gun.version()?;
    request.host.check()?;
    // What a tool that was killed outright could not clean up itself.
    request.host.clean(None)?;
    for note in &request.plan.notes {
        observer.event(&Event::Note(note));
    }
    let mut run = describe(request, loadgen);
    if let Some(busy) = busy_note(&run.environment.foreign) {
        observer.event(&Event::Note(&busy));
    }
    let mut store = match request.before {
        None => Store::create(request.results, &run),
        Some(before) => {
            run = resume::again(&before.run, run)?;
            Store::reopen(request.results, &run, before.records.len())
        }
    }
    .map_err(ours)?;
    observer.event(&Event::Run { run: &run.run, dir: store.dir() });
    let mut summary = BenchSummary {
        run: run.run.clone(),
        dir: store.dir().to_path_buf(),
        planned: request.plan.shots(),
        ..BenchSummary::default()
    };
    for record in request.before.iter().flat_map(|b| &b.records) {
        summary.count(record);
    }
    let went = all(request, gate, observer, &mut run, &mut store, &mut summary);
    if let Err(why) = request.host.clean(Some(&run.run)) {
        observer.event(&Event::Note(&format!(
            "something of this run may be left behind ({why}); `arena clean` \
             removes it"
        )));
    }
    match went {
        Ok(()) => {
            run.ended_at = Some(now());
            run.environment.load_after = Some(load_average(Path::new("/")));
            store.put_run(&run).map_err(ours)?;
            Ok(summary)
        }
        // `ended_at` stays empty: that is how a reader sees it was cut off.
        Err(Halt::Interrupted) => {
            summary.interrupted = true;
            Ok(summary)
        }
        Err(Halt::Problem(problem)) => Err(problem),
    }
}

fn all(
    request: &BenchRequest<'_>,
    gate: &mut dyn Gate,
    observer: &mut dyn Observer,
    run: &mut Run,
    store: &mut Store,
    summary: &mut BenchSummary,
) -> Result<(), Halt> {
    let problem = |e| Halt::Problem(ours(e));
    let entries = taking_part(request)
        .map(|entry| (entry, request.catalog.entry_dir(entry)))
        .collect();
    let (host, interrupt) = (request.host, request.interrupt);
    let mut contenders = prepare(entries, host, gate, interrupt, observer)?;
    for contestant in &mut run.entries {
        if let Some(contender) = contenders.get(&contestant.name) {
            let (was, is) = (&contestant.artifact_digest, contender.digest());
            resume::same_build(contestant.name.as_str(), was, &is)
                .map_err(Halt::Problem)?;
            contestant.artifact_digest = is;
            if let Some(verdicts) = &contender.verdicts {
                store.put_verdicts(verdicts).map_err(problem)?;
            }
        }
    }
    resume::true_twins(run).map_err(Halt::Problem)?;
    store.put_run(run).map_err(problem)?;
    let data = DataPaths::under(request.data_dir);
    let settings = &request.plan.settings;
    let place = Place::new(host, Some(request.rig), &data, &run.run, interrupt);
    let range = Range {
        place: Place {
            greet: request.greet,
            sidecars: request.sidecars,
            ..place
        },
        gun: request.gun,
        pools: &request.rig.pools,
        data_dir: request.data_dir,
        warmup_ns: settings.warmup_ns,
        gap_ns: settings.gap_ns,
        window_ns: settings.window_ns,
        witness: request.witness,
    };
    // From here on the tool itself keeps off the server's CPUs.
    let _pinned = Pinned::to(&request.rig.pools.aux);
    let (started, of) = (Instant::now(), request.plan.shots());
    let (before, stored) = (summary.shots, stored_shots(request.before));
    for round in &request.plan.rounds {
        for planned in &round.shots {
            if stored.contains(&(round.number, planned.case.clone())) {
                continue;
            }
            let done = summary.shots;
            observer.event(&Event::Firing { shot: planned, done, of });
            let record = one(
                request,
                &range,
                &mut contenders,
                store,
                round.number,
                planned,
            )?;
            store.append(&record).map_err(problem)?;
            summary.count(&record);
            let done = summary.shots;
            let left = started.elapsed() / (done - before) as u32
                * of.saturating_sub(done) as u32;
            observer.event(&Event::Stored { record: &record, done, of, left });
        }
    }
    Ok(())
}

fn one(
    request: &BenchRequest<'_>,
    range: &Range<'_>,
    contenders: &mut BTreeMap<EntryName, Contender<'_>>,
    store: &Store,
    round: u32,
    planned: &PlannedShot,
) -> Result<Record, Halt> {
    if request.interrupt.raised() {
        return Err(Halt::Interrupted);
    }
    let case = &planned.case;
    let profile = request
        .catalog
        .profile(case.profile.as_str())
        .map_err(|e| Halt::Problem(e.into()))?;
    let contender = contenders.get_mut(&case.entry).ok_or_else(|| {
        let why = format!("the plan names {}, who is not there", case.entry);
        Halt::Problem(Problem::Ours(why))
    })?;
    let started_at = now();
    let log = store.log(&format!(
        "{}-{}-{}-round{round}.log",
        case.entry, case.profile, case.level
    ));
    let ended = if contender.failed_starts >= MOST_FAILED_STARTS {
        let why = format!(
            "not tried again: its last {MOST_FAILED_STARTS} starts failed"
        );
        Ended::failed("start", why, "")
    } else {
        match contender.gate(&case.profile) {
            Err(lost) => Ended::failed(lost.stage, lost.why, lost.log_tail),
            Ok(artifact) => {
                let (entry, dir) = (contender.entry, &contender.dir);
                shoot(range, planned, entry, dir, artifact, profile, &log)?
            }
        }
    };
    match &ended.outcome {
        Outcome::Failed { stage, .. }
            if stage == "start" || stage == "ready" =>
        {
            contender.failed_starts += 1;
        }
        _ => contender.failed_starts = 0,
    }
    let mut record = Record {
        schema: RECORD_SCHEMA,
        run: range.place.run.to_string(),
        round,
        order: planned.order,
        case: case.clone(),
        capped_from: planned.capped_from,
        started_at,
        artifact_digest: contender.digest(),
        profile_digest: profile.digest.clone(),
        seed: planned.seed,
        ready_ns: ended.ready_ns,
        outcome: ended.outcome,
        warnings: ended.warnings,
        testimony: ended.testimony,
    };
    let found = contradictions(&record);
    record.warnings.extend(found);
    Ok(record)
}

/// What cannot be true at once in a shot that is otherwise sound.
fn contradictions(record: &Record) -> Vec<Warning> {
    let Some(sample) = record.valid() else { return Vec::new() };
    profiles::board::contradictions(record, sample)
        .into_iter()
        .map(|v| Warn::Inconsistent(v.to_string()).to_record())
        .collect()
}

fn now() -> String {
    // Whole seconds are enough to find a shot in a log. RFC 3339 can write
    // every year that a clock of today shows.
    let now = OffsetDateTime::now_utc().truncate_to_second();
    now.format(&Rfc3339).unwrap_or_default()
}

fn ours(error: crate::store::StoreError) -> Problem {
    Problem::Ours(error.to_string())
}

#[cfg(test)]
#[path = "runner/resume_tests.rs"]
mod resume_tests;
#[cfg(test)]
#[path = "runner/tests.rs"]
mod tests;
