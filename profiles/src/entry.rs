//! An entry: one contestant, as its `meta.json` describes it.
//!
//! The keys and meanings are HttpArena's, so a directory written for it loads
//! here; ours are optional. Keys we do not know are kept quiet about, since
//! other arenas may add their own; every value we do use is checked.

use serde::Deserialize;
use serde_json::Value;

use crate::name::{EntryName, ProfileName};
use crate::profile::League;

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

    fn parse(text: &str) -> Option<Type> {
        [Type::Production, Type::Tuned, Type::Engine, Type::Infrastructure]
            .into_iter()
            .find(|t| t.as_str() == text)
    }
}

/// How the `local` host builds and runs an entry that is not a Rust crate.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LocalRun {
    /// The build command, run in the entry's directory; empty is none.
    pub build: Vec<String>,
    /// The command that serves; it must not fork away.
    pub run: Vec<String>,
}

/// One contestant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its directory under `frameworks/`: the stable id.
    pub name: EntryName,
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
}

/// One thing wrong with one `meta.json`. Files with several faults give
/// several of these.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}: {field}: found {found}; {allowed}")]
pub struct MetaError {
    /// The file.
    pub file: String,
    /// The field, or `(whole file)`.
    pub field: String,
    /// The value found, cut to a readable length.
    pub found: String,
    /// What is allowed and what to do.
    pub allowed: String,
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
        let mut read = Reader { file, errors: Vec::new() };
        let map = match serde_json::from_str::<Value>(json) {
            Ok(Value::Object(map)) => map,
            Ok(other) => {
                read.refuse("(whole file)", &other, "write one JSON object");
                return Err(read.errors);
            }
            Err(e) => {
                read.errors.push(MetaError {
                    file: format!("{file}:{}:{}", e.line(), e.column()),
                    field: "(whole file)".into(),
                    found: "text that is not JSON".into(),
                    allowed: format!("mend it there: {e}"),
                });
                return Err(read.errors);
            }
        };
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
                    read.refuse("type", value, &format!("allowed: {TYPES}"));
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
            name,
        };
        if read.errors.is_empty() { Ok(entry) } else { Err(read.errors) }
    }

    /// The league it is ranked in.
    pub fn league(&self) -> League {
        self.kind.league()
    }
}

struct Reader<'a> {
    file: &'a str,
    errors: Vec<MetaError>,
}

impl Reader<'_> {
    fn refuse(&mut self, field: &str, found: &Value, allowed: &str) {
        let mut found: String = found.to_string().chars().take(80).collect();
        found.retain(|c| !c.is_control());
        self.errors.push(MetaError {
            file: self.file.into(),
            field: field.into(),
            found: format!("`{found}`"),
            allowed: allowed.into(),
        });
    }

    fn missing(&mut self, field: &str, allowed: &str) {
        self.errors.push(MetaError {
            file: self.file.into(),
            field: field.into(),
            found: "nothing".into(),
            allowed: allowed.into(),
        });
    }

    fn text(&mut self, field: &str, value: &Value) -> Option<String> {
        match value {
            Value::Null => None,
            Value::String(s) if s.chars().count() <= LONGEST_TEXT => {
                Some(s.chars().filter(|c| !c.is_control()).collect())
            }
            other => {
                let allowed = format!(
                    "write a text of at most {LONGEST_TEXT} characters"
                );
                self.refuse(field, other, &allowed);
                None
            }
        }
    }

    fn texts(&mut self, field: &str, value: &Value) -> Vec<String> {
        match value {
            Value::Null => Vec::new(),
            Value::Array(list) => list
                .iter()
                .filter_map(|v| match v {
                    Value::String(_) => self.text(field, v),
                    other => {
                        self.refuse(field, other, "write a list of texts");
                        None
                    }
                })
                .collect(),
            other => {
                self.refuse(field, other, "write a list of texts");
                Vec::new()
            }
        }
    }

    /// Words of a command: kept as they are, since a line end in a script
    /// means something.
    fn command(&mut self, field: &str, value: &Value) -> Vec<String> {
        let words = self.texts(field, value);
        let list = value.as_array().map_or(&[][..], Vec::as_slice);
        let whole: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
        if whole.iter().any(|word| word.contains('\0')) {
            self.refuse(field, value, "no command can hold a NUL character");
        }
        if whole.len() == words.len() {
            whole.into_iter().map(String::from).collect()
        } else {
            words
        }
    }

    fn flag(&mut self, field: &str, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(b) => *b,
            other => {
                self.refuse(field, other, "write true or false");
                true
            }
        }
    }

    fn repo(&mut self, value: &Value) -> String {
        let text = self.text("repo", value).unwrap_or_default();
        let web = text.starts_with("https://") || text.starts_with("http://");
        if !text.is_empty() && !web {
            let allowed = "write an address that begins with https://";
            self.refuse("repo", value, allowed);
        }
        text
    }

    fn profiles(
        &mut self,
        value: &Value,
        known: &[ProfileName],
    ) -> Vec<ProfileName> {
        let list: Vec<_> = known.iter().map(ProfileName::as_str).collect();
        let allowed = format!("allowed: {}", list.join(", "));
        let mut out = Vec::new();
        if value.is_null() || value.as_array().is_some_and(Vec::is_empty) {
            self.missing(
                "tests",
                &format!("name the profiles it serves; {allowed}"),
            );
        }
        for text in self.texts("tests", value) {
            match known.iter().find(|k| k.as_str() == text) {
                None => self.refuse("tests", &Value::String(text), &allowed),
                Some(p) if out.contains(p) => self.refuse(
                    "tests",
                    &Value::String(text),
                    "it stands twice; name each profile once",
                ),
                Some(p) => out.push(p.clone()),
            }
        }
        out
    }

    fn local(&mut self, value: &Value) -> Option<LocalRun> {
        let map = match value {
            Value::Null => return None,
            Value::Object(map) => map,
            other => {
                self.refuse("local", other, LOCAL);
                return None;
            }
        };
        if let Some(key) = map.keys().find(|k| *k != "build" && *k != "run") {
            self.refuse("local", &Value::String(key.clone()), LOCAL);
        }
        let null = Value::Null;
        let mut list = |key: &str| {
            self.command(&format!("local.{key}"), map.get(key).unwrap_or(&null))
        };
        let (build, run) = (list("build"), list("run"));
        if run.first().is_none_or(String::is_empty) {
            self.missing("local.run", LOCAL);
        }
        Some(LocalRun { build, run })
    }
}

const LOCAL: &str = "write {\"build\": [command...], \"run\": [command...]}";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Entry, Vec<MetaError>> {
        let known = ["baseline", "json"].map(|p| p.parse().unwrap());
        Entry::parse("x".parse().unwrap(), "x/meta.json", json, &known)
    }

    #[track_caller]
    fn refuses(json: &str, message: &str) {
        let errors = parse(json).unwrap_err();
        let all: Vec<_> = errors.iter().map(|e| e.to_string()).collect();
        assert!(all.iter().any(|e| e.contains(message)), "{all:#?}");
    }

    #[test]
    fn a_foreign_meta_with_keys_of_its_own_loads() {
        let entry = parse(
            r#"{"display_name":"X","language":"Go","engine":"net/http",
            "type":"tuned","tests":["json","baseline"],"sponsor":1,
            "maintainers":["@ann","bob"],"enabled":false}"#,
        )
        .unwrap();
        assert_eq!(entry.league(), League::Framework);
        assert_eq!(entry.maintainers, ["ann", "bob"]);
        assert_eq!(entry.profiles[0].as_str(), "json");
        assert!(!entry.enabled);
    }

    #[test]
    fn a_script_in_a_command_keeps_its_lines() {
        let entry = parse(
            r#"{"type":"tuned","tests":["json"],
            "local":{"run":["sh","-c","cd x\nexec ./y"]}}"#,
        );
        let local = entry.unwrap().local.unwrap();
        assert_eq!(local.run[2], "cd x\nexec ./y");
    }

    #[test]
    fn every_fault_names_file_field_value_and_allowed_values() {
        refuses(
            r#"{"type":"realistic","tests":["json"]}"#,
            "x/meta.json: type: found `\"realistic\"`; allowed: production, \
             tuned, engine or infrastructure",
        );
        refuses(
            r#"{"type":"tuned","tests":["jsn"]}"#,
            "tests: found `\"jsn\"`; allowed: baseline, json",
        );
        refuses(r#"{"type":"tuned","tests":["json","json"]}"#, "stands twice");
        refuses(r#"{"type":"tuned"}"#, "tests: found nothing");
        for run in [r#"[]"#, r#"[""]"#, r#"["sh","\u0000"]"#] {
            let local = format!(r#""local":{{"run":{run}}}"#);
            let json =
                format!(r#"{{"type":"tuned","tests":["json"],{local}}}"#);
            refuses(&json, "local.run: found");
        }
        refuses("{\n\"type\": }", "x/meta.json:2:9: (whole file)");
        refuses(r#"{"type":"tuned","tests":[1]}"#, "list of texts");
        refuses(
            r#"{"type":"tuned","tests":["json"],"repo":"javascript:x"}"#,
            "https://",
        );
        assert_eq!(parse(r#"{"type":1,"tests":"x"}"#).unwrap_err().len(), 2);
    }
}
