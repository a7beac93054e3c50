//! What a reader of a number must know, in words that say what to do.

use profiles::record::Warning;

/// The rate is per measured window and stays right on a machine that wakes
/// the gun late. Past this share too little of the plan is left.
const WINDOW_LOST: f64 = 0.10;

/// A shot's warning.
#[derive(Clone, Debug, PartialEq)]
pub enum Warn {
    /// The gun was the limit, not the entry.
    ClientBound {
        /// Share of its CPU the busiest thread used.
        busiest: f64,
    },
    /// Something else ran on the pools.
    Noisy {
        /// Share of their CPU.
        share: f64,
    },
    /// Server and load run on the same CPUs.
    SharedCpus,
    /// Server and load run on the two threads of one core.
    SharedCore,
    /// What the profile asks for and this machine does not give.
    Shortfall(String),
    /// The gun did not tell when its window was.
    NoUsage,
    /// Connections without any answer, beside others that had some.
    Starved {
        /// How many.
        silent: u32,
        /// Of how many.
        of: u32,
    },
    /// The window was not as long as asked.
    WindowCut {
        /// As asked.
        asked_ms: f64,
        /// As measured.
        got_ms: f64,
    },
    /// The numbers cannot all be true.
    Inconsistent(String),
}

impl Warn {
    /// The stable word, as in records and on pages.
    pub fn word(&self) -> &'static str {
        match self {
            Warn::ClientBound { .. } => "client-bound",
            Warn::Noisy { .. } => "noisy",
            Warn::SharedCpus => "shared-cpus",
            Warn::SharedCore => "shared-core",
            Warn::Shortfall(_) => "shortfall",
            Warn::NoUsage => "no-usage",
            Warn::Starved { .. } => "starved",
            Warn::WindowCut { .. } => "window-cut",
            Warn::Inconsistent(_) => "inconsistent",
        }
    }

    /// Whether the number may not be published. The others are published with
    /// their mark.
    pub fn disqualifies(&self) -> bool {
        match self {
            Warn::Inconsistent(_) => true,
            Warn::WindowCut { asked_ms, got_ms } => {
                (got_ms - asked_ms).abs() > asked_ms * WINDOW_LOST
            }
            _ => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Warn::ClientBound { busiest } => format!(
                "the load generator used {:.0} % of a cpu: the entry may be \
                 faster than this; give load more cpus",
                busiest * 100.0
            ),
            Warn::Noisy { share } => format!(
                "other processes used {:.0} % of the pools' cpu time; close \
                 them and measure again",
                share * 100.0
            ),
            Warn::SharedCpus => {
                "server and load share the same cpus: the figure is the sum of \
                 both sides; use a machine with 2 cores or more"
                    .into()
            }
            Warn::SharedCore => {
                "server and load share one physical core; use a machine with 2 \
                 cores or more"
                    .into()
            }
            Warn::Shortfall(what) => what.clone(),
            Warn::NoUsage => {
                "cpu time and memory are not known: the load generator did not \
                 tell its window; build it from the same checkout"
                    .into()
            }
            Warn::Starved { silent, of } => format!(
                "{silent} of {of} connections got no answer in the window; see \
                 how the entry shares its work"
            ),
            Warn::WindowCut { asked_ms, got_ms } => format!(
                "the window was {got_ms:.0} ms, asked {asked_ms:.0} ms; close \
                 other programs and measure again"
            ),
            Warn::Inconsistent(why) => format!(
                "{why}: a fault of the load generator, please report it"
            ),
        }
    }

    /// As stored.
    pub fn to_record(&self) -> Warning {
        Warning {
            word: self.word().into(),
            text: self.text(),
            disqualifies: self.disqualifies(),
        }
    }
}
