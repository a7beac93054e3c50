//! `arena replay`: one stored case again, with its own seed and settings.

use harness::plan::{Level, Plan, PlannedShot, Round};
use harness::rig::Rig;
use profiles::record::{Outcome, Record};

use super::{bench, rank, resume};
use crate::args::Replay;
use crate::exit::{Class, fail};
use crate::place::Place;
use crate::print;
use crate::session::Session;

/// Fires the shot as a run of its own and prints both numbers.
pub fn run(place: &Place, args: &Replay, quiet: bool) -> anyhow::Result<Class> {
    let stored = rank::load(place, std::slice::from_ref(&args.run))?;
    let (run, records) = (&stored[0].run, &stored[0].records);
    let old = find(records, &args.case, args.round)?;
    let (catalog, _) = place.catalog()?;
    catalog.entry(old.case.entry.as_str())?;
    let profile = catalog.profile(old.case.profile.as_str())?;
    if profile.digest != old.profile_digest {
        eprintln!(
            "arena: warning: the definition of {} has changed since; the \
             numbers are not comparable",
            profile.name
        );
    }
    let host = resume::host(run);
    let rig = Rig::here();
    let session = Session::open(place, Some(host), &rig, quiet)?;
    let shot = PlannedShot {
        order: 1,
        case: old.case.clone(),
        capped_from: old.capped_from,
        seed: old.seed,
    };
    let level =
        Level { connections: old.case.level, capped_from: old.capped_from };
    let mut settings = run.settings.clone();
    settings.rounds = 1;
    let plan = Plan {
        seed: run.seed,
        settings,
        rounds: vec![Round { number: 1, shots: vec![shot] }],
        levels: vec![(old.case.profile.clone(), vec![level])],
        notes: Vec::new(),
        estimate: profile.load.window,
    };
    let profiles = [profile];
    let fired = bench::Fire { plan: &plan, before: None };
    let done = bench::fire(place, &session, &catalog, &fired, &rig, &profiles)?;
    let again = rank::load(place, std::slice::from_ref(&done.run))?;
    let new = again[0].records.first();
    print::text_out(&format!(
        "then   {}\nagain  {}\nrun    {}\n",
        harness::show::shot(old),
        new.map_or("not fired".into(), harness::show::shot),
        done.dir.display()
    ))?;
    if let Some(new) = new
        && new.artifact_digest != old.artifact_digest
    {
        eprintln!("arena: warning: another build of the entry ran");
    }
    Ok(done.class())
}

fn find<'a>(
    records: &'a [Record],
    case: &str,
    round: u32,
) -> anyhow::Result<&'a Record> {
    let name = |r: &Record| {
        let c = &r.case;
        format!("{}/{}/{}", c.entry, c.profile, c.level)
    };
    if let Some(found) =
        records.iter().find(|r| r.round == round && name(r) == case)
    {
        return Ok(found);
    }
    let mut known: Vec<String> = records
        .iter()
        .filter(|r| matches!(r.outcome, Outcome::Measured { .. }))
        .map(name)
        .collect();
    known.sort();
    known.dedup();
    let list = if known.is_empty() { "none".into() } else { known.join(", ") };
    Err(fail(
        Class::Usage,
        format!(
            "no shot of `{}` in round {round}; cases measured: {list}",
            print::safe(case)
        ),
    ))
}
