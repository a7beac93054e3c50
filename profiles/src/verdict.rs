//! What the judge writes down: one finding a probe, one file an entry.

use serde::{Deserialize, Serialize};

use crate::name::{EntryName, ProfileName};

/// The schema of [`Verdicts`] this version reads and writes.
pub const VERDICT_SCHEMA: u32 = 1;

/// How one probe ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Right.
    Pass,
    /// A complete answer, and it is wrong.
    Fail,
    /// No complete answer within the limit.
    NoAnswer,
    /// Nothing listened: no connection was accepted.
    Refused,
    /// It had answered before, and then nothing listened any more.
    Crashed,
    /// The right answer, but the connection was not closed as it must be.
    DidNotClose,
    /// Failed, then passed when repeated: `got` says how often. Shown, drops
    /// nothing.
    Flaky,
    /// Not as it should be, but the rule is advice or not yet in force.
    Warn,
    /// Did not apply; the hint says why.
    Skip,
}

impl Verdict {
    /// Whether it keeps an entry from being measured.
    pub fn blocks(self) -> bool {
        matches!(
            self,
            Verdict::Fail
                | Verdict::NoAnswer
                | Verdict::Refused
                | Verdict::Crashed
                | Verdict::DidNotClose
        )
    }
}

/// One probe's answer. All texts may hold a stranger's bytes: escape them.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The probe's stable id, e.g. `json.document`.
    pub id: String,
    /// The version of its rule.
    pub rule_version: u32,
    /// The profile it was asked for.
    pub profile: ProfileName,
    /// How it ended.
    pub verdict: Verdict,
    /// What was sent.
    pub asked: String,
    /// What would have been right.
    pub expected: String,
    /// What came.
    pub got: String,
    /// How to mend it.
    pub hint: String,
}

/// Everything the judge says of one entry.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Verdicts {
    /// [`VERDICT_SCHEMA`].
    pub schema: u32,
    /// The entry.
    pub entry: EntryName,
    /// The digest of the artifact that was judged: the gate opens only for
    /// the same one.
    pub digest: String,
    /// All inputs of the probes came from here.
    pub seed: u64,
    /// Probes that passed (flaky and warned ones included).
    pub passed: u32,
    /// Probes that block.
    pub failed: u32,
    /// Probes that did not apply.
    pub skipped: u32,
    /// Every finding, in the order asked.
    pub probes: Vec<Finding>,
}

impl Verdicts {
    /// Counts `probes` into a file.
    pub fn new(
        entry: EntryName,
        digest: String,
        seed: u64,
        probes: Vec<Finding>,
    ) -> Verdicts {
        let count = |f: fn(Verdict) -> bool| {
            probes.iter().filter(|p| f(p.verdict)).count() as u32
        };
        let failed = count(Verdict::blocks);
        let skipped = count(|v| v == Verdict::Skip);
        let passed = probes.len() as u32 - failed - skipped;
        Verdicts {
            schema: VERDICT_SCHEMA,
            entry,
            digest,
            seed,
            passed,
            failed,
            skipped,
            probes,
        }
    }

    /// Whether the gate opens for `profile`: at least one probe was answered
    /// rightly for it and none blocks.
    pub fn passes(&self, profile: &ProfileName) -> bool {
        let mut asked = self.probes.iter().filter(|p| p.profile == *profile);
        let right = |v| matches!(v, Verdict::Pass | Verdict::Flaky);
        asked.clone().any(|p| right(p.verdict))
            && !asked.any(|p| p.verdict.blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(profile: &str, verdict: Verdict) -> Finding {
        Finding {
            id: "x".into(),
            rule_version: 1,
            profile: profile.parse().unwrap(),
            verdict,
            asked: String::new(),
            expected: String::new(),
            got: String::new(),
            hint: String::new(),
        }
    }

    #[test]
    fn the_gate_opens_per_profile_and_never_unasked() {
        let probes = vec![
            finding("json", Verdict::Pass),
            finding("json", Verdict::Flaky),
            finding("static", Verdict::DidNotClose),
            finding("upload", Verdict::Skip),
            finding("crud", Verdict::Warn),
        ];
        let v = Verdicts::new("x".parse().unwrap(), "d".into(), 1, probes);
        assert_eq!((v.passed, v.failed, v.skipped), (3, 1, 1));
        let opens = |p: &str| v.passes(&p.parse().unwrap());
        assert!(opens("json"));
        assert!(!opens("static"));
        assert!(!opens("upload"));
        assert!(!opens("crud"));
        assert!(!opens("baseline"));
    }
}
