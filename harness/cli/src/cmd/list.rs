//! `arena list`: all profiles and entries.

use profiles::entry::Entry;
use profiles::profile::{League, Profile};
use serde_json::json;

use crate::args::List;
use crate::exit::Class;
use crate::place::Place;
use crate::print;

/// Prints the catalog. Bad entries are on stderr and make it exit code 2.
pub fn run(place: &Place, args: &List) -> anyhow::Result<Class> {
    let (catalog, whole) = place.catalog()?;
    if args.json {
        let profiles: Vec<_> = catalog.profiles.iter().map(profile).collect();
        let entries: Vec<_> = catalog.entries.iter().map(entry).collect();
        print::json(&json!({ "profiles": profiles, "entries": entries }))?;
    } else {
        let head =
            ["PROFILE", "FAMILY", "PORT", "LEVELS", "SCORED FOR", "BESIDE"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(catalog.profiles.iter().map(profile_row));
        print::text_out(&print::columns(&rows))?;
        let head = ["\nENTRY", "TYPE", "LANGUAGE", "VERSION", "PROFILES"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(catalog.entries.iter().map(entry_row));
        print::text_out(&print::columns(&rows))?;
    }
    Ok(if whole { Class::Done } else { Class::Usage })
}

fn profile(p: &Profile) -> serde_json::Value {
    json!({
        "name": p.name,
        "title": p.title,
        "scored": p.scored,
        "leagues": p.leagues,
        "family": p.family,
        "protocol": p.protocol,
        "port": p.port,
        "levels": p.load.levels,
        "in_flight": p.load.in_flight,
        "requests_per_connection": p.load.requests_per_connection,
        "sidecars": p.server.sidecars,
        "services": p.server.services,
    })
}

fn entry(e: &Entry) -> serde_json::Value {
    json!({
        "name": e.name,
        "display_name": e.display_name,
        "type": e.kind,
        "league": e.league(),
        "language": e.language,
        "engine": e.engine,
        "version": e.version,
        "enabled": e.enabled,
        "profiles": e.profiles,
    })
}

fn profile_row(p: &Profile) -> Vec<String> {
    let levels: Vec<_> = p.load.levels.iter().map(u32::to_string).collect();
    let leagues: Vec<_> = League::ALL
        .into_iter()
        .filter(|l| p.scored_for(*l))
        .map(League::as_str)
        .collect();
    let family = serde_json::to_value(p.family).unwrap_or_default();
    let sidecars = serde_json::to_value(&p.server.sidecars).unwrap_or_default();
    let sidecars = sidecars.as_array().into_iter().flatten();
    let beside: Vec<&str> = sidecars
        .filter_map(|s| s.as_str())
        .chain(p.server.services.iter().map(String::as_str))
        .collect();
    vec![
        p.name.to_string(),
        family.as_str().unwrap_or_default().to_string(),
        p.port.to_string(),
        levels.join(" "),
        leagues.join(" "),
        beside.join(" "),
    ]
}

fn entry_row(e: &Entry) -> Vec<String> {
    let profiles: Vec<_> = e.profiles.iter().map(|p| p.as_str()).collect();
    vec![
        e.name.to_string(),
        e.kind.as_str().to_string(),
        print::safe(&e.language),
        print::safe(&e.version),
        profiles.join(" "),
    ]
}
