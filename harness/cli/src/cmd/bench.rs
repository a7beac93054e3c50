//! `arena bench`: validate, fire, store, rank.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use harness::host::Artifact;
use harness::plan::{Plan, Preset};
use harness::problem::Problem;
use harness::rig::Rig;
use harness::runner::{
    self, BenchRequest, BenchSummary, Gate, Loadgen, NoVerdict, Witness,
};
use harness::sidecar;
use profiles::board::Stored;
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::record::{Settings, Testimony};
use profiles::verdict::Verdicts;
use validate::Target;

use super::{rank, resume, select, site};
use crate::args::{Bench, PresetName};
use crate::exit::{Class, class_of, fail};
use crate::judge::{self, Accused};
use crate::place::Place;
use crate::print;
use crate::progress::Progress;
use crate::session::Session;

/// What a run says made it.
pub const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " ", env!("BUILD_REVISION"));

/// Runs the whole plan and ends with the ranking.
pub fn run(place: &Place, args: &Bench, quiet: bool) -> anyhow::Result<Class> {
    let (mut catalog, whole) = place.catalog()?;
    let rig = Rig::here();
    let before = args.resume.as_deref();
    let before = before.map(|name| resume::read(place, name)).transpose()?;
    let mut wish = match &before {
        Some(before) => resume::wish(&before.run, args),
        None => args.clone(),
    };
    select::twins(&mut catalog, &mut wish)?;
    let entries = select::entries(&catalog, &wish.entries)?;
    let profiles = select::profiles(&catalog, &wish.profile)?;
    let plan = match &before {
        Some(before) => {
            let run = &before.run;
            planned(&entries, &profiles, run.settings.clone(), &rig, run.seed)?
        }
        None => plan(args, &entries, &profiles, &rig)?,
    };
    if args.list {
        print::text_out(&listing(&plan))?;
        return Ok(Class::Done);
    }
    let session = Session::open(place, wish.host, &rig, quiet)?;
    session.say(&format!(
        "{} shots in {} rounds, about {}, seed {}; pools: server {}, load {}, \
         aux {}",
        plan.shots(),
        plan.rounds.len(),
        harness::show::time(plan.estimate),
        plan.seed,
        rig.pools.server,
        rig.pools.load,
        rig.pools.aux,
    ));
    let fired = Fire { plan: &plan, before: before.as_ref() };
    let summary = fire(place, &session, &catalog, &fired, &rig, &profiles)?;
    let names = [summary.run.clone()];
    let stored = rank::load(place, &names)?;
    let results = rank::results(&stored)?;
    if args.json {
        print::json(&rank::document(&stored, &results)?)?;
    } else {
        print::text_out(&rank::table(&stored, &results)?)?;
    }
    session.say(&ending(&summary));
    if summary.interrupted {
        session.say(&format!(
            "`arena bench --resume {}` goes on with it",
            summary.run
        ));
    }
    if args.site {
        let page = site::build(place, &names, &place.site())?;
        session.say(&format!("page: {}", page.display()));
    }
    session.say(&format!("run:  {}", summary.dir.display()));
    let asked_all = args.entries.is_empty();
    Ok(match summary.class() {
        Class::Done if asked_all && !whole => Class::Usage,
        class => class,
    })
}

/// What to fire.
pub struct Fire<'a> {
    /// All of it.
    pub plan: &'a Plan,
    /// The run that has a part of it.
    pub before: Option<&'a Stored>,
}

/// Fires a plan and stores it under results/.
pub fn fire(
    place: &Place,
    session: &Session,
    catalog: &Catalog,
    what: &Fire<'_>,
    rig: &Rig,
    profiles: &[&Profile],
) -> anyhow::Result<BenchSummary> {
    let gun = Loadgen::new(loadgen()?);
    let secret = session.sidecars.borrow().secret();
    let beside = Beside { oracle: &session.oracle, secret };
    let request = BenchRequest {
        catalog,
        plan: what.plan,
        rig,
        host: &*session.host,
        gun: &gun,
        results: &place.results(),
        data_dir: &session.data_dir,
        data_digest: data_digest()?,
        arena: VERSION.into(),
        interrupt: &session.interrupt,
        greet: validate::greet,
        sidecars: Some(&session.sidecars),
        witness: Some(&beside),
        before: what.before,
    };
    let log = place.cache.join("validate.log");
    let seed = what.plan.seed;
    let mut gate = Judge { session, rig, catalog, profiles, log: &log, seed };
    let mut progress = Progress::new(session.quiet);
    Ok(runner::bench(&request, &mut gate, &mut progress)?)
}

/// The judge beside the gun.
struct Beside<'a> {
    oracle: &'a Oracle,
    /// What the tokens of stacks are signed with.
    secret: String,
}

impl Witness for Beside<'_> {
    fn watch(
        &self,
        address: SocketAddr,
        profile: &Profile,
        seed: u64,
        over: &AtomicBool,
    ) -> Testimony {
        let target = Target::default()
            .with(profile.port, address)
            .with_auth(sidecar::auth_address(), &self.secret);
        validate::witness(&target, profile, self.oracle, seed, over)
    }
}

/// Asks every entry afresh: a verdict is for the artifact that will run.
struct Judge<'a> {
    session: &'a Session,
    rig: &'a Rig,
    catalog: &'a Catalog,
    profiles: &'a [&'a Profile],
    log: &'a Path,
    seed: u64,
}

impl Gate for Judge<'_> {
    fn verdicts(
        &mut self,
        entry: &Entry,
        artifact: &Artifact,
    ) -> Result<Verdicts, NoVerdict> {
        let mine = select::subscribed(entry, self.profiles);
        let accused = Accused {
            catalog: self.catalog,
            entry,
            profiles: &mine,
            artifact,
            seed: self.seed,
            only: None,
        };
        let judged = judge::judge(self.session, self.rig, &accused, self.log);
        judged.map(|judged| judged.verdicts).map_err(|e| {
            if self.session.interrupt.raised() {
                return NoVerdict::Interrupted;
            }
            let why = format!("{e:#}");
            NoVerdict::Problem(match class_of(&e) {
                Class::Unfit => Problem::Unfit(why),
                Class::Usage => Problem::Usage(why),
                _ => Problem::Ours(why),
            })
        })
    }
}

fn plan(
    args: &Bench,
    entries: &[&Entry],
    profiles: &[&Profile],
    rig: &Rig,
) -> anyhow::Result<Plan> {
    let preset = match args.preset {
        PresetName::Smoke => Preset::Smoke,
        PresetName::Quick => Preset::Quick,
        PresetName::Standard => Preset::Standard,
        PresetName::Full => Preset::Full,
    };
    let mut settings = preset.settings();
    if let Some(rounds) = args.rounds {
        settings.rounds = rounds;
    }
    if let Some(window) = args.window {
        if window.as_nanos() == 0 {
            return Err(fail(Class::Usage, "a window of 0 measures nothing"));
        }
        settings.window_ns = Some(window.as_nanos());
    }
    let seed = args.seed.unwrap_or_else(select::drawn_seed);
    planned(entries, profiles, settings, rig, seed)
}

fn planned(
    entries: &[&Entry],
    profiles: &[&Profile],
    settings: Settings,
    rig: &Rig,
    seed: u64,
) -> anyhow::Result<Plan> {
    Plan::new(entries, profiles, settings, rig.limits, seed)
        .map_err(|why| fail(Class::Usage, why.to_string()))
}

fn listing(plan: &Plan) -> String {
    let head = ["ROUND", "ORDER", "ENTRY", "PROFILE", "LEVEL", "CAPPED FROM"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for round in &plan.rounds {
        for shot in &round.shots {
            rows.push(vec![
                round.number.to_string(),
                shot.order.to_string(),
                shot.case.entry.to_string(),
                shot.case.profile.to_string(),
                shot.case.level.to_string(),
                shot.capped_from.map_or("-".into(), |l| l.to_string()),
            ]);
        }
    }
    let notes: String =
        plan.notes.iter().map(|n| format!("note: {n}\n")).collect();
    format!(
        "{}{notes}{} shots, about {}, seed {}; nothing was fired\n",
        print::columns(&rows),
        plan.shots(),
        harness::show::time(plan.estimate),
        plan.seed
    )
}

fn ending(summary: &BenchSummary) -> String {
    let s = summary;
    let cut = if s.interrupted { "; interrupted" } else { "" };
    format!(
        "{} of {} shots are valid, {} failed, {} void, {} disqualified{cut}",
        s.valid, s.planned, s.failed, s.void, s.disqualified
    )
}

/// The gun beside this binary, unless ARENA_LOADGEN names another.
fn loadgen() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("ARENA_LOADGEN") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    Ok(own.with_file_name("loadgen"))
}

/// SHA-256 of the list of digests: names the data of a run.
fn data_digest() -> anyhow::Result<String> {
    let list: String = profiles::data::digests()?
        .iter()
        .map(|f| format!("{}  {}\n", f.sha256, f.path))
        .collect();
    Ok(profiles::data::sha256(list.as_bytes()))
}
