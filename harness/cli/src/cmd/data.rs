//! `arena data`: the generated data, made or checked.

use std::time::Instant;

use anyhow::Context as _;

use crate::args::Data;
use crate::exit::{Class, fail};
use crate::place::Place;
use crate::print;

/// Makes the data folder hold exactly what the committed digests list.
pub fn run(place: &Place, args: &Data, quiet: bool) -> anyhow::Result<Class> {
    if args.check {
        return check(place);
    }
    let dir = ready(place, quiet)?;
    print::text_out(&format!("{}\n", dir.display()))?;
    Ok(Class::Done)
}

/// The data folder, made or mended if need be.
pub fn ready(place: &Place, quiet: bool) -> anyhow::Result<std::path::PathBuf> {
    let dir = place.data();
    let began = Instant::now();
    let made = profiles::data::write(&dir).context("generating the data")?;
    if !quiet && made.written > 0 {
        let took = began.elapsed().as_secs_f64();
        eprintln!(
            "data: wrote {} of {} files to {} in {took:.1} s",
            made.written,
            made.files,
            dir.display()
        );
    }
    Ok(dir)
}

fn check(place: &Place) -> anyhow::Result<Class> {
    let dir = place.data();
    let list = profiles::data::digests()?;
    let mut bad = Vec::new();
    for file in &list {
        let path = dir.join(file.path);
        match std::fs::read(&path) {
            Err(why) => bad.push(format!("{}: {why}", path.display())),
            Ok(bytes) => {
                let found = profiles::data::sha256(&bytes);
                if found != file.sha256 {
                    bad.push(format!(
                        "{}: expected {}, found {found}",
                        path.display(),
                        file.sha256
                    ));
                }
            }
        }
    }
    if bad.is_empty() {
        print::text_out(&format!("{} files are right\n", list.len()))?;
        return Ok(Class::Done);
    }
    Err(fail(
        Class::Ours,
        format!("{}; run `arena data` to mend", bad.join("; ")),
    ))
}
