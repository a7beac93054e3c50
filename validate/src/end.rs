//! How a probe ended, and the finding that is written down.

use profiles::profile::Profile;
use profiles::verdict::{Finding, Verdict};
use time::Date;

use crate::probe::{Miss, Probe};

/// How one run of a probe ended, with what its repetitions came to.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) asked: String,
    pub(crate) miss: Option<Box<Miss>>,
    /// Of so many runs.
    runs: u32,
    /// So many were not right.
    missed: u32,
}

impl End {
    /// After one run.
    pub(crate) fn new(asked: String, miss: Option<Box<Miss>>) -> End {
        let mut end = End { asked, miss, runs: 1, missed: 0 };
        end.missed = u32::from(end.is_bad());
        end
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.miss.as_ref().map_or(Verdict::Pass, |m| m.verdict)
    }

    /// Whether the run was not right.
    pub(crate) fn is_bad(&self) -> bool {
        self.verdict().blocks() || self.verdict() == Verdict::Warn
    }

    /// Whether another run would tell more: of what failed, two; and of what
    /// also passed, as many as make five.
    pub(crate) fn wants_more(&self) -> bool {
        match (self.missed, self.runs) {
            (0, _) => false,
            (missed, runs) if missed == runs => runs < self.settled_after(),
            (_, runs) => runs < 5,
        }
    }

    fn settled_after(&self) -> u32 {
        match self.verdict() {
            // Each costs the whole time limit.
            Verdict::NoAnswer | Verdict::Refused | Verdict::Crashed => 2,
            _ => 3,
        }
    }

    /// Adds another run with the same inputs. The first miss stays.
    pub(crate) fn add(&mut self, other: &End) {
        self.runs += 1;
        self.missed += u32::from(other.is_bad());
    }

    /// The finding for one profile. `today` tells whether an announced rule
    /// is in force.
    pub(crate) fn finding(
        &self,
        probe: &Probe,
        profile: &Profile,
        announced: Option<Date>,
        today: Option<Date>,
    ) -> Finding {
        let mut found = Finding {
            id: probe.id.into(),
            rule_version: probe.version,
            profile: profile.name.clone(),
            verdict: self.verdict(),
            asked: self.asked.clone(),
            expected: probe.legal.into(),
            got: "as expected".into(),
            hint: String::new(),
        };
        let Some(m) = self.miss.as_ref().filter(|m| m.verdict != Verdict::Pass)
        else {
            return found;
        };
        found.asked = m.asked.clone();
        found.expected = m.expected.clone();
        found.got = m.got.clone();
        found.hint = match (m.hint, m.verdict) {
            (Some(hint), _) => hint.to_string(),
            (None, Verdict::NoAnswer | Verdict::Refused | Verdict::Crashed) => {
                format!("look at the server's log; {}", probe.hint)
            }
            (None, _) => probe.hint.to_string(),
        };
        if self.missed < self.runs && self.is_bad() {
            found.verdict = Verdict::Flaky;
            let (missed, runs) = (self.missed, self.runs);
            found.got.push_str(&format!("; {missed} of {runs} runs, in all"));
        }
        match announced.filter(|from| today.is_none_or(|day| day < *from)) {
            Some(from) if found.verdict.blocks() => {
                found.verdict = Verdict::Warn;
                found.hint.push_str(&format!("; it fails from {from} on"));
            }
            _ => {}
        }
        found
    }
}
