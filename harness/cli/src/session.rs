//! What `validate`, `bench` and `replay` share: a host, the data, the oracle.

use std::cell::RefCell;
use std::path::PathBuf;

use harness::host::{
    Artifact, Host, HostError, docker::DockerHost, local::Local,
};
use harness::interrupt::Interrupt;
use harness::problem::Problem;
use harness::rig::Rig;
use harness::sidecar::Sidecars;
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::oracle::Oracle;

use crate::args::HostName;
use crate::cmd::data;
use crate::exit::{Class, fail};
use crate::place::Place;

/// Everything set up once a command.
pub struct Session {
    /// Where entries run.
    pub host: Box<dyn Host>,
    /// The data's folder.
    pub data_dir: PathBuf,
    /// Knows the right answers over it.
    pub oracle: Oracle,
    /// What stands beside entries.
    pub sidecars: RefCell<Sidecars>,
    /// The wish to stop.
    pub interrupt: Interrupt,
    /// No progress on stderr.
    pub quiet: bool,
}

/// Why an entry gave nothing to run.
pub enum NotBuilt {
    /// The entry's fault: reason and the end of the build's output.
    Entry(String, String),
    /// Anything else ends the command.
    Other(anyhow::Error),
}

impl Session {
    /// Chooses the host and makes the data ready.
    pub fn open(
        place: &Place,
        host: Option<HostName>,
        rig: &Rig,
        quiet: bool,
    ) -> anyhow::Result<Session> {
        let interrupt = Interrupt::on_signals()?;
        let host = choose(place, host, &interrupt, quiet)?;
        let data_dir = data::ready(place, quiet)?;
        let oracle = Oracle::from_dir(&data_dir)?;
        let run = format!("beside-{}", std::process::id());
        let aux = Some(rig.pools.aux.clone());
        let sidecars = Sidecars::new(&run, aux, place.cache.clone());
        let sidecars = RefCell::new(sidecars);
        Ok(Session { host, data_dir, oracle, sidecars, interrupt, quiet })
    }

    /// Says what goes on, unless told to be quiet.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Builds one entry.
    pub fn build(
        &self,
        catalog: &Catalog,
        entry: &Entry,
    ) -> Result<Artifact, NotBuilt> {
        self.say(&format!(
            "{}: building on host {}",
            entry.name,
            self.host.name()
        ));
        let dir = catalog.entry_dir(entry);
        let mut progress = |_: &str| {};
        self.host.build(entry, &dir, &mut progress).map_err(|e| match e {
            HostError::Entry { why, log_tail } => {
                NotBuilt::Entry(why, log_tail)
            }
            other => NotBuilt::Other(host_error(other)),
        })
    }
}

/// A host's error with the exit code's class.
pub fn host_error(error: HostError) -> anyhow::Error {
    match error {
        HostError::Unfit(why) => Problem::Unfit(why).into(),
        HostError::Entry { why, .. } => fail(Class::Validation, why),
        HostError::Ours(why) => Problem::Ours(why).into(),
    }
}

fn choose(
    place: &Place,
    wish: Option<HostName>,
    interrupt: &Interrupt,
    quiet: bool,
) -> anyhow::Result<Box<dyn Host>> {
    let local = || -> Box<dyn Host> {
        Box::new(Local::with_cache(&place.cache, interrupt.clone()))
    };
    let host: Box<dyn Host> = match wish {
        Some(HostName::Local) => local(),
        Some(HostName::Docker) => Box::new(
            DockerHost::connect(interrupt.clone()).map_err(host_error)?,
        ),
        None => match DockerHost::connect(interrupt.clone()) {
            Ok(docker) => Box::new(docker),
            Err(_) => {
                if !quiet {
                    eprintln!(
                        "host local: no container engine answers \
                         (scripts/setup-docker.sh makes one; --host docker \
                         says why not)"
                    );
                }
                local()
            }
        },
    };
    host.check().map_err(host_error)?;
    Ok(host)
}
