//! The judge on a running entry: build, start, ask, stop.

use std::path::Path;
use std::time::Instant;

use harness::host::Artifact;
use harness::rig::Rig;
use harness::runner::{self, NotServed};
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::name::ProfileName;
use profiles::profile::Profile;
use profiles::verdict::{Finding, Verdict, Verdicts};
use validate::{Options, Target};

use crate::print;
use crate::session::{Session, host_error};

/// One entry to be judged.
pub struct Accused<'a> {
    /// The checkout.
    pub catalog: &'a Catalog,
    /// Who.
    pub entry: &'a Entry,
    /// For which of the profiles it subscribes to.
    pub profiles: &'a [&'a Profile],
    /// What was built.
    pub artifact: &'a Artifact,
    /// Where all inputs come from.
    pub seed: u64,
}

/// Starts the entry as it would be measured, asks everything, stops it. An
/// entry that does not start gets a verdict that says so.
pub fn judge(
    session: &Session,
    rig: &Rig,
    accused: &Accused<'_>,
    log: &Path,
) -> anyhow::Result<Verdicts> {
    let Accused { catalog, entry, profiles, artifact, seed } = *accused;
    let run = format!("judge-{}", std::process::id());
    let place = runner::Place::new(
        &*session.host,
        Some(rig),
        &session.data,
        &run,
        &session.interrupt,
    );
    let dir = catalog.entry_dir(entry);
    let Some(first) = profiles.first() else {
        let none = Vec::new();
        let name = entry.name.clone();
        return Ok(Verdicts::new(name, artifact.digest.clone(), seed, none));
    };
    let served = runner::serve(&place, entry, &dir, artifact, first, log);
    let mut served = match served {
        Ok(served) => served,
        Err(NotServed::Entry { stage, why, log_tail }) => {
            let id = format!("entry.{stage}");
            return Ok(unbuilt(accused, &id, &why, &log_tail));
        }
        Err(NotServed::Host(why)) => return Err(host_error(why)),
        Err(NotServed::Interrupted) => anyhow::bail!("interrupted"),
    };
    let began = Instant::now();
    let target = profiles.iter().fold(Target::local(served.address), |t, p| {
        t.with(p.port, served.server.address(p.port))
    });
    let verdicts = validate::validate(
        &entry.name,
        &artifact.digest,
        &target,
        profiles,
        &session.oracle,
        &Options::new(seed),
    );
    session.say(&format!(
        "{}: {} probes passed, {} failed, {} skipped in {:.1} s (seed {seed})",
        entry.name,
        verdicts.passed,
        verdicts.failed,
        verdicts.skipped,
        began.elapsed().as_secs_f64(),
    ));
    let tail = served.server.log_tail();
    served.server.stop().map_err(host_error)?;
    if verdicts.failed > 0 && !tail.is_empty() {
        eprintln!("{}: the end of its log:\n{}", entry.name, last_lines(&tail));
    }
    Ok(verdicts)
}

/// The verdict on an entry that could not be asked: it blocks every profile.
pub fn unbuilt(
    accused: &Accused<'_>,
    id: &str,
    why: &str,
    log_tail: &str,
) -> Verdicts {
    let finding = |profile: &ProfileName| Finding {
        id: id.to_string(),
        rule_version: 1,
        profile: profile.clone(),
        verdict: Verdict::Fail,
        asked: format!("build and start {}", accused.entry.name),
        expected: "a server that answers".into(),
        got: why.to_string(),
        hint: match last_lines(log_tail) {
            tail if tail.is_empty() => "it wrote nothing to its log".into(),
            tail => format!("the end of its log:\n{tail}"),
        },
    };
    let probes = accused.profiles.iter().map(|p| finding(&p.name)).collect();
    Verdicts::new(
        accused.entry.name.clone(),
        accused.artifact.digest.clone(),
        accused.seed,
        probes,
    )
}

/// What a terminal shows of one entry: every probe that is not a plain pass.
pub fn text(verdicts: &Verdicts) -> String {
    let mut out = String::new();
    let rules = validate::rules();
    for f in &verdicts.probes {
        if f.verdict == Verdict::Pass {
            continue;
        }
        let rule = rules.iter().find(|rule| rule.id == f.id);
        let word = serde_json::to_value(f.verdict).unwrap_or_default();
        let word = word.as_str().unwrap_or_default().to_uppercase();
        out.push_str(&format!("{word} {} ({})\n", f.id, f.profile));
        for (label, value) in [
            ("asked", f.asked.as_str()),
            ("expected", &f.expected),
            ("got", &f.got),
            ("rule", rule.map_or("", |rule| rule.source)),
            ("hint", &f.hint),
        ] {
            for (i, line) in value.lines().enumerate() {
                let label = if i == 0 { label } else { "" };
                out.push_str(&format!("  {label:8}  {}\n", print::safe(line)));
            }
        }
    }
    out.push_str(&format!(
        "{}: {} passed, {} failed, {} skipped (seed {})\n",
        verdicts.entry,
        verdicts.passed,
        verdicts.failed,
        verdicts.skipped,
        verdicts.seed
    ));
    out
}

/// The last dozen lines of a log.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-09: who disputes a verdict is told which section it rests on.
    #[test]
    fn a_verdict_names_the_source_of_its_rule() {
        let shown = |id: &str| {
            let finding = Finding {
                id: id.into(),
                rule_version: 1,
                profile: "baseline".parse().unwrap(),
                verdict: Verdict::DidNotClose,
                asked: "GET / HTTP/1.1".into(),
                expected: "a close".into(),
                got: "none".into(),
                hint: "close it".into(),
            };
            let entry = "axum".parse().unwrap();
            text(&Verdicts::new(entry, String::new(), 1, vec![finding]))
        };
        let close = shown("conn.close");
        assert!(close.starts_with("DID-NOT-CLOSE conn.close (baseline)\n"));
        assert!(
            close.contains("  rule      RFC 9112 section 9.6\n"),
            "{close}"
        );
        assert!(!shown("entry.start").contains("rule"));
    }
}
