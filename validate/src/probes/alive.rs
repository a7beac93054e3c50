//! After everything else.

use super::ASKED;
use crate::probe::{BLANK, Outcome, Probe, Scope, Stage};
use crate::session::Session;

const TIMES: usize = 2;

pub(super) const PROBES: &[Probe] = &[Probe {
    id: "alive.after",
    version: 2,
    profiles: ASKED,
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
    ..BLANK
}];

fn run(s: &mut Session<'_>) -> Outcome {
    let mut drawer = s.drawer()?;
    for _ in 0..TIMES {
        if let Some((class, ask)) = drawer.draw(&mut s.rng) {
            let request = s.request_of(Some(class), &ask);
            let response = s.exchange(&request)?;
            s.judge(&ask, &request, &response)?;
        }
    }
    Ok(())
}
