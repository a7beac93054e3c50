//! Stacks: the services of a compose file, as far as the arena starts them.
//!
//! The files have the shape of compose files, and are read for both hosts.
//! What compose itself has no key for stands under a service's `x-arena`:
//! `run`, the command that is the service on host `local`, and `packages`,
//! what must be installed for it.

pub mod yaml;

use std::path::Path;

use crate::cpuset::CpuSet;
use crate::profile::Profile;
use yaml::{MarkedYaml, default_of, get, items, pairs, text};

/// Longer is no honest file.
const LONGEST: u64 = 64 << 10;

/// All services of a stack, in the file's order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Stack {
    /// They.
    pub services: Vec<Service>,
}

/// One service of a stack.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// The directory it is built from, relative to the file; empty if it is
    /// an image.
    pub context: String,
    /// The image it is; empty if it is built.
    pub image: String,
    /// The reference CPUs it claims.
    pub cpus: Option<CpuSet>,
    /// Its environment, with `${..}` as written.
    pub environment: Vec<(String, String)>,
    /// The command of its container; empty for the image's own.
    pub command: Vec<String>,
    /// The command that is it on host `local`.
    pub run: Vec<String>,
    /// `COMMAND:PACKAGE` pairs that `run` needs.
    pub packages: Vec<String>,
}

/// Why there is no stack.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct StackError {
    /// The file's name.
    pub file: String,
    /// The line, from 1; 0 where it is the whole file.
    pub line: usize,
    /// What is wrong and what to write.
    pub what: String,
}

impl Stack {
    /// Reads the stack of `profile` from the entry's directory.
    ///
    /// # Errors
    ///
    /// Without the file, or where it lacks a service of the profile.
    pub fn of(dir: &Path, profile: &Profile) -> Result<Stack, StackError> {
        let file = profile.stack_file().unwrap_or_default();
        let fault = |line, what: String| StackError {
            file: file.to_string(),
            line,
            what,
        };
        let path = dir.join(file);
        let length = path.metadata().map(|m| m.len());
        match length {
            Ok(length) if length > LONGEST => {
                let what = format!("longer than {LONGEST} bytes");
                return Err(fault(0, what));
            }
            _ => {}
        }
        let text = std::fs::read_to_string(&path)
            .map_err(|e| fault(0, format!("cannot be read: {e}")))?;
        let stack = Stack::read(&text).map_err(|(l, what)| fault(l, what))?;
        for wanted in &profile.server.services {
            if stack.service(wanted).is_none() {
                return Err(fault(0, format!("no service `{wanted}`")));
            }
        }
        if let Some(more) = stack
            .services
            .iter()
            .find(|s| !profile.server.services.contains(&s.name))
        {
            return Err(fault(
                0,
                format!(
                    "service `{}` is one too many; there are exactly: {}",
                    more.name,
                    profile.server.services.join(", ")
                ),
            ));
        }
        Ok(stack)
    }

    /// Reads a compose file's text.
    ///
    /// # Errors
    ///
    /// The line, and what is wrong there.
    pub fn read(text: &str) -> Result<Stack, (usize, String)> {
        let root = yaml::load(text)?;
        let services = get(&root, "services").map(pairs).unwrap_or_default();
        let services = services
            .into_iter()
            .map(|(name, node)| service(name, node))
            .collect::<Result<_, _>>()?;
        Ok(Stack { services })
    }

    /// A service by its name.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|s| s.name == name)
    }
}

/// A value with `${NAME}`, `${NAME:-default}` and `$NAME` replaced by what
/// `known` has; unknown names without a default are empty, as compose does it.
pub fn filled(value: &str, known: &[(String, String)]) -> String {
    let of = |name: &str| {
        let found = known.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), value);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((inner, after)) =
            rest.strip_prefix('{').and_then(|r| r.split_once('}'))
        {
            let end = inner.find(|c| !word(c)).unwrap_or(inner.len());
            let default = inner[end..].trim_start_matches([':', '-']);
            out.push_str(of(&inner[..end]).unwrap_or(default));
            rest = after;
        } else {
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            out.push_str(of(&rest[..end]).unwrap_or_default());
            rest = &rest[end..];
        }
    }
    out + rest
}

fn service(
    name: String,
    node: &MarkedYaml<'_>,
) -> Result<Service, (usize, String)> {
    let plain = |key: &str| get(node, key).map(text).unwrap_or_default();
    let arena = get(node, "x-arena");
    let within = |key: &str| arena.and_then(|a| get(a, key)).map(words);
    let context = get(node, "build").map(|build| {
        let inner = get(build, "context");
        inner.map_or_else(|| text(build), text)
    });
    let cpus = match get(node, "cpuset") {
        None => None,
        Some(said) => {
            let set = default_of(&text(said));
            let line = said.span.start.line();
            let wrong = format!("`{set}` is no set of CPUs");
            Some(set.parse().map_err(|_| (line, wrong))?)
        }
    };
    Ok(Service {
        name,
        context: context.unwrap_or_default(),
        image: default_of(&plain("image")),
        cpus,
        environment: get(node, "environment")
            .map(variables)
            .unwrap_or_default(),
        command: get(node, "command").map(words).unwrap_or_default(),
        run: within("run").unwrap_or_default(),
        packages: within("packages").unwrap_or_default(),
    })
}

/// A list of words, or one text that is parted at blanks.
fn words(node: &MarkedYaml<'_>) -> Vec<String> {
    match node.data.is_sequence() {
        true => items(node).map(text).collect(),
        false => text(node).split_whitespace().map(String::from).collect(),
    }
}

/// `KEY: value` or `- KEY=value`.
fn variables(node: &MarkedYaml<'_>) -> Vec<(String, String)> {
    if node.data.is_sequence() {
        let of = |item: &MarkedYaml<'_>| {
            let item = text(item);
            let (key, value) = item.split_once('=')?;
            Some((key.to_string(), value.to_string()))
        };
        return items(node).filter_map(of).collect();
    }
    pairs(node).into_iter().map(|(key, value)| (key, text(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATEWAY: &str = "
x-common: &common
  network_mode: host
services:
  proxy:
    <<: *common
    build: ./edge
    cpuset: ${PROXY_CPUS:-0-19,64-83}
    environment:
      - A=b=c
    x-arena:
      run: [./edge/run.sh, -x]
      packages: ['nginx:nginx-light']
    depends_on: [server]
  server:
    build: {context: ., dockerfile: Dockerfile}
    cpuset: '20-31,84-95'
    command: serve --fast
    environment: {DATABASE_URL: '${DATABASE_URL}', DATABASE_MAX_CONN: 256}
";

    #[test]
    fn services_are_read_in_either_way_of_writing() {
        let stack = Stack::read(GATEWAY).unwrap();
        let proxy = stack.service("proxy").unwrap();
        assert_eq!(proxy.context, "./edge");
        assert_eq!(proxy.cpus.as_ref().unwrap().count(), 40);
        assert_eq!(proxy.run, ["./edge/run.sh", "-x"]);
        assert_eq!(proxy.packages, ["nginx:nginx-light"]);
        assert_eq!(proxy.environment, [("A".into(), "b=c".into())]);
        let server = stack.service("server").unwrap();
        assert_eq!(server.context, ".");
        assert_eq!(server.command, ["serve", "--fast"]);
        assert_eq!(server.environment[1].1, "256");
        assert!(stack.service("cache").is_none());
    }

    #[test]
    fn variables_are_filled_as_compose_does_it() {
        let known = [("A".to_string(), "1".to_string())];
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("$A", "1"),
            ("x${A}y", "x1y"),
            ("${B:-2}", "2"),
            ("${A:-2}", "1"),
            ("${B}", ""),
            ("$B-$A.", "-1."),
            ("$$A", "$A"),
            ("${A", "{A"),
            ("$", ""),
        ] {
            assert_eq!(filled(text, &known), expected, "{text}");
        }
    }

    #[test]
    fn a_file_cut_anywhere_is_read_or_refused_with_a_line() {
        for end in 0..GATEWAY.len() {
            if let Err((line, what)) = Stack::read(&GATEWAY[..end]) {
                assert!(line <= GATEWAY.lines().count() + 1, "{end}: {line}");
                assert!(!what.is_empty(), "{end}");
            }
        }
    }

    #[test]
    fn what_is_no_set_of_cpus_is_refused() {
        let text = "services:\n  a:\n    cpuset: many\n";
        let (line, what) = Stack::read(text).unwrap_err();
        assert_eq!(line, 3);
        assert!(what.contains("`many`"), "{what}");
    }
}
