//! Reading the values, and telling every fault with its place.

use serde_json::Value;

use super::spots::Spots;
use super::{LONGEST_TEXT, LocalRun, MetaError, Needed, Place};
use crate::name::ProfileName;
use crate::profile::Protocol;

/// Every key that has a meaning here.
const KEYS: [&str; 12] = [
    "display_name",
    "language",
    "engine",
    "type",
    "description",
    "repo",
    "enabled",
    "tests",
    "maintainers",
    "version",
    "local",
    "protocols",
];

/// The one of `known` that `text` was probably meant to be.
pub(super) fn near<'k>(
    text: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let text = text.to_lowercase();
    let far = |k: &&str| strsim::damerau_levenshtein(&text, k);
    let best = known.into_iter().min_by_key(far)?;
    // A third of the letters wrong is another word.
    (far(&best) * 3 <= best.len().max(3)).then_some(best)
}

/// The question that goes before what is allowed.
pub(super) fn meant(near: Option<&str>) -> String {
    near.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default()
}

/// Reads the values of one file.
pub(super) struct Reader<'a> {
    file: &'a str,
    spots: Spots<'a>,
    pub(super) errors: Vec<MetaError>,
    pub(super) notes: Vec<MetaError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, spots: Spots<'a>) -> Reader<'a> {
        Reader { file, spots, errors: Vec::new(), notes: Vec::new() }
    }

    fn error(
        &self,
        field: &str,
        found: String,
        allowed: &str,
        at: Option<std::ops::Range<usize>>,
    ) -> MetaError {
        MetaError {
            file: self.file.into(),
            field: field.into(),
            found,
            allowed: allowed.into(),
            place: at.map(|at| Place::of(self.spots.json, at)),
        }
    }

    pub(super) fn refuse(&mut self, field: &str, found: &Value, allowed: &str) {
        let at = self.spots.value(field);
        let error = self.error(field, shown(found), allowed, at);
        self.errors.push(error);
    }

    /// Refuses one item of a list.
    pub(super) fn refuse_item(
        &mut self,
        field: &str,
        index: usize,
        found: &str,
        allowed: &str,
    ) {
        let at = self.spots.item(field, index);
        let found = shown(&Value::String(found.into()));
        let error = self.error(field, found, allowed, at);
        self.errors.push(error);
    }

    pub(super) fn missing(&mut self, field: &str, allowed: &str) {
        let at = self.spots.value(field);
        let error = self.error(field, "nothing".into(), allowed, at);
        self.errors.push(error);
    }

    pub(super) fn note(&mut self, field: &str, found: &str, allowed: &str) {
        let at = self.spots.value(field);
        let note = self.error(field, found.into(), allowed, at);
        self.notes.push(note);
    }

    /// Looks at the keys themselves.
    pub(super) fn keys(&mut self) {
        let mut seen: Vec<&str> = Vec::new();
        let (mut errors, mut notes) = (Vec::new(), Vec::new());
        for (key, at) in self.spots.keys() {
            let error = |allowed: &str| {
                let found = shown(&Value::String(key.into()));
                self.error("(key)", found, allowed, Some(at.clone()))
            };
            if seen.contains(&key) {
                errors.push(error("it stands twice; keep one of them"));
            } else if !KEYS.contains(&key) {
                match near(key, KEYS) {
                    Some(word) => errors.push(error(&format!(
                        "did you mean `{word}`? No key is called so"
                    ))),
                    None => notes.push(error("it has no meaning here")),
                }
            }
            seen.push(key);
        }
        self.errors.extend(errors);
        self.notes.extend(notes);
    }

    pub(super) fn text(
        &mut self,
        field: &str,
        value: &Value,
    ) -> Option<String> {
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

    pub(super) fn texts(&mut self, field: &str, value: &Value) -> Vec<String> {
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

    pub(super) fn flag(&mut self, field: &str, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(b) => *b,
            other => {
                self.refuse(field, other, "write true or false");
                true
            }
        }
    }

    pub(super) fn repo(&mut self, value: &Value) -> String {
        let text = self.text("repo", value).unwrap_or_default();
        let web = text.starts_with("https://") || text.starts_with("http://");
        if !text.is_empty() && !web {
            let allowed = "write an address that begins with https://";
            self.refuse("repo", value, allowed);
        }
        text
    }

    pub(super) fn profiles(
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
        for (index, text) in self.words("tests", value) {
            match known.iter().find(|k| k.as_str() == text) {
                None => {
                    let near = near(&text, list.iter().copied());
                    let allowed = format!("{}{allowed}", meant(near));
                    self.refuse_item("tests", index, &text, &allowed);
                }
                Some(p) if out.contains(p) => self.refuse_item(
                    "tests",
                    index,
                    &text,
                    "it stands twice; name each profile once",
                ),
                Some(p) => out.push(p.clone()),
            }
        }
        out
    }

    pub(super) fn protocols(&mut self, value: &Value) -> Vec<Protocol> {
        let all = Protocol::ALL.map(Protocol::as_str);
        let mut out = Vec::new();
        for (index, text) in self.words("protocols", value) {
            match Protocol::ALL.iter().find(|p| p.as_str() == text) {
                Some(protocol) => out.push(*protocol),
                None => {
                    let near = meant(near(&text, all));
                    let allowed = format!("{near}allowed: {}", all.join(", "));
                    self.refuse_item("protocols", index, &text, &allowed);
                }
            }
        }
        out
    }

    /// The texts of a list, each with its index in the file.
    fn words(&mut self, field: &str, value: &Value) -> Vec<(usize, String)> {
        let before = self.errors.len();
        let texts = self.texts(field, value);
        let list = value.as_array().map_or(&[][..], Vec::as_slice);
        let at = list.iter().enumerate().filter(|(_, v)| v.is_string());
        if self.errors.len() > before {
            return texts.into_iter().map(|text| (usize::MAX, text)).collect();
        }
        at.map(|(index, _)| index).zip(texts).collect()
    }

    pub(super) fn local(&mut self, value: &Value) -> Option<LocalRun> {
        let map = match value {
            Value::Null => return None,
            Value::Object(map) => map,
            other => {
                self.refuse("local", other, LOCAL);
                return None;
            }
        };
        let known = ["build", "run", "packages"];
        if let Some(key) = map.keys().find(|k| !known.contains(&k.as_str())) {
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
        let packages = self.packages(map.get("packages").unwrap_or(&null));
        Some(LocalRun { build, run, packages })
    }

    fn packages(&mut self, value: &Value) -> Vec<Needed> {
        let mut out = Vec::new();
        for text in self.texts("local.packages", value) {
            match needed(&text) {
                Some(needed) => out.push(needed),
                None => {
                    let found = Value::String(text);
                    self.refuse("local.packages", &found, PACKAGE);
                }
            }
        }
        out
    }
}

const LOCAL: &str = "write {\"build\": [command...], \"run\": [command...]}, \
                     and \"packages\" if it needs any";
const PACKAGE: &str = "write \"COMMAND:PACKAGE\": a command's name or a \
                       file's absolute path, and the Debian package it is in";

/// `COMMAND:PACKAGE`. Both reach a shell, so they are plain words.
fn needed(text: &str) -> Option<Needed> {
    let plain = |text: &str, more: &[u8]| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || more.contains(&b);
        let first = text.bytes().next();
        first.is_some_and(|b| b.is_ascii_alphanumeric())
            && text.bytes().all(fits)
    };
    let (command, package) = text.split_once(':')?;
    let named = match command.strip_prefix('/') {
        Some(path) => plain(path, b"/._+-"),
        None => plain(command, b"._+-"),
    };
    (named && plain(package, b".+-")).then(|| Needed {
        command: command.to_string(),
        package: package.to_string(),
    })
}

/// A value as a message shows it, cut to a readable length.
fn shown(value: &Value) -> String {
    let mut text: String = value.to_string().chars().take(80).collect();
    text.retain(|c| !crate::oracle::is_hidden(c));
    format!("`{text}`")
}
