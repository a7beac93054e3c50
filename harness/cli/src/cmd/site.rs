//! `arena site`: the leaderboard from stored runs.

use profiles::score::Options;

use super::rank;
use crate::args::{Site, SiteWhat};
use crate::exit::Class;
use crate::place::Place;
use crate::print;

/// Builds the site and names its first page.
pub fn run(place: &Place, args: &Site) -> anyhow::Result<Class> {
    let SiteWhat::Build { runs, out } = &args.what;
    let out = match out {
        Some(out) => out.clone(),
        None => place.site(),
    };
    let page = build(place, runs, &out)?;
    print::text_out(&format!("{}\n", page.display()))?;
    Ok(Class::Done)
}

/// Builds the site from `runs` and returns its first page.
pub fn build(
    place: &Place,
    runs: &[String],
    out: &std::path::Path,
) -> anyhow::Result<std::path::PathBuf> {
    let stored = rank::load(place, runs)?;
    Ok(site::build(&stored, &validate::rules(), &Options::default(), out)?)
}
