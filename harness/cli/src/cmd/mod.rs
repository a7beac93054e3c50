//! One file a command; each has `run`.

pub mod bench;
mod clean;
mod compare;
pub mod data;
mod doctor;
mod list;
mod rank;
mod replay;
mod resume;
mod select;
mod site;
mod target;
mod validate;

use crate::args::{Args, Command};
use crate::exit::Class;
use crate::place::Place;

/// Does what was asked.
pub fn run(args: &Args) -> anyhow::Result<Class> {
    let place = Place::find(args.root.as_deref())?;
    match &args.command {
        Command::List(list) => list::run(&place, list),
        Command::Doctor(doctor) => doctor::run(&place, doctor),
        Command::Data(data) => data::run(&place, data, args.quiet),
        Command::Validate(validate) => {
            validate::run(&place, validate, args.quiet)
        }
        Command::Bench(bench) => bench::run(&place, bench, args.quiet),
        Command::Rank(rank) => rank::run(&place, rank),
        Command::Compare(compare) => compare::run(&place, compare),
        Command::Replay(replay) => replay::run(&place, replay, args.quiet),
        Command::Site(site) => site::run(&place, site),
        Command::Clean(_) => clean::run(&place),
    }
}
