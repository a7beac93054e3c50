//! The judge on a running entry: build, start, ask, stop.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use harness::host::{Artifact, Server};
use harness::rig::Rig;
use harness::runner::{self, NotServed, Served};
use harness::sidecar;
use profiles::catalog::Catalog;
use profiles::entry::Entry;
use profiles::name::ProfileName;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::verdict::{Finding, Verdict, Verdicts};
use time::OffsetDateTime;
use validate::{Line, Options, Said, Stack, Target};

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

/// Starts the entry as it would be measured, asks everything, stops it: once
/// for all profiles of a single server, and once for each stack. What does
/// not start gets a verdict that says so.
pub fn judge(
    session: &Session,
    rig: &Rig,
    accused: &Accused<'_>,
    log: &Path,
) -> anyhow::Result<Judged> {
    let Accused { catalog, entry, artifact, seed, only, .. } = *accused;
    let dir = catalog.entry_dir(entry);
    // A replay is of one probe alone.
    let mut probes = match only {
        Some(_) => Vec::new(),
        None => validate::lint(&dir, accused.profiles),
    };
    let mut lines = Vec::new();
    let began = Instant::now();
    for profiles in starts(accused.profiles) {
        match started(session, rig, accused, &profiles, log)? {
            Start::Asked(judged) => {
                probes.extend(judged.verdicts.probes);
                lines.extend(judged.lines);
            }
            Start::Lost { stage, why, log_tail } => {
                let id = format!("entry.{stage}");
                probes.extend(lost(accused, &profiles, &id, &why, &log_tail));
            }
        }
    }
    if let Some(id) = only
        && probes.is_empty()
    {
        return Err(not_asked(id, entry));
    }
    let name = entry.name.clone();
    let verdicts = Verdicts::new(name, artifact.digest.clone(), seed, probes);
    session.say(&format!(
        "{}: {} probes passed, {} failed, {} skipped in {:.1} s (seed {seed})",
        entry.name,
        verdicts.passed,
        verdicts.failed,
        verdicts.skipped,
        began.elapsed().as_secs_f64(),
    ));
    Ok(Judged { verdicts, lines })
}

/// The profiles that one start serves: all of a single server together, each
/// stack apart.
fn starts<'a>(profiles: &[&'a Profile]) -> Vec<Vec<&'a Profile>> {
    let (stacks, single): (Vec<&Profile>, Vec<&Profile>) =
        profiles.iter().partition(|p| !p.server.services.is_empty());
    let single = (!single.is_empty()).then_some(single);
    single.into_iter().chain(stacks.into_iter().map(|p| vec![p])).collect()
}

/// How one start went.
enum Start {
    /// It was asked.
    Asked(Judged),
    /// It did not come to that.
    Lost { stage: &'static str, why: String, log_tail: String },
}

fn started(
    session: &Session,
    rig: &Rig,
    accused: &Accused<'_>,
    profiles: &[&Profile],
    log: &Path,
) -> anyhow::Result<Start> {
    let Accused { catalog, entry, artifact, seed, only, .. } = *accused;
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
    place.sidecars = Some(&session.sidecars);
    let dir = catalog.entry_dir(entry);
    let served = runner::serve(&place, entry, &dir, artifact, profiles, log);
    let mut served = match served {
        Ok(served) => served,
        Err(NotServed::Entry { stage, why, log_tail }) => {
            return Ok(Start::Lost { stage, why, log_tail });
        }
        Err(NotServed::Host(why)) => return Err(host_error(why)),
        Err(NotServed::Interrupted) => anyhow::bail!("interrupted"),
    };
    let target = target(session, &served, profiles, &data)?;
    let questions = Questions {
        entry,
        digest: &artifact.digest,
        target: &target,
        profiles,
        seed,
        only,
    };
    let judged = questions.ask(&oracle)?;
    let tail = served.server.log_tail();
    served.server.stop().map_err(host_error)?;
    if judged.verdicts.failed > 0 && !tail.is_empty() {
        eprintln!("{}: the end of its log:\n{}", entry.name, last_lines(&tail));
    }
    Ok(Start::Asked(judged))
}

/// Where the judge finds the server and what is beside it.
fn target(
    session: &Session,
    served: &Served,
    profiles: &[&Profile],
    data: &Private,
) -> anyhow::Result<Target> {
    let server = &served.server;
    let mut target = profiles
        .iter()
        .fold(Target::default(), |t, p| t.with(p.port, server.address(p.port)))
        .with_statics(&data.paths.statics)
        .with_certificate(data.certificate()?);
    let sidecars = session.sidecars.borrow();
    if profiles.iter().any(|p| !p.server.sidecars.is_empty())
        && let Some(url) = sidecars.database_url()
    {
        target = target.with_database(url);
    }
    let services = server.services();
    if services.iter().any(|(name, _)| *name == "authsvc") {
        let secret = sidecars.secret();
        target = target.with_auth(sidecar::auth_address(), &secret);
    }
    if !services.is_empty() {
        let pids =
            |(name, s): (&str, &dyn Server)| (name.to_string(), s.pids());
        let held = Services(services.into_iter().map(pids).collect());
        target = target.with_stack(Arc::new(held));
    }
    Ok(target)
}

/// The processes of a stack's services.
struct Services(BTreeMap<String, Vec<i32>>);

impl Services {
    fn hold(&self, service: &str, still: bool) -> io::Result<()> {
        match self.0.get(service) {
            Some(pids) => harness::host::hold(pids, still),
            None => Err(io::Error::other(format!("no service `{service}`"))),
        }
    }
}

impl Stack for Services {
    fn pause(&self, service: &str) -> io::Result<()> {
        self.hold(service, true)
    }

    fn resume(&self, service: &str) -> io::Result<()> {
        self.hold(service, false)
    }
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

/// A replay of a probe that was asked for no profile.
pub fn not_asked(id: &str, entry: &Entry) -> anyhow::Error {
    let name = &entry.name;
    fail(
        Class::Usage,
        format!(
            "probe `{id}` is not asked for any profile that {name} is judged \
             for here; `arena validate --rules` says which it is asked for"
        ),
    )
}

/// The verdict on an entry that could not be asked: it blocks every profile.
pub fn unbuilt(
    accused: &Accused<'_>,
    id: &str,
    why: &str,
    log_tail: &str,
) -> Verdicts {
    Verdicts::new(
        accused.entry.name.clone(),
        accused.artifact.digest.clone(),
        accused.seed,
        lost(accused, accused.profiles, id, why, log_tail),
    )
}

fn lost(
    accused: &Accused<'_>,
    profiles: &[&Profile],
    id: &str,
    why: &str,
    log_tail: &str,
) -> Vec<Finding> {
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
    profiles.iter().map(|p| finding(&p.name)).collect()
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
