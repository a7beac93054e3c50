//! Everything there is: all profiles and all entries of a checkout.
//!
//! Reads plain files and nothing else. Profiles are ours, so one bad file
//! refuses the whole catalog; entries are strangers', so a bad one is put
//! aside with its errors and never stops the others.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::entry::{Entry, MetaError};
use crate::name::{EntryName, ProfileName};
use crate::profile::{DefError, Profile};

/// Far above any honest `meta.json` or definition.
const LONGEST_FILE: u64 = 1 << 20;
/// Faults listed of one file; the count of the others is said.
const FAULTS_SHOWN: usize = 20;

/// All profiles and entries under one root.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The checkout.
    pub root: PathBuf,
    /// Profiles in the order of their names.
    pub profiles: Vec<Profile>,
    /// Entries in the order of their names.
    pub entries: Vec<Entry>,
    /// What is wrong with the entries that did not load.
    pub bad: Vec<MetaError>,
}

/// Why no catalog could be made.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A folder or file could not be read.
    #[error("{path}: {source}; run inside a checkout of the arena")]
    Read {
        /// The folder or file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A definition was refused.
    #[error(transparent)]
    Definition(#[from] DefError),
    /// A definition's file name is no profile name.
    #[error("{path}: {why}; rename the file")]
    Name {
        /// The file.
        path: String,
        /// What is wrong with its name.
        why: String,
    },
    /// No entry of that name loads.
    #[error("no entry `{name}` in frameworks/; there are: {known}")]
    NoEntry {
        /// The name asked for.
        name: String,
        /// The entries there are.
        known: String,
    },
    /// No profile of that name.
    #[error("no profile `{name}` in profiles/defs/; there are: {known}")]
    NoProfile {
        /// The name asked for.
        name: String,
        /// The profiles there are.
        known: String,
    },
}

impl Catalog {
    /// Loads `profiles/defs/*.toml` and `frameworks/*/meta.json` of `root`.
    pub fn load(root: &Path) -> Result<Catalog, CatalogError> {
        let profiles = load_profiles(&root.join("profiles/defs"))?;
        let names: Vec<ProfileName> =
            profiles.iter().map(|p| p.name.clone()).collect();
        let dir = root.join("frameworks");
        let (entries, bad) = load_entries(&dir, &names, &profiles)?;
        Ok(Catalog { root: root.to_path_buf(), profiles, entries, bad })
    }

    /// The profile called `name`.
    pub fn profile(&self, name: &str) -> Result<&Profile, CatalogError> {
        self.profiles.iter().find(|p| p.name.as_str() == name).ok_or_else(
            || CatalogError::NoProfile {
                name: name.chars().take(64).collect(),
                known: join(self.profiles.iter().map(|p| p.name.as_str())),
            },
        )
    }

    /// The entry called `name`.
    pub fn entry(&self, name: &str) -> Result<&Entry, CatalogError> {
        self.entries.iter().find(|e| e.name.as_str() == name).ok_or_else(|| {
            CatalogError::NoEntry {
                name: name.chars().take(64).collect(),
                known: join(self.entries.iter().map(|e| e.name.as_str())),
            }
        })
    }

    /// The directory of an entry.
    pub fn entry_dir(&self, entry: &Entry) -> PathBuf {
        self.root.join("frameworks").join(entry.home.as_str())
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn listing(dir: &Path) -> Result<Vec<PathBuf>, CatalogError> {
    let fail =
        |source| CatalogError::Read { path: dir.display().to_string(), source };
    let mut paths = Vec::new();
    for item in fs::read_dir(dir).map_err(fail)? {
        paths.push(item.map_err(fail)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The text of a file that is no pipe or device, where reading might never
/// end, and not longer than any honest one.
fn text_of(path: &Path) -> io::Result<String> {
    let refuse = |why: String| Err(io::Error::other(why));
    if !fs::metadata(path)?.is_file() {
        return refuse("not a regular file".into());
    }
    let mut text = String::new();
    let mut file = fs::File::open(path)?.take(LONGEST_FILE + 1);
    file.read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_FILE {
        return refuse(format!("more than {LONGEST_FILE} bytes"));
    }
    Ok(text)
}

/// All definitions of one folder; the file stem is the name.
fn load_profiles(dir: &Path) -> Result<Vec<Profile>, CatalogError> {
    let mut out = Vec::new();
    for path in listing(dir)? {
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let shown = path.display().to_string();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name: ProfileName = stem.parse().map_err(|why| {
            CatalogError::Name { path: shown.clone(), why: format!("{why}") }
        })?;
        let source = text_of(&path).map_err(|source| CatalogError::Read {
            path: shown.clone(),
            source,
        })?;
        out.push(Profile::parse(name, &shown, &source)?);
    }
    // `a-b.toml` sorts before `a.toml`; names do not.
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

type Loaded = (Vec<Entry>, Vec<MetaError>);

fn load_entries(
    dir: &Path,
    known: &[ProfileName],
    profiles: &[Profile],
) -> Result<Loaded, CatalogError> {
    let (mut entries, mut bad) = (Vec::new(), Vec::new());
    let mut folded: BTreeMap<String, String> = BTreeMap::new();
    for path in listing(dir)? {
        let meta = path.join("meta.json");
        let dir_name =
            path.file_name().unwrap_or_default().to_string_lossy().to_string();
        // `_shared` and the like hold no entry.
        if !path.is_dir() || dir_name.starts_with(['_', '.']) {
            continue;
        }
        let file: String = meta.display().to_string().escape_debug().collect();
        let fault = |field: &str, found: String, allowed: &str| MetaError {
            file: file.clone(),
            field: field.into(),
            found,
            allowed: allowed.into(),
            place: None,
        };
        let name: EntryName = match dir_name.parse() {
            Ok(name) => name,
            Err(why) => {
                bad.push(fault("(directory)", format!("{why}"), "rename it"));
                continue;
            }
        };
        let json = match text_of(&meta) {
            Ok(json) => json,
            Err(why) => {
                let todo = "every directory of frameworks/ needs one";
                bad.push(fault("(whole file)", format!("{why}"), todo));
                continue;
            }
        };
        if let Some(twin) = folded.insert(dir_name.to_lowercase(), dir_name) {
            let found =
                format!("a name that differs from `{twin}` only in case");
            bad.push(fault("(directory)", found, "rename one of them"));
            continue;
        }
        let parsed = Entry::parse(name, &file, &json, known);
        let whole = parsed.and_then(|entry| {
            let mut errors = entry.conflicts(&file, &json, profiles);
            errors.extend(stackless(&entry, &path, profiles, &fault));
            if errors.is_empty() { Ok(entry) } else { Err(errors) }
        });
        match whole {
            Ok(entry) => entries.push(entry),
            Err(mut errors) => {
                let more = errors.len().saturating_sub(FAULTS_SHOWN);
                errors.truncate(FAULTS_SHOWN);
                bad.extend(errors);
                if more > 0 {
                    let found = format!("{more} more faults");
                    bad.push(fault("(whole file)", found, "mend these first"));
                }
            }
        }
    }
    entries.sort_by(|a: &Entry, b: &Entry| a.name.cmp(&b.name));
    Ok((entries, bad))
}

/// Stack profiles whose stack is not in the directory.
fn stackless(
    entry: &Entry,
    dir: &Path,
    profiles: &[Profile],
    fault: &impl Fn(&str, String, &str) -> MetaError,
) -> Vec<MetaError> {
    let missing = |name: &ProfileName| {
        let profile = profiles.iter().find(|p| p.name == *name)?;
        let file = profile.stack_file()?;
        let todo = format!("write {file}, or leave the profile out");
        let found = format!("`{name}` without its {file}");
        (!dir.join(file).is_file()).then(|| fault("tests", found, &todo))
    };
    entry.profiles.iter().filter_map(missing).collect()
}
