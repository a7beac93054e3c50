//! `arena bench --resume`: what a run that was cut off had asked for.

use profiles::board::Stored;
use profiles::record::{Contestant, Run};

use super::rank;
use crate::args::{Bench, HostName};
use crate::exit::{Class, fail};
use crate::place::Place;

/// The run, if there is something left of it.
pub fn read(place: &Place, name: &str) -> anyhow::Result<Stored> {
    let mut stored = rank::load(place, &[name.to_owned()])?;
    let stored = stored.remove(0);
    match &stored.run.ended_at {
        None => Ok(stored),
        Some(ended) => Err(fail(
            Class::Usage,
            format!(
                "run {run} ended whole at {ended}, nothing of it is left; \
                 `arena rank {run}` ranks it",
                run = stored.run.run
            ),
        )),
    }
}

/// What it had been asked for, in the words of the command line.
pub fn wish(run: &Run, args: &Bench) -> Bench {
    let fired = run.profiles.iter().filter(|p| p.fired);
    Bench {
        entries: run.entries.iter().map(|e| e.name.to_string()).collect(),
        profile: fired.map(|p| p.name.to_string()).collect(),
        host: Some(host(run)),
        aa: run.entries.iter().filter_map(twin).collect(),
        ..args.clone()
    }
}

fn twin(one: &Contestant) -> Option<String> {
    one.twin_of.as_ref().map(ToString::to_string)
}

/// Where its entries ran.
pub fn host(run: &Run) -> HostName {
    match run.host.as_str() {
        "docker" => HostName::Docker,
        _ => HostName::Local,
    }
}
