//! The judge on a running entry: build, start, ask, stop.

use std::path::Path;
use std::time::Instant;

use harness::host::Artifact;
use harness::rig::Rig;
use harness::runner::{self, NotServed};
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::name::ProfileName;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::verdict::{Finding, Verdict, Verdicts};
use time::OffsetDateTime;
use validate::{Line, Options, Said, Target};

use crate::exit::{Class, fail};
use crate::print;
use crate::private::Private;
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
    /// Only this probe, once, with the whole exchange printed.
    pub only: Option<&'a str>,
}

/// Starts the entry as it would be measured, asks everything, stops it. An
/// entry that does not start gets a verdict that says so.
pub fn judge(
    session: &Session,
    rig: &Rig,
    accused: &Accused<'_>,
    log: &Path,
) -> anyhow::Result<Judged> {
    let Accused { catalog, entry, artifact, seed, only, .. } = *accused;
    let (profiles, beyond): (Vec<&Profile>, Vec<&Profile>) =
        accused.profiles.iter().partition(|p| can_start(p));
    let run = format!("judge-{}", std::process::id());
    let data = Private::copy(&session.data_dir, seed)?;
    let oracle = Oracle::from_dir(data.dir())?;
    let mut place = runner::Place::new(
        &*session.host,
        Some(rig),
        &data.paths,
        &run,
        &session.interrupt,
    );
    place.greet = validate::greet;
    let dir = catalog.entry_dir(entry);
    // A replay is of one probe alone.
    let files = match only {
        Some(_) => Vec::new(),
        None => validate::lint(&dir, accused.profiles),
    };
    let Some(first) = profiles.first() else {
        let verdicts = with_beyond(accused, &beyond, files);
        return Ok(Judged { verdicts, lines: Vec::new() });
    };
    let served = runner::serve(&place, entry, &dir, artifact, first, log)
        .and_then(|mut served| {
            for profile in one_a_listener(&profiles).iter().skip(1) {
                served.also(&place, profile)?;
            }
            Ok(served)
        });
    let mut served = match served {
        Ok(served) => served,
        Err(NotServed::Entry { stage, why, log_tail }) => {
            let id = format!("entry.{stage}");
            let verdicts = unbuilt(accused, &id, &why, &log_tail);
            return Ok(Judged { verdicts, lines: Vec::new() });
        }
        Err(NotServed::Host(why)) => return Err(host_error(why)),
        Err(NotServed::Interrupted) => anyhow::bail!("interrupted"),
    };
    let began = Instant::now();
    let target = profiles.iter().fold(Target::local(served.address), |t, p| {
        t.with(p.port, served.server.address(p.port))
    });
    let target = target
        .with_statics(&data.paths.statics)
        .with_certificate(data.certificate()?);
    let questions = Questions {
        entry,
        digest: &artifact.digest,
        target: &target,
        profiles: &profiles,
        seed,
        only,
    };
    let Judged { verdicts, lines } = questions.ask(&oracle)?;
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
    let probes = files.into_iter().chain(verdicts.probes).collect();
    let verdicts = with_beyond(accused, &beyond, probes);
    Ok(Judged { verdicts, lines })
}

/// What came of it.
pub struct Judged {
    /// The findings.
    pub verdicts: Verdicts,
    /// What was said, if one probe was asked again.
    pub lines: Vec<Line>,
}

/// What is asked of a server that runs.
pub struct Questions<'a> {
    /// Who.
    pub entry: &'a Entry,
    /// What runs there.
    pub digest: &'a str,
    /// Where, and what is beside it.
    pub target: &'a Target,
    /// What for.
    pub profiles: &'a [&'a Profile],
    /// Where all inputs come from.
    pub seed: u64,
    /// Only this probe, once, with the whole exchange printed.
    pub only: Option<&'a str>,
}

impl Questions<'_> {
    /// Asks them, or the one.
    pub fn ask(&self, oracle: &Oracle) -> anyhow::Result<Judged> {
        let options = Options {
            kind: self.entry.kind,
            today: Some(OffsetDateTime::now_utc().date()),
            only: self.only,
            ..Options::new(self.seed)
        };
        let ask = if self.only.is_some() { replayed } else { whole };
        ask(self, oracle, &options)
    }
}

fn whole(
    q: &Questions<'_>,
    oracle: &Oracle,
    options: &Options<'_>,
) -> anyhow::Result<Judged> {
    let Questions { entry, digest, target, profiles, .. } = *q;
    let name = &entry.name;
    let verdicts =
        validate::validate(name, digest, target, profiles, oracle, options);
    Ok(Judged { verdicts, lines: Vec::new() })
}

fn replayed(
    q: &Questions<'_>,
    oracle: &Oracle,
    options: &Options<'_>,
) -> anyhow::Result<Judged> {
    let Questions { entry, digest, target, profiles, .. } = *q;
    let name = &entry.name;
    let replay =
        validate::replay(name, digest, target, profiles, oracle, options);
    if replay.verdicts.probes.is_empty() {
        return Err(fail(
            Class::Usage,
            format!(
                "probe `{}` is not asked for any profile that {name} is \
                 judged for here; `arena validate --rules` says which it is \
                 asked for",
                options.only.unwrap_or_default(),
            ),
        ));
    }
    Ok(Judged { verdicts: replay.verdicts, lines: replay.lines })
}

/// The exchange of a replay: a line each, with the number of the connection
/// and who said it.
pub fn exchange(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let arrow = match line.said {
            Said::Judge => '>',
            Said::Entry => '<',
            Said::Event => '*',
        };
        for text in line.text.lines() {
            let text = print::safe(text);
            out.push_str(&format!("#{} {arrow} {text}\n", line.connection));
        }
    }
    out
}

/// Whether a server for this profile can be started here: stacks and
/// sidecars cannot, yet.
fn can_start(profile: &Profile) -> bool {
    profile.server.services.is_empty() && profile.server.sidecars.is_empty()
}

/// The first profile of each port and protocol.
fn one_a_listener<'a>(profiles: &[&'a Profile]) -> Vec<&'a Profile> {
    let mut out: Vec<&Profile> = Vec::new();
    for profile in profiles {
        let same = |p: &&Profile| {
            (p.port, p.protocol) == (profile.port, profile.protocol)
        };
        if !out.iter().any(same) {
            out.push(profile);
        }
    }
    out
}

/// The verdicts, with a finding that nothing was asked for each profile that
/// cannot be started here; its gate stays shut.
fn with_beyond(
    accused: &Accused<'_>,
    beyond: &[&Profile],
    mut probes: Vec<Finding>,
) -> Verdicts {
    probes.extend(beyond.iter().map(|profile| Finding {
        id: "entry.start".into(),
        rule_version: 1,
        profile: profile.name.clone(),
        verdict: Verdict::Skip,
        asked: String::new(),
        expected: "a server with its database, cache or stack beside it".into(),
        got: "this version starts none of them".into(),
        hint: "start them yourself and use --target".into(),
    }));
    Verdicts::new(
        accused.entry.name.clone(),
        accused.artifact.digest.clone(),
        accused.seed,
        probes,
    )
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
            ("rule", rule.map_or("", |rule| rule.rule)),
            ("source", rule.map_or("", |rule| rule.source)),
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
            close.contains("  source    RFC 9112 section 9.6\n"),
            "{close}"
        );
        assert!(!shown("entry.start").contains("rule"));
    }
}
