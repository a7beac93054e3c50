//! An entry: one contestant, as its `meta.json` describes it.
//!
//! The keys and meanings are HttpArena's, so a directory written for it loads
//! here; ours are optional. Keys we do not know are only noted, since other
//! arenas may add their own, unless they look like a slip of the finger; every
//! value we do use is checked.

mod read;
mod spots;

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

use crate::name::{EntryName, NameError, ProfileName};
use crate::profile::{DefError, League, Profile, Protocol};
use read::Reader;
use spots::Spots;

/// What an entry claims to be; selects its rules and its league.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Type {
    /// The framework as shipped and documented.
    Production,
    /// The framework's own server, tuned freely.
    Tuned,
    /// A bare HTTP implementation.
    Engine,
    /// A reverse proxy or static server.
    Infrastructure,
}

/// The words a `type` may be.
const TYPES: &str = "production, tuned, engine or infrastructure";

impl Type {
    /// The league entries of this type are ranked in.
    pub fn league(self) -> League {
        match self {
            Type::Production | Type::Tuned => League::Framework,
            Type::Engine => League::Engine,
            Type::Infrastructure => League::Infrastructure,
        }
    }

    /// The type's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Type::Production => "production",
            Type::Tuned => "tuned",
            Type::Engine => "engine",
            Type::Infrastructure => "infrastructure",
        }
    }

    /// Every type.
    pub const ALL: [Type; 4] =
        [Type::Production, Type::Tuned, Type::Engine, Type::Infrastructure];

    fn parse(text: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.as_str() == text)
    }
}

/// How the `local` host builds and runs an entry that is not a Rust crate.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LocalRun {
    /// The build command, run in the entry's directory; empty is none.
    pub build: Vec<String>,
    /// The command that serves; it must not fork away.
    pub run: Vec<String>,
    /// What both need on the machine.
    pub packages: Vec<Needed>,
}

/// A program an entry needs, and where Debian has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Needed {
    /// Its name on the path, or the absolute path of a file.
    pub command: String,
    /// The Debian package that brings it.
    pub package: String,
}

/// One contestant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// What it is called in a run: the stable id.
    pub name: EntryName,
    /// Its directory under `frameworks/`, and its name but for a twin.
    pub home: EntryName,
    /// The name shown on pages. A stranger's text: escape it.
    pub display_name: String,
    /// The language shown. A stranger's text.
    pub language: String,
    /// The HTTP engine shown. A stranger's text.
    pub engine: String,
    /// What it claims to be.
    pub kind: Type,
    /// One paragraph. A stranger's text.
    pub description: String,
    /// The upstream project, an `http(s)` address, or empty.
    pub repo: String,
    /// Whether a run over all entries includes it.
    pub enabled: bool,
    /// The profiles it subscribes to, in the order of the file.
    pub profiles: Vec<ProfileName>,
    /// Names on the forge of the people to ask, without `@`.
    pub maintainers: Vec<String>,
    /// The upstream version in the lock file; empty when not given.
    pub version: String,
    /// How to run it without containers, when it is not a Rust crate.
    pub local: Option<LocalRun>,
    /// What it says it speaks; empty when it does not say.
    pub protocols: Vec<Protocol>,
    /// What is odd in its file and harms nothing.
    pub notes: Vec<MetaError>,
}

/// One thing wrong with one `meta.json`. Files with several faults give
/// several of these.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct MetaError {
    /// The file.
    pub file: String,
    /// The field, or `(whole file)`.
    pub field: String,
    /// The value found, cut to a readable length.
    pub found: String,
    /// What is allowed and what to do.
    pub allowed: String,
    /// Where it stands, if it stands anywhere.
    pub place: Option<Place>,
}

/// A place in a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line itself with a caret under the place.
    pub excerpt: String,
}

impl Place {
    /// The place of these bytes of a text. A stranger's line is cut short
    /// and cleared of what steers a terminal.
    pub fn of(text: &str, at: Range<usize>) -> Place {
        let found = DefError::at("", text, at, "");
        let hide = |c: char| match c {
            '\n' => c,
            c if crate::oracle::is_hidden(c) => '\u{fffd}',
            c => c,
        };
        let long = found.excerpt.lines().any(|l| l.chars().count() > 200);
        let excerpt = match long {
            true => String::new(),
            false => found.excerpt.chars().map(hide).collect(),
        };
        Place { line: found.line, column: found.column, excerpt }
    }
}

impl fmt::Display for MetaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MetaError { file, field, found, allowed, place } = self;
        f.write_str(file)?;
        if let Some(Place { line, column, .. }) = place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {field}: found {found}; {allowed}")?;
        match place {
            Some(place) if !place.excerpt.is_empty() => {
                write!(f, "\n{}", place.excerpt)
            }
            _ => Ok(()),
        }
    }
}

/// Longest text we carry; longer is cut off at a page's cell anyway.
const LONGEST_TEXT: usize = 2000;

impl Entry {
    /// Reads one `meta.json`. `known` are the names of all profiles. All
    /// faults are returned, not only the first.
    pub fn parse(
        name: EntryName,
        file: &str,
        json: &str,
        known: &[ProfileName],
    ) -> Result<Entry, Vec<MetaError>> {
        let mut read = Reader::new(file, Spots::of(json));
        let map = match serde_json::from_str::<Value>(json) {
            Ok(Value::Object(map)) => map,
            Ok(other) => {
                read.refuse("(whole file)", &other, "write one JSON object");
                return Err(read.errors);
            }
            Err(e) => {
                return Err(vec![MetaError {
                    file: file.into(),
                    field: "(whole file)".into(),
                    found: "text that is not JSON".into(),
                    allowed: format!("mend it there: {e}"),
                    place: Some(Place::of(json, offset(json, &e))),
                }]);
            }
        };
        read.keys();
        let get = |key: &str| map.get(key).unwrap_or(&Value::Null);
        let display_name = read
            .text("display_name", get("display_name"))
            .unwrap_or_else(|| name.to_string());
        let kind = match get("type") {
            Value::Null => {
                read.missing("type", &format!("write one of {TYPES}"));
                None
            }
            value => {
                let kind = value.as_str().and_then(Type::parse);
                if kind.is_none() {
                    let near = value.as_str().and_then(|text| {
                        read::near(text, Type::ALL.map(Type::as_str))
                    });
                    let allowed = format!(
                        "{near}allowed: {TYPES}",
                        near = read::meant(near)
                    );
                    read.refuse("type", value, &allowed);
                }
                kind
            }
        };
        let profiles = read.profiles(get("tests"), known);
        let entry = Entry {
            display_name,
            language: read
                .text("language", get("language"))
                .unwrap_or_default(),
            engine: read.text("engine", get("engine")).unwrap_or_default(),
            kind: kind.unwrap_or(Type::Production),
            description: read
                .text("description", get("description"))
                .unwrap_or_default(),
            repo: read.repo(get("repo")),
            enabled: read.flag("enabled", get("enabled")),
            profiles,
            maintainers: read
                .texts("maintainers", get("maintainers"))
                .into_iter()
                .map(|m| m.trim_start_matches('@').to_string())
                .collect(),
            version: read.text("version", get("version")).unwrap_or_default(),
            local: read.local(get("local")),
            protocols: read.protocols(get("protocols")),
            notes: Vec::new(),
            home: name.clone(),
            name,
        };
        if entry.maintainers.is_empty() {
            let todo = "name somebody to ask when it fails";
            read.note("maintainers", "nobody", todo);
        }
        let entry = Entry { notes: std::mem::take(&mut read.notes), ..entry };
        if read.errors.is_empty() { Ok(entry) } else { Err(read.errors) }
    }

    /// The same program under a second name, for an A/A pair.
    pub fn twin(&self) -> Result<Entry, NameError> {
        let name = format!("{}.again", self.name).parse()?;
        Ok(Entry { name, ..self.clone() })
    }

    /// The league it is ranked in.
    pub fn league(&self) -> League {
        self.kind.league()
    }

    /// The profiles it subscribes to and, by what it says it speaks, cannot
    /// serve. `file` and `json` are those it was parsed from.
    pub fn conflicts(
        &self,
        file: &str,
        json: &str,
        profiles: &[Profile],
    ) -> Vec<MetaError> {
        let mut read = Reader::new(file, Spots::of(json));
        for (index, name) in self.profiles.iter().enumerate() {
            let of = profiles.iter().find(|p| p.name == *name);
            let Some(protocol) = of.map(|p| p.protocol) else { continue };
            if self.protocols.is_empty() || self.protocols.contains(&protocol) {
                continue;
            }
            let own: Vec<_> =
                self.protocols.iter().map(|p| p.as_str()).collect();
            let allowed = format!(
                "it is asked over {}, and `protocols` has only {}: add it \
                 there, or leave the profile out",
                protocol.as_str(),
                own.join(", ")
            );
            read.refuse_item("tests", index, name.as_str(), &allowed);
        }
        read.errors
    }
}

/// Where serde_json stopped.
fn offset(json: &str, e: &serde_json::Error) -> Range<usize> {
    let before: usize = json
        .split_inclusive('\n')
        .take(e.line().saturating_sub(1))
        .map(str::len)
        .sum();
    // Its columns count bytes, from 1.
    let at = before + e.column().saturating_sub(1);
    at..at + 1
}

#[cfg(test)]
mod tests;
