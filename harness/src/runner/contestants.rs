//! Before the first shot: everybody is built, then judged.

use std::{collections::BTreeMap, path::PathBuf};

use profiles::{
    entry::Entry,
    name::{EntryName, ProfileName},
    verdict::{Finding, Verdicts},
};

use super::{Event, Halt, Observer};
use crate::{
    host::{Artifact, Host, HostError},
    interrupt::Interrupt,
    problem::Problem,
};

/// The judge, as far as a run needs it.
pub trait Gate {
    /// The verdicts for exactly this artifact: asked now or kept from before.
    fn verdicts(
        &mut self,
        entry: &Entry,
        artifact: &Artifact,
    ) -> Result<Verdicts, NoVerdict>;
}

/// Why the judge has nothing to say.
#[derive(Debug)]
pub enum NoVerdict {
    /// The entry could not be asked.
    Entry {
        /// What happened.
        why: String,
        /// The end of its output. A stranger's text.
        log_tail: String,
    },
    /// The command ends.
    Problem(Problem),
    /// The user wants to stop.
    Interrupted,
}

/// One entry, as far as it got.
#[derive(Debug)]
pub struct Contender<'a> {
    /// It.
    pub entry: &'a Entry,
    /// Its directory.
    pub dir: PathBuf,
    /// What was built, or the stage, reason and log of its failure.
    pub artifact: Result<Artifact, Lost>,
    /// What the judge found; `None` when it was not asked.
    pub verdicts: Option<Verdicts>,
    /// Starts that failed, one after the other.
    pub failed_starts: u32,
}

/// Where and why an entry got no further.
#[derive(Clone, Debug)]
pub struct Lost {
    /// `build` or `gate`.
    pub stage: &'static str,
    /// What happened and what to do.
    pub why: String,
    /// The end of its output. A stranger's text.
    pub log_tail: String,
}

/// Builds and judges `entries`, each on its own: one that fails is only lost
/// itself.
pub fn prepare<'a>(
    entries: Vec<(&'a Entry, PathBuf)>,
    host: &dyn Host,
    gate: &mut dyn Gate,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<BTreeMap<EntryName, Contender<'a>>, Halt> {
    let mut out = BTreeMap::new();
    for (entry, dir) in entries {
        if interrupt.raised() {
            return Err(Halt::Interrupted);
        }
        let name = &entry.name;
        observer.event(&Event::Building { entry: name });
        let mut progress = |line: &str| {
            observer.event(&Event::BuildLine { entry: name, line })
        };
        let built = host.build(entry, &dir, &mut progress);
        if interrupt.raised() {
            return Err(Halt::Interrupted);
        }
        let artifact = match built {
            Ok(artifact) => Ok(artifact),
            Err(HostError::Entry { why, log_tail }) => {
                Err(Lost { stage: "build", why, log_tail })
            }
            Err(other) => return Err(Halt::Problem(other.into())),
        };
        let mut contender = Contender {
            entry,
            dir,
            artifact,
            verdicts: None,
            failed_starts: 0,
        };
        judge(&mut contender, gate, observer)?;
        if let Err(lost) = &contender.artifact {
            observer.event(&Event::Lost { entry: name, lost });
        }
        out.insert(name.clone(), contender);
    }
    Ok(out)
}

fn judge(
    contender: &mut Contender<'_>,
    gate: &mut dyn Gate,
    observer: &mut dyn Observer,
) -> Result<(), Halt> {
    let Ok(artifact) = &contender.artifact else { return Ok(()) };
    let entry = contender.entry;
    observer.event(&Event::Judging { entry: &entry.name });
    let lost = match gate.verdicts(entry, artifact) {
        Ok(v) if v.entry != entry.name || v.digest != artifact.digest => {
            // Never measure one thing by the verdict on another.
            let why = format!(
                "the verdicts are for {} {}, but {} {} would run; validate it \
                 again",
                v.entry, v.digest, entry.name, artifact.digest
            );
            Lost { stage: "gate", why, log_tail: String::new() }
        }
        Ok(verdicts) => {
            observer.event(&Event::Judged { verdicts: &verdicts });
            contender.verdicts = Some(verdicts);
            return Ok(());
        }
        Err(NoVerdict::Entry { why, log_tail }) => {
            Lost { stage: "gate", why, log_tail }
        }
        Err(NoVerdict::Problem(problem)) => return Err(Halt::Problem(problem)),
        Err(NoVerdict::Interrupted) => return Err(Halt::Interrupted),
    };
    contender.artifact = Err(lost);
    Ok(())
}

impl Contender<'_> {
    /// Opens for a profile whose probes were asked and do not block.
    pub fn gate(&self, profile: &ProfileName) -> Result<&Artifact, Lost> {
        let artifact = self.artifact.as_ref().map_err(Lost::clone)?;
        match &self.verdicts {
            Some(v) if v.passes(profile) => Ok(artifact),
            verdicts => Err(Lost {
                stage: "gate",
                why: refusal(verdicts.as_ref(), profile),
                log_tail: String::new(),
            }),
        }
    }

    /// The digest for the record; empty when there is none.
    pub fn digest(&self) -> String {
        self.artifact.as_ref().map_or(String::new(), |a| a.digest.clone())
    }
}

fn refusal(verdicts: Option<&Verdicts>, profile: &ProfileName) -> String {
    let of = |f: &&Finding| f.profile == *profile;
    let blocking: Vec<&Finding> = verdicts
        .iter()
        .flat_map(|v| &v.probes)
        .filter(of)
        .filter(|f| f.verdict.blocks())
        .collect();
    match blocking.first() {
        None => format!("no probe of {profile} was asked; validate it first"),
        Some(first) => format!(
            "{} failed probes of {profile}; first {}: expected {}, got {}",
            blocking.len(),
            first.id,
            crate::show::line(&first.expected),
            crate::show::line(&first.got),
        ),
    }
}
