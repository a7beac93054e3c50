//! `arena clean`: what dead runs left behind.

use harness::host::{Host, docker::DockerHost, local::Local};
use harness::interrupt::Interrupt;

use crate::exit::{Class, fail};
use crate::place::Place;
use crate::print;

/// Removes containers and groups with our label and nothing else.
pub fn run(place: &Place) -> anyhow::Result<Class> {
    let local = Local::with_cache(&place.cache, Interrupt::default());
    let mut hosts: Vec<Box<dyn Host>> = vec![Box::new(local)];
    match DockerHost::connect(Interrupt::default()) {
        Ok(docker) => hosts.push(Box::new(docker)),
        Err(why) => eprintln!("arena: docker is left out: {why}"),
    }
    for host in hosts {
        let removed = host
            .clean(None)
            .map_err(|why| fail(Class::Ours, why.to_string()))?;
        let what = format!("{}: removed {removed}\n", host.name());
        print::text_out(&what)?;
    }
    Ok(Class::Done)
}
