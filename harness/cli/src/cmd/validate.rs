//! `arena validate`: every probe of the profiles an entry subscribes to.

use harness::host::Artifact;
use harness::rig::Rig;
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::oracle::Oracle;
use profiles::profile::Profile;

use super::{select, target};
use crate::args::Validate;
use crate::exit::{Class, fail};
use crate::judge::{self, Accused, Judged};
use crate::place::Place;
use crate::print;
use crate::session::{NotBuilt, Session};

/// Judges each entry; one that fails never stops the others.
pub fn run(
    place: &Place,
    args: &Validate,
    quiet: bool,
) -> anyhow::Result<Class> {
    if args.rules {
        return rules(args.json);
    }
    let (catalog, whole) = place.catalog()?;
    let entries = select::entries(&catalog, &args.entries)?;
    let profiles = select::profiles(&catalog, &args.profile)?;
    if !quiet {
        for note in entries.iter().flat_map(|entry| &entry.notes) {
            eprintln!("arena: note: {note}");
        }
    }
    let seed = args.seed.unwrap_or_else(select::drawn_seed);
    let only = args.replay.as_deref().map(known).transpose()?;
    let judged = match &args.target[..] {
        [] => started(
            place, args, quiet, &catalog, &entries, &profiles, seed, only,
        )?,
        texts => vec![running(texts, &entries, &profiles, seed, only)?],
    };
    for one in &judged {
        if args.json {
            print::json_line(&one.verdicts)?;
        } else {
            print::text_out(&judge::exchange(&one.lines))?;
            print::text_out(&judge::text(&one.verdicts))?;
        }
    }
    if judged.iter().any(|one| one.verdicts.failed > 0) {
        return Ok(Class::Validation);
    }
    // A bad meta file is a fault of the entries asked for only when all were.
    let asked_all = args.entries.is_empty();
    Ok(if whole || !asked_all { Class::Done } else { Class::Usage })
}

#[expect(
    clippy::too_many_arguments,
    reason = "one call, all of them different"
)]
fn started(
    place: &Place,
    args: &Validate,
    quiet: bool,
    catalog: &Catalog,
    entries: &[&Entry],
    profiles: &[&Profile],
    seed: u64,
    only: Option<&str>,
) -> anyhow::Result<Vec<Judged>> {
    let rig = Rig::here();
    let session = Session::open(place, args.host, &rig, quiet)?;
    let log = place.cache.join("validate.log");
    let mut out = Vec::new();
    for entry in entries {
        let profiles = chosen(entry, profiles)?;
        let nothing = Artifact { digest: String::new(), what: String::new() };
        let accused = |artifact| Accused {
            catalog,
            entry,
            profiles: &profiles,
            artifact,
            seed,
            only,
        };
        out.push(match session.build(catalog, entry) {
            Ok(made) => judge::judge(&session, &rig, &accused(&made), &log)?,
            Err(NotBuilt::Entry(why, tail)) => Judged {
                verdicts: judge::unbuilt(
                    &accused(&nothing),
                    "entry.build",
                    &why,
                    &tail,
                ),
                lines: Vec::new(),
            },
            Err(NotBuilt::Other(why)) => return Err(why),
        });
    }
    Ok(out)
}

/// The profiles to ask `entry` for; asking nothing is never a pass.
fn chosen<'a>(
    entry: &Entry,
    profiles: &[&'a Profile],
) -> anyhow::Result<Vec<&'a Profile>> {
    let mine = select::subscribed(entry, profiles);
    if mine.is_empty() {
        let own: Vec<_> = entry.profiles.iter().map(|p| p.as_str()).collect();
        return Err(fail(
            Class::Usage,
            format!(
                "entry `{}` subscribes to none of the profiles asked for; \
                 its meta.json lists: {}",
                entry.name,
                own.join(", ")
            ),
        ));
    }
    Ok(mine)
}

/// The id of a probe, if there is one of that name.
fn known(id: &str) -> anyhow::Result<&'static str> {
    let rules = validate::rules();
    if let Some(rule) = rules.iter().find(|rule| rule.id == id) {
        return Ok(rule.id);
    }
    let group = id.split('.').next().unwrap_or_default();
    let near: Vec<&str> = rules
        .iter()
        .map(|rule| rule.id)
        .filter(|id| id.split('.').next() == Some(group))
        .collect();
    let near = match near.is_empty() {
        true => "`arena validate --rules` lists them".into(),
        false => format!("those of `{group}` are: {}", near.join(", ")),
    };
    let id = print::safe(id);
    Err(fail(Class::Usage, format!("there is no probe `{id}`; {near}")))
}

/// Judges a server somebody else started.
fn running(
    texts: &[String],
    entries: &[&Entry],
    profiles: &[&Profile],
    seed: u64,
    only: Option<&str>,
) -> anyhow::Result<Judged> {
    let [entry] = entries else {
        return Err(fail(
            Class::Usage,
            "--target needs exactly one entry, which says what it serves",
        ));
    };
    let profiles = chosen(entry, profiles)?;
    let target = target::read(texts, &profiles)?;
    let questions = judge::Questions {
        entry,
        digest: "running",
        target: &target,
        profiles: &profiles,
        seed,
        only,
    };
    let judged = questions.ask(&Oracle::generated())?;
    match only {
        Some(id) if judged.verdicts.probes.is_empty() => {
            Err(judge::not_asked(id, entry))
        }
        _ => Ok(judged),
    }
}

fn rules(json: bool) -> anyhow::Result<Class> {
    let rules = validate::rules();
    if json {
        print::json(&rules)?;
        return Ok(Class::Done);
    }
    for rule in rules {
        let announced =
            rule.announced.map(|day| format!("  only a warning until {day}\n"));
        print::text_out(&format!(
            "{} (version {}; {})\n  {}\n  source: {}\n  legal: {}\n{}",
            rule.id,
            rule.version,
            rule.profiles.join(", "),
            rule.rule,
            rule.source,
            rule.legal,
            announced.unwrap_or_default(),
        ))?;
    }
    Ok(Class::Done)
}
