//! The board: static pages from stored runs, and nothing else.
//!
//! A build is a pure function of the records. There is no clock, no host name
//! and no order of a hash map in it, so the same runs give the same bytes.
//! Every text in a record may be a stranger's: it is cleaned, capped and
//! escaped on its way into a page.

mod answer;
mod cells;
mod chart;
mod data;
mod filter;
mod format;
mod frame;
mod heat;
mod league;
mod profile;
mod rank;
mod rig;
mod rules;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use profiles::board::{MixError, Results, Stored};
use profiles::name::EntryName;
use profiles::profile::League;
use profiles::rule::Rule;
use profiles::score::{Board, Options};

/// Why no site could be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The runs do not belong on one board.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The data did not become JSON.
    #[error("the ranking does not become JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A run's id would not be a safe folder name.
    #[error(
        "run id {0:?} is no name; expected letters, digits, `-`, `_` and `.` \
         as `arena bench` writes them"
    )]
    RunName(String),
    /// One run was given twice.
    #[error("run {0} is given twice; name it once")]
    Twice(String),
    /// A file could not be written.
    #[error("cannot write {path}: {source}; check that it is writable")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Everything the pages are made from.
struct Site<'a> {
    stored: &'a [Stored],
    results: Results,
    /// One ranking for each league that has an entry.
    boards: BTreeMap<League, Board>,
}

impl<'a> Site<'a> {
    fn of(stored: &'a [Stored], options: &Options) -> Result<Self, BuildError> {
        let mut seen = BTreeSet::new();
        for one in stored {
            let id = &one.run.run;
            // A run's id obeys the rules of an entry's name.
            let name: Result<EntryName, _> = id.parse();
            name.map_err(|_| BuildError::RunName(format::name(id)))?;
            if !seen.insert(id) {
                return Err(BuildError::Twice(id.clone()));
            }
        }
        let results = Results::of(stored)?;
        let mut boards = BTreeMap::new();
        for league in results.leagues() {
            boards.insert(league, results.board(league, options)?);
        }
        Ok(Self { stored, results, boards })
    }
}

/// All files of the site, by their path below its root. `rules` are those of
/// the validator.
pub fn files(
    stored: &[Stored],
    rules: &[Rule],
    options: &Options,
) -> Result<BTreeMap<String, String>, BuildError> {
    let site = Site::of(stored, options)?;
    let mut files = BTreeMap::new();
    files.insert("index.html".into(), league::page(&site, League::Framework));
    for league in site.boards.keys().copied() {
        if league != League::Framework {
            files.insert(league::path(league), league::page(&site, league));
        }
    }
    for fired in &site.results.profiles {
        files.insert(profile::path(fired), profile::page(&site, fired));
    }
    files.insert(rules::PATH.into(), rules::page(&site, rules));
    files.extend(data::files(&site)?);
    Ok(files)
}

/// SHA-256 of a file's text, in hex.
pub fn sha256(text: &str) -> String {
    data::sha256(text)
}

/// Writes the site below `out`, which is made if need be. Files of an earlier
/// build are replaced; others are left alone. Returns the first page.
pub fn build(
    stored: &[Stored],
    rules: &[Rule],
    options: &Options,
    out: &Path,
) -> Result<PathBuf, BuildError> {
    for (name, text) in files(stored, rules, options)? {
        let path = out.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(out))?;
            fs::write(&path, text)
        };
        write().map_err(|source| BuildError::Write {
            path: path.clone(),
            source,
        })?;
    }
    Ok(out.join("index.html"))
}
