//! Which entries, which profiles, which host: the choices commands share.

use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::profile::Profile;

use crate::args::Bench;
use crate::exit::{Class, fail};

/// The entries named, or all enabled ones. Named twice counts once.
pub fn entries<'a>(
    catalog: &'a Catalog,
    names: &[String],
) -> anyhow::Result<Vec<&'a Entry>> {
    if names.is_empty() {
        let all: Vec<_> =
            catalog.entries.iter().filter(|e| e.enabled).collect();
        if all.is_empty() {
            return Err(fail(Class::Usage, "no enabled entry in frameworks/"));
        }
        return Ok(all);
    }
    let mut out: Vec<&Entry> = Vec::new();
    for name in names {
        let entry = catalog.entry(name)?;
        if !out.iter().any(|e| e.name == entry.name) {
            out.push(entry);
        }
    }
    Ok(out)
}

/// Enters the entries of `--aa` a second time.
pub fn twins(catalog: &mut Catalog, wish: &mut Bench) -> anyhow::Result<()> {
    for name in &wish.aa {
        let twin = catalog.entry(name)?.twin()?;
        if catalog.entries.iter().any(|e| e.name == twin.name) {
            continue;
        }
        if !wish.entries.is_empty() {
            wish.entries.extend([name.clone(), twin.name.to_string()]);
        }
        catalog.entries.push(twin);
    }
    // In the order of their names, as they were read.
    catalog.entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(())
}

/// The profiles named, or all.
pub fn profiles<'a>(
    catalog: &'a Catalog,
    names: &[String],
) -> anyhow::Result<Vec<&'a Profile>> {
    if names.is_empty() {
        return Ok(catalog.profiles.iter().collect());
    }
    let mut out: Vec<&Profile> = Vec::new();
    for name in names {
        let profile = catalog.profile(name)?;
        if !out.iter().any(|p| p.name == profile.name) {
            out.push(profile);
        }
    }
    Ok(out)
}

/// Of `profiles`, those `entry` subscribes to.
pub fn subscribed<'a>(
    entry: &Entry,
    profiles: &[&'a Profile],
) -> Vec<&'a Profile> {
    profiles
        .iter()
        .filter(|p| entry.profiles.contains(&p.name))
        .copied()
        .collect()
}

/// A seed nobody chose, printed wherever it is used.
pub fn drawn_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    // RandomState is keyed from the system's randomness. 53 bits survive
    // every JSON reader.
    RandomState::new().hash_one(std::process::id()) >> 11
}
