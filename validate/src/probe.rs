//! What a probe is. The rule text, the list the site prints and the check
//! that runs come from one definition, so they cannot disagree.

use profiles::name::ProfileName;
use profiles::rule::Rule;
use profiles::verdict::Verdict;
use time::Date;

use crate::session::Session;
use crate::{lint, probes};

/// One question to an entry, with the rule it enforces.
pub(crate) struct Probe {
    /// Stable: it is stored, linked and disputed by this.
    pub(crate) id: &'static str,
    /// Rises whenever what passes or fails changes.
    pub(crate) version: u32,
    /// Asked for entries that subscribe to one of these.
    pub(crate) profiles: &'static [&'static str],
    pub(crate) scope: Scope,
    pub(crate) stage: Stage,
    /// The rule, in a sentence or two.
    pub(crate) rule: &'static str,
    /// The section of the contract or the RFC that says so.
    pub(crate) source: &'static str,
    /// Every outcome that is right.
    pub(crate) legal: &'static str,
    /// How to mend it.
    pub(crate) hint: &'static str,
    /// In force from this day, and only a warning until then; `None` is in
    /// force.
    pub(crate) announced: Option<Date>,
    pub(crate) run: fn(&mut Session<'_>) -> Outcome,
}

/// What probes are written from: `Probe { id, rule, .., ..BLANK }`.
pub(crate) const BLANK: Probe = Probe {
    id: "",
    version: 1,
    profiles: &[],
    scope: Scope::Once,
    stage: Stage::Calm,
    rule: "",
    source: "",
    legal: "",
    hint: "",
    announced: None,
    run: |_| Ok(()),
};

/// Whether a probe depends on the profile it is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scope {
    /// One answer holds for all profiles that share a listener; it is asked
    /// once for each listener.
    Once,
    /// Asked for each profile with that profile's own requests.
    Each,
}

/// When a probe runs: those of one stage run side by side.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Stage {
    /// Ordinary requests.
    Calm,
    /// What may harm a weak server: aborts, resets, malformed requests.
    Rough,
    /// What must not run beside any other probe: it changes files that others
    /// ask for, or stops a service. One after the other.
    Alone,
    /// After everything else.
    Last,
}

/// What a probe comes to.
pub(crate) type Outcome = Result<(), Box<Miss>>;

/// A probe that did not simply pass.
#[derive(Clone, Debug)]
pub(crate) struct Miss {
    pub(crate) verdict: Verdict,
    pub(crate) asked: String,
    pub(crate) expected: String,
    pub(crate) got: String,
    /// Replaces the probe's own hint where the cause is known better.
    pub(crate) hint: Option<&'static str>,
}

impl Miss {
    /// A probe that has nothing to ask. Never a pass: what was not asked is
    /// not known.
    pub(crate) fn skip(why: &str, hint: &'static str) -> Box<Miss> {
        Box::new(Miss {
            verdict: Verdict::Skip,
            asked: String::new(),
            expected: String::new(),
            got: why.into(),
            hint: Some(hint),
        })
    }

    /// The same with another verdict; what ended as a pass stays one.
    pub(crate) fn as_verdict(mut self: Box<Self>, v: Verdict) -> Box<Self> {
        if self.verdict != Verdict::Pass {
            self.verdict = v;
        }
        self
    }

    /// The same with a better hint.
    pub(crate) fn hint(mut self: Box<Self>, hint: &'static str) -> Box<Self> {
        self.hint = Some(hint);
        self
    }
}

/// Every rule: those about files first, then those that are asked, in their
/// order.
pub fn rules() -> Vec<Rule> {
    let rule = |p: &'static Probe| Rule {
        id: p.id,
        version: p.version,
        profiles: p.profiles.to_vec(),
        rule: p.rule,
        source: p.source,
        legal: p.legal,
        hint: p.hint,
        announced: p.announced,
    };
    let files = lint::rules(probes::EVERY).into_iter();
    files.chain(probes::all().map(rule)).collect()
}

/// Whether this version has probes for a profile. One that it has none for
/// gets no findings, so the gate stays shut.
pub fn can_judge(profile: &ProfileName) -> bool {
    probes::all().any(|p| p.profiles.contains(&profile.as_str()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_text_says_something() {
        let mut seen = BTreeSet::new();
        for rule in rules() {
            assert!(seen.insert(rule.id), "{} stands twice", rule.id);
            assert!(rule.version > 0, "{}", rule.id);
            assert!(!rule.profiles.is_empty(), "{}", rule.id);
            for text in [rule.rule, rule.source, rule.legal, rule.hint] {
                assert!(text.len() > 2, "{}: `{text}`", rule.id);
            }
        }
    }

    #[test]
    fn the_seven_profiles_of_plain_http_have_probes() {
        for name in [
            "baseline",
            "pipelined",
            "limited-conn",
            "json",
            "json-comp",
            "upload",
            "static",
        ] {
            assert!(can_judge(&name.parse().unwrap()), "{name}");
        }
        assert!(!can_judge(&"no-such".parse().unwrap()));
    }
}
