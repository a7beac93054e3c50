//! A run's description, frozen with it.

use profiles::{
    entry::Entry,
    profile::Profile,
    record::{Contestant, EPOCH, Fired, RECORD_SCHEMA, Run},
};
use time::OffsetDateTime;

use super::{BenchRequest, now};
use crate::store::run_id;

/// The entries of the plan, in the catalog's order.
pub fn taking_part<'a>(
    request: &'a BenchRequest<'_>,
) -> impl Iterator<Item = &'a Entry> {
    let first = request.plan.rounds.first();
    request.catalog.entries.iter().filter(move |entry| {
        first
            .is_some_and(|r| r.shots.iter().any(|s| s.case.entry == entry.name))
    })
}

/// `run.json` as it is before the first shot.
pub fn describe(request: &BenchRequest<'_>, loadgen: String) -> Run {
    let plan = request.plan;
    let levels = |profile: &Profile| {
        let found = plan.levels.iter().find(|(name, _)| *name == profile.name);
        found.map(|(_, l)| l.iter().map(|l| l.connections).collect::<Vec<_>>())
    };
    let fired = |profile: &Profile| Fired {
        name: profile.name.clone(),
        title: profile.title.clone(),
        digest: profile.digest.clone(),
        family: profile.family,
        metric: profile.metric,
        leagues: match profile.scored {
            true => profile.leagues.clone(),
            false => Vec::new(),
        },
        fired: levels(profile).is_some(),
        levels: levels(profile).unwrap_or_default(),
    };
    let contestant = |entry: &Entry| Contestant {
        name: entry.name.clone(),
        display_name: entry.display_name.clone(),
        kind: entry.kind.as_str().into(),
        league: entry.league(),
        language: entry.language.clone(),
        engine: entry.engine.clone(),
        version: entry.version.clone(),
        repo: entry.repo.clone(),
        artifact_digest: String::new(),
        profiles: entry.profiles.clone(),
        twin_of: (entry.home != entry.name).then(|| entry.home.clone()),
    };
    Run {
        schema: RECORD_SCHEMA,
        epoch: EPOCH,
        run: run_id(OffsetDateTime::now_utc(), plan.seed),
        started_at: now(),
        ended_at: None,
        resumed_at: Vec::new(),
        arena: request.arena.clone(),
        loadgen,
        host: request.host.name().into(),
        seed: plan.seed,
        settings: plan.settings.clone(),
        pools: request.rig.pools.clone(),
        environment: request.rig.environment(&request.host.engine()),
        data_digest: request.data_digest.clone(),
        entries: taking_part(request).map(contestant).collect(),
        profiles: request.catalog.profiles.iter().map(fired).collect(),
    }
}
