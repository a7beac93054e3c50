//! After everything else.

use super::PLAIN;
use crate::probe::{Outcome, Probe, Scope, Stage};
use crate::session::Session;

const ASKED: usize = 2;

pub(super) const PROBES: &[Probe] = &[Probe {
    id: "alive.after",
    version: 1,
    profiles: PLAIN,
    scope: Scope::Each,
    stage: Stage::Last,
    rule: "After all other probes the server still answers the profile's \
           requests rightly.",
    source: "contract, common part",
    legal: "right answers on new connections",
    hint: "where the other probes passed, the server died or broke during \
           them: look at its log for a crash after an abort or a malformed \
           request",
    run,
}];

fn run(s: &mut Session<'_>) -> Outcome {
    let mut drawer = s.drawer()?;
    for _ in 0..ASKED {
        if let Some((_, ask)) = drawer.draw(&mut s.rng) {
            s.ask(&ask)?;
        }
    }
    Ok(())
}
