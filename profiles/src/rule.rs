//! A rule of the judge as it is published: on the command line, on the rules
//! page and in files, all made from the probe that enforces it.

use serde::Serialize;
use time::Date;

/// One rule, with the probe that enforces it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Rule {
    /// The stable id of its probe, e.g. `json.document`.
    pub id: &'static str,
    /// Rises whenever what passes or fails changes.
    pub version: u32,
    /// The profiles it is asked for.
    pub profiles: Vec<&'static str>,
    /// The rule.
    pub rule: &'static str,
    /// The section of the contract or the RFC that says so.
    pub source: &'static str,
    /// Every outcome that is right.
    pub legal: &'static str,
    /// How to mend an entry that breaks it.
    pub hint: &'static str,
    /// Until this day, `2027-01-31`, a failure is only a warning.
    #[serde(serialize_with = "day")]
    pub announced: Option<Date>,
}

fn day<S: serde::Serializer>(
    date: &Option<Date>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => to.collect_str(date),
        None => to.serialize_none(),
    }
}
