//! Which probes are run, and for which profiles one answer holds.

use std::collections::BTreeSet;

use profiles::profile::{Kind, Profile};

use crate::probe::{Probe, Scope};
use crate::probes;

/// A probe, and the profiles its outcome holds for.
pub(crate) struct Job<'a> {
    pub(crate) probe: &'static Probe,
    pub(crate) profiles: Vec<&'a Profile>,
}

impl Job<'_> {
    /// Whether its profile's requests write rows: nothing that compares rows
    /// with those of the data may run beside it or after it.
    pub(crate) fn writes(&self) -> bool {
        let writes = |kind: &Kind| {
            matches!(
                kind,
                Kind::CrudUpdate { .. }
                    | Kind::CrudCreate { .. }
                    | Kind::ItemWrite { .. }
            )
        };
        let mut classes = self.profiles.iter().flat_map(|p| &p.classes);
        classes.any(|class| writes(&class.kind))
    }

    /// The number of the probe's own stream of chance: the same whatever else
    /// is asked, and another on each listener.
    pub(crate) fn lane(&self) -> u64 {
        let profile = match self.probe.scope {
            Scope::Each => self.profiles[0].name.as_str().to_string(),
            Scope::Once => door(self.profiles[0]),
        };
        // FNV-1a.
        let id = self.probe.id.bytes();
        let bytes = id.chain([b'/']).chain(profile.bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// What tells listeners apart: profiles behind one door are served by the
/// same code on the same port. A stack is a listener of its own.
fn door(profile: &Profile) -> String {
    let stack = match profile.server.services.is_empty() {
        true => "",
        false => profile.name.as_str(),
    };
    format!("{:?}/{}/{stack}", profile.protocol, profile.port)
}

/// The jobs for these profiles, in the order of the registry; with `only`
/// those of one probe.
pub(crate) fn jobs<'a>(
    selected: &[&'a Profile],
    only: Option<&str>,
) -> Vec<Job<'a>> {
    let mut seen = BTreeSet::new();
    let mut once = selected.to_vec();
    once.retain(|p| seen.insert(&p.name));
    probes::all()
        .filter(|probe| only.is_none_or(|id| id == probe.id))
        .flat_map(|probe| {
            let mut these = once.clone();
            these.retain(|p| probe.profiles.contains(&p.name.as_str()));
            let split = match probe.scope {
                Scope::Once => by_door(these),
                Scope::Each => these.into_iter().map(|p| vec![p]).collect(),
            };
            split.into_iter().map(move |profiles| Job { probe, profiles })
        })
        .collect()
}

fn by_door(profiles: Vec<&Profile>) -> Vec<Vec<&Profile>> {
    let mut groups: Vec<Vec<&Profile>> = Vec::new();
    for profile in profiles {
        let same = |g: &&mut Vec<&Profile>| door(g[0]) == door(profile);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(profile),
            None => groups.push(vec![profile]),
        }
    }
    groups
}
