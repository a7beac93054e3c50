//! One dishonest or broken server of the gallery, whatever it speaks.

use profiles::profile::Profile;
use profiles::verdict::Verdicts;
use validate::{Options, Replay, Target, replay, validate};

use crate::support::{data, profiles, without_folder};

/// A server that runs until it is dropped.
pub trait Running: Send + Sync {
    fn target(&self) -> Target;
}

pub struct Row {
    /// The cheat's name.
    pub name: String,
    /// What it is judged for.
    pub profiles: &'static [&'static str],
    pub start: Box<dyn Fn() -> Box<dyn Running> + Send + Sync>,
    /// Its honest twin.
    pub honest: fn() -> Box<dyn Running>,
    /// The probes that are there to catch it.
    pub named: Vec<&'static str>,
    /// Probes that may see it as well, because they cannot ask their own
    /// question without.
    pub others: Vec<&'static str>,
}

impl Row {
    pub fn judged(&self, options: &Options<'_>) -> Verdicts {
        judged(&*(self.start)(), self.profiles, options)
    }

    /// One probe against it, once.
    pub fn replayed(
        &self,
        server: &dyn Running,
        options: &Options<'_>,
    ) -> Replay {
        let profiles = profiles(self.profiles);
        let profiles: Vec<&Profile> = profiles.iter().collect();
        let name = "twin".parse().unwrap();
        let (target, oracle) = (server.target(), data::oracle());
        replay(&name, "sha256:0", &target, &profiles, oracle, options)
    }
}

/// Judges a running server as an entry of `names`.
pub fn judged(
    server: &dyn Running,
    names: &[&str],
    options: &Options<'_>,
) -> Verdicts {
    let profiles = profiles(names);
    let profiles: Vec<&Profile> = profiles.iter().collect();
    let name = "twin".parse().unwrap();
    let (target, oracle) = (server.target(), data::oracle());
    let verdicts =
        validate(&name, "sha256:0", &target, &profiles, oracle, options);
    without_folder(verdicts)
}

/// Every cheat of every protocol.
pub fn all() -> Vec<Row> {
    [
        crate::http1::rows(),
        crate::http2::rows(),
        crate::http3::rows(),
        crate::database::rows(),
        crate::stack::rows(),
        crate::grpc::rows(),
        crate::websocket::rows(),
        crate::tls::rows(),
        crate::replaced::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
