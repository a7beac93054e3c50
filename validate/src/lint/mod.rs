//! What an entry's files say before anything is built: its Dockerfiles and
//! the compose files of its stacks. Nothing is run and nothing is resolved.

mod compose;
mod dockerfile;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use profiles::entry::Place;
use profiles::profile::Profile;
use profiles::rule::Rule;
use profiles::verdict::{Finding, Verdict};

/// Far above any honest file of these kinds.
const LONGEST_FILE: u64 = 64 * 1024;
/// Faults told of one file.
const MOST_FAULTS: usize = 20;

/// One rule about files.
#[derive(Debug, Eq, PartialEq)]
struct Lint {
    id: &'static str,
    rule: &'static str,
    legal: &'static str,
    hint: &'static str,
    /// Whether breaking it keeps the entry from being measured.
    fails: bool,
}

const READ: Lint = Lint {
    id: "files.read",
    rule: "The Dockerfile and the compose file of each stack can be read as \
           what they are.",
    legal: "a Dockerfile or a build.sh, and compose files in plain YAML with \
            at most 16 aliases",
    hint: "look at the place that is named",
    fails: true,
};
const PINNED: Lint = Lint {
    id: "files.pinned",
    rule: "Base images name a version, so that two builds are the same.",
    legal: "a tag other than latest, a digest, an earlier stage, or scratch; \
            anything else is a warning",
    hint: "write the version that was tested: image:1.2.3 or \
           image@sha256:...",
    fails: false,
};
const EXPOSE: Lint = Lint {
    id: "files.expose",
    rule: "The Dockerfile exposes the ports of the profiles that the entry \
           subscribes to.",
    legal: "EXPOSE with each port; its absence is a warning",
    hint: "add EXPOSE with the port; with UDP write 8443/udp",
    fails: false,
};
const PRIVILEGED: Lint = Lint {
    id: "files.privileged",
    rule: "No service of a stack has more power over the machine than the \
           arena gives: no privileges, capabilities, devices or namespaces \
           of the host but its network, and no seccomp setting but \
           unconfined.",
    legal: "none of these keys",
    hint: "take the key out",
    fails: true,
};
const MOUNTS: Lint = Lint {
    id: "files.mounts",
    rule: "Services mount only what the arena gives and what is in the \
           entry's own directory.",
    legal: "sources that begin with ${DATA_DIR}, ${CERTS_DIR} or ./, named \
            volumes, and tmpfs",
    hint: "mount from ${DATA_DIR} or ${CERTS_DIR}, or copy the file into the \
           image",
    fails: true,
};
const CPUS: Lint = Lint {
    id: "files.cpus",
    rule: "Every service names its CPUs, within the server's part of the \
           reference machine, and no two services share one.",
    legal: "disjoint cpusets within the profile's own",
    hint: "split the profile's CPUs between the services with cpuset",
    fails: true,
};

const LINTS: [&Lint; 6] =
    [&READ, &PINNED, &EXPOSE, &PRIVILEGED, &MOUNTS, &CPUS];

/// The rules about files, for the profiles they are looked at for.
pub(crate) fn rules(all: &'static [&'static str]) -> Vec<Rule> {
    let stacks = ["gateway-64", "gateway-h3", "production-stack"];
    let rule = |lint: &Lint| Rule {
        id: lint.id,
        version: 1,
        profiles: match lint.id {
            "files.read" | "files.pinned" => all.to_vec(),
            "files.expose" => {
                let single = all.iter().filter(|p| !stacks.contains(p));
                single.copied().collect()
            }
            _ => stacks.to_vec(),
        },
        rule: lint.rule,
        source: "contract, the directory and the stacks",
        legal: lint.legal,
        hint: lint.hint,
        announced: None,
    };
    LINTS.map(rule).into()
}

/// One fault in one file.
#[derive(Debug)]
struct Fault {
    lint: &'static Lint,
    /// The line, from 1; 0 is the whole file.
    line: usize,
    what: String,
}

/// Looks at the files of an entry's directory for the profiles it subscribes
/// to.
pub fn lint(dir: &Path, profiles: &[&Profile]) -> Vec<Finding> {
    let (single, stacks): (Vec<&Profile>, Vec<&Profile>) =
        profiles.iter().partition(|p| p.stack_file().is_none());
    let mut out = Vec::new();
    let at = dir.join("Dockerfile");
    // One that is not there is missed by the host that needs it.
    let looked_at = at.exists() && !dir.join("build.sh").is_file();
    if !single.is_empty() && looked_at {
        let ports = single.iter().map(|p| (p.port, p.protocol)).collect();
        look(&at, "Dockerfile", &single, &mut out, |text| {
            dockerfile::faults(text, Some(&ports))
        });
    }
    for profile in stacks {
        let Some(file) = profile.stack_file() else { continue };
        let mut builds = Vec::new();
        let these = [profile];
        look(&dir.join(file), file, &these, &mut out, |text| {
            let found = compose::faults(text, profile);
            builds = found.builds;
            found.faults
        });
        for build in builds {
            let name = build.trim_start_matches("./").trim_end_matches('/');
            let name = match name {
                "" | "." => "Dockerfile".to_string(),
                name => format!("{name}/Dockerfile"),
            };
            let at = dir.join(&name);
            look(&at, &name, &these, &mut out, |text| {
                dockerfile::faults(text, None)
            });
        }
    }
    out
}

/// Reads one file and makes a finding of each fault, for each profile.
fn look(
    path: &Path,
    name: &str,
    profiles: &[&Profile],
    out: &mut Vec<Finding>,
    faults: impl FnOnce(&str) -> Vec<Fault>,
) {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(what) => {
            let fault = Fault { lint: &READ, line: 0, what };
            out.extend(findings(&fault, name, "", profiles));
            return;
        }
    };
    for fault in faults(&text).iter().take(MOST_FAULTS) {
        out.extend(findings(fault, name, &text, profiles));
    }
}

fn findings(
    fault: &Fault,
    name: &str,
    text: &str,
    profiles: &[&Profile],
) -> Vec<Finding> {
    let lint = fault.lint;
    let place = place(text, fault.line);
    let got = match &place {
        Some(p) if !p.excerpt.is_empty() => {
            format!("{}\n{}", fault.what, p.excerpt)
        }
        _ => fault.what.clone(),
    };
    let asked = match place {
        Some(place) => format!("{name}:{}", place.line),
        None => name.to_string(),
    };
    let finding = |profile: &&Profile| Finding {
        id: lint.id.into(),
        rule_version: 1,
        profile: profile.name.clone(),
        verdict: if lint.fails { Verdict::Fail } else { Verdict::Warn },
        asked: asked.clone(),
        expected: lint.legal.into(),
        got: got.clone(),
        hint: lint.hint.into(),
    };
    profiles.iter().map(finding).collect()
}

/// The place of a line, without the white space around its text.
fn place(text: &str, line: usize) -> Option<Place> {
    let before = line.checked_sub(1)?;
    let start: usize =
        text.split_inclusive('\n').take(before).map(str::len).sum();
    let line = text[start..].lines().next()?;
    let indent = line.len() - line.trim_start().len();
    let end = start + line.trim_end().len();
    Some(Place::of(text, start + indent..end.max(start + indent)))
}

/// A stranger's file, if it is a regular one of a bearable size.
fn text_of(path: &Path) -> Result<String, String> {
    let meta = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !meta.is_file() {
        return Err("not a regular file".into());
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|e| e.to_string())?;
    file.take(LONGEST_FILE + 1)
        .read_to_string(&mut text)
        .map_err(|e| e.to_string())?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(format!("more than {LONGEST_FILE} bytes"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
