//! `arena validate`: every probe of the profiles an entry subscribes to.

use std::net::{SocketAddr, ToSocketAddrs as _};

use harness::host::Artifact;
use harness::rig::Rig;
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::verdict::Verdicts;
use validate::{Options, Target};

use super::select;
use crate::args::Validate;
use crate::exit::{Class, fail};
use crate::judge::{self, Accused};
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
        return rules();
    }
    let (catalog, whole) = place.catalog()?;
    let entries = select::entries(&catalog, &args.entries)?;
    let profiles = select::profiles(&catalog, &args.profile)?;
    let seed = args.seed.unwrap_or_else(select::drawn_seed);
    let verdicts = match &args.target {
        Some(url) => vec![running(url, &entries, &profiles, seed)?],
        None => {
            started(place, args, quiet, &catalog, &entries, &profiles, seed)?
        }
    };
    for one in &verdicts {
        if args.json {
            print::json_line(one)?;
        } else {
            print::text_out(&judge::text(one))?;
        }
    }
    if verdicts.iter().any(|v| v.failed > 0) {
        return Ok(Class::Validation);
    }
    // A bad meta file is a fault of the entries asked for only when all were.
    let asked_all = args.entries.is_empty();
    Ok(if whole || !asked_all { Class::Done } else { Class::Usage })
}

fn started(
    place: &Place,
    args: &Validate,
    quiet: bool,
    catalog: &Catalog,
    entries: &[&Entry],
    profiles: &[&Profile],
    seed: u64,
) -> anyhow::Result<Vec<Verdicts>> {
    let session = Session::open(place, args.host, quiet)?;
    let rig = Rig::here();
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
        };
        out.push(match session.build(catalog, entry) {
            Ok(made) => judge::judge(&session, &rig, &accused(&made), &log)?,
            Err(NotBuilt::Entry(why, tail)) => {
                judge::unbuilt(&accused(&nothing), "entry.build", &why, &tail)
            }
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

/// Judges a server somebody else started.
fn running(
    url: &str,
    entries: &[&Entry],
    profiles: &[&Profile],
    seed: u64,
) -> anyhow::Result<Verdicts> {
    let [entry] = entries else {
        return Err(fail(
            Class::Usage,
            "--target needs exactly one entry, which says what it serves",
        ));
    };
    let profiles = chosen(entry, profiles)?;
    let target = Target::local(address(url)?);
    let oracle = Oracle::generated();
    let options = Options::new(seed);
    let digest = "running";
    Ok(validate::validate(
        &entry.name,
        digest,
        &target,
        &profiles,
        &oracle,
        &options,
    ))
}

fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let bad = || {
        fail(
            Class::Usage,
            format!(
                "`{}` is not a target; write http://127.0.0.1:8080",
                print::safe(url)
            ),
        )
    };
    let rest = url.strip_prefix("http://").ok_or_else(bad)?;
    let rest = rest.trim_end_matches('/');
    let found = rest.to_socket_addrs().map_err(|_| bad())?;
    found.into_iter().next().ok_or_else(bad)
}

fn rules() -> anyhow::Result<Class> {
    for rule in validate::rules() {
        print::text_out(&format!(
            "{} (version {}; {})\n  {}\n  source: {}\n  legal: {}\n",
            rule.id,
            rule.version,
            rule.profiles.join(", "),
            rule.rule,
            rule.source,
            rule.legal
        ))?;
    }
    Ok(Class::Done)
}
