//! One shot: start, ready, fire, look, stop. Always ends in an outcome.

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use profiles::{
    cpuset::CpuSet,
    data::USERS,
    entry::Entry,
    profile::{Profile, Sidecar},
    record::{Outcome, Pools, Testimony, Warning},
    sample::Shot,
    spec::{SPEC_SCHEMA, Spec, Token},
};

use time::OffsetDateTime;

use super::{
    checks::{self, Seen},
    gun::{Gun, Misfire},
    serve::{NotServed, Place, Served, serve},
    watching::{Watched, Watching},
};
use crate::{
    host::{Artifact, last_line},
    plan::PlannedShot,
    problem::Problem,
    watch::{Meter, proc},
};

/// All connections must be made within this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the tokens of a shot are good for.
const TOKEN_S: u64 = 24 * 3600;
/// An answer that takes longer is a time-out.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks beside the gun, by other code and on connections of its own: an entry
/// that answers the gun otherwise than the judge is found out by either.
pub trait Witness: Sync {
    /// Asks the server at `address` now and then, in `profile`'s own words
    /// drawn from `seed`, until `over`.
    fn watch(
        &self,
        address: SocketAddr,
        profile: &Profile,
        seed: u64,
        over: &AtomicBool,
    ) -> Testimony;
}

/// What all shots of a run have in common.
#[derive(Clone, Copy)]
pub struct Range<'a> {
    /// Where entries run.
    pub place: Place<'a>,
    /// Who fires.
    pub gun: &'a dyn Gun,
    /// Who uses which CPUs.
    pub pools: &'a Pools,
    /// The data folder, for the gun.
    pub data_dir: &'a Path,
    /// Load that is thrown away.
    pub warmup_ns: u64,
    /// Longest gap.
    pub gap_ns: u64,
    /// The window; `None` is the profile's own.
    pub window_ns: Option<u64>,
    /// Who asks meanwhile, if anybody.
    pub witness: Option<&'a dyn Witness>,
}

/// How one shot ended.
#[derive(Debug)]
pub struct Ended {
    /// For the record.
    pub outcome: Outcome,
    /// For the record.
    pub warnings: Vec<Warning>,
    /// From start to first answer.
    pub ready_ns: Option<u64>,
    /// What the judge saw meanwhile.
    pub testimony: Option<Testimony>,
}

impl Ended {
    /// Without a window.
    pub fn failed(
        stage: &str,
        why: impl Into<String>,
        log_tail: impl Into<String>,
    ) -> Ended {
        let (why, log_tail) = (why.into(), log_tail.into());
        let outcome = Outcome::Failed { stage: stage.into(), why, log_tail };
        let (warnings, ready_ns, testimony) = Default::default();
        Ended { outcome, warnings, ready_ns, testimony }
    }
}

/// Why there is no outcome: the run ends here.
#[derive(Debug)]
pub enum Halt {
    /// The user wants it so.
    Interrupted,
    /// The machine or the tool cannot go on.
    Problem(Problem),
}

/// Fires `planned` at a fresh start of `entry`.
pub fn shoot(
    range: &Range<'_>,
    planned: &PlannedShot,
    entry: &Entry,
    dir: &Path,
    artifact: &Artifact,
    profile: &Profile,
    log: &Path,
) -> Result<Ended, Halt> {
    let place = &range.place;
    let mut served = match serve(place, entry, dir, artifact, &[profile], log) {
        Ok(served) => served,
        Err(NotServed::Entry { stage, why, log_tail }) => {
            return Ok(Ended::failed(stage, why, log_tail));
        }
        Err(NotServed::Interrupted) => return Err(Halt::Interrupted),
        Err(NotServed::Host(error)) => return Err(Halt::Problem(error.into())),
    };
    let ended = fire(range, planned, profile, &mut served);
    let stopped = served.server.stop();
    let mut ended = ended?;
    if let Outcome::Measured { void, .. } = &mut ended.outcome
        && profile.server.sidecars.contains(&Sidecar::Postgres)
        && let Some(beside) = place.sidecars
    {
        void.extend(beside.borrow_mut().tampered());
    }
    ended.ready_ns = Some(served.ready.as_nanos() as u64);
    stopped.map_err(|e| Halt::Problem(e.into()))?;
    Ok(ended)
}

fn fire(
    range: &Range<'_>,
    planned: &PlannedShot,
    profile: &Profile,
    served: &mut Served,
) -> Result<Ended, Halt> {
    let spec = spec(range, planned, profile, served);
    let server = &mut served.server;
    let pools = range.pools;
    let both = pools.server.iter().chain(pools.load.iter());
    let both = CpuSet::new(both).unwrap_or_else(|| pools.server.clone());
    let meter = Meter::of(&**server);
    let mut apart: Vec<(String, Meter)> = server
        .services()
        .into_iter()
        .filter_map(|(name, s)| Some((name.to_string(), Meter::of(s)?)))
        .collect();
    if let Some(beside) = range.place.sidecars {
        apart.extend(beside.borrow().meters(profile));
    }
    let mut watching =
        Watching::new(meter, both, range.place.interrupt).with(apart);
    let over = AtomicBool::new(false);
    let (fired, testimony) = thread::scope(|scope| {
        let (address, seed) = (served.address, planned.seed);
        let beside = range.witness.map(|witness| {
            let over = &over;
            scope.spawn(move || witness.watch(address, profile, seed, over))
        });
        let fired = range.gun.fire(&spec, &mut watching);
        over.store(true, Ordering::Relaxed);
        // A witness that panicked has seen nothing.
        (fired, beside.and_then(|thread| thread.join().ok()))
    });
    let shot = match fired {
        Ok(shot) => shot,
        Err(Misfire::Interrupted) => return Err(Halt::Interrupted),
        Err(Misfire::NotRun(why)) => {
            return Err(Halt::Problem(Problem::Ours(why)));
        }
        Err(misfire) => {
            let tail = server.log_tail();
            return Ok(Ended::failed("fire", misfire.to_string(), tail));
        }
    };
    let exit = server.exited();
    let sample = match shot {
        Shot::Measured(sample) => sample,
        Shot::Failed(failure) => {
            let mut why = failure.why;
            for (errno, n) in &failure.connect_errors {
                why += &format!("; {errno} {n}");
            }
            if let Some(exit) = exit {
                why += &format!("; the server {exit}");
            }
            return Ok(Ended::failed(&failure.stage, why, server.log_tail()));
        }
    };
    let strayed = match (range.place.host.pretends(), range.place.rig) {
        (false, Some(rig)) => proc::strayed(&server.pids(), &rig.pools.server),
        _ => None,
    };
    let last_words = exit.and_then(|_| last_line(&server.log_tail()));
    let watched = watching.watched();
    let shortfalls = &served.shortfalls;
    let seen = Seen { pools, exit, last_words, strayed, watched, shortfalls };
    let mut void = checks::void(&sample, &seen);
    if let Some(wrong) = testimony.as_ref().and_then(|t| t.wrong.as_deref()) {
        let wrong = crate::show::line(wrong);
        void.push(format!("beside the load the judge was told wrong: {wrong}"));
    }
    let warnings = checks::warnings(&sample, &seen);
    let warnings = warnings.iter().map(|w| w.to_record()).collect();
    let Watched { server, load, services, .. } = seen.watched;
    let outcome = Outcome::Measured { sample, server, load, services, void };
    Ok(Ended { outcome, warnings, ready_ns: None, testimony })
}

fn spec(
    range: &Range<'_>,
    planned: &PlannedShot,
    profile: &Profile,
    served: &Served,
) -> Spec {
    let connections = planned.case.level;
    let load = &range.pools.load;
    let own = profile.load.window.as_nanos() as u64;
    Spec {
        schema: SPEC_SCHEMA,
        profile: profile.name.clone(),
        definition: profile.source.clone(),
        target: served.address,
        connections,
        threads: (load.count() as u32).min(connections).max(1),
        cpus: Some(load.clone()),
        seed: planned.seed,
        connect_timeout_ns: CONNECT_TIMEOUT.as_nanos() as u64,
        warmup_ns: range.warmup_ns,
        gap_ns: range.gap_ns,
        window_ns: range.window_ns.unwrap_or(own),
        timeout_ns: TIMEOUT.as_nanos() as u64,
        data_dir: range.data_dir.to_path_buf(),
        rate_per_s: None,
        engine: Default::default(),
        tokens: tokens(&range.place, profile),
    }
}

/// Fresh tokens for every user, where a class of the profile sends them.
fn tokens(place: &Place<'_>, profile: &Profile) -> Vec<Token> {
    if !profile.classes.iter().any(|class| class.bearer) {
        return Vec::new();
    }
    let secret = place.secret();
    let expires = OffsetDateTime::now_utc().unix_timestamp() as u64 + TOKEN_S;
    USERS
        .iter()
        .map(|user| Token {
            user: user.id,
            token: profiles::token::mint(&secret, user.id, expires),
        })
        .collect()
}
