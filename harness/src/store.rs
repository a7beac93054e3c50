//! What a run leaves on disk: `results/<run>/`.
//!
//! `run.json` and `verdicts/<entry>.json` are replaced whole: written beside
//! their place, synced, renamed. `samples.jsonl` only ever grows, one synced
//! line a shot. So a crash or a full disk loses at most the shot in hand.

mod read;
#[cfg(test)]
mod tests;

pub use read::{Read, read, read_verdicts};

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use profiles::{
    record::{Record, Run},
    verdict::Verdicts,
};
use serde::Serialize;
use time::{OffsetDateTime, macros::format_description};

/// Why a run could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused to write.
    #[error(
        "cannot write {path}: {source}; make room or choose another folder. \
         What was stored before is whole and can be ranked"
    )]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused to read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder from a version that writes another schema.
    #[error(
        "{path} has schema {found}, this version reads {known}; use the \
         version of the arena that wrote it"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema number, or what stands in its place.
        found: String,
        /// The number this version reads.
        known: u32,
    },
    /// Two tools would write one run.
    #[error(
        "another `arena` writes to {path}, or did since it was read; wait \
         until it has ended"
    )]
    Busy {
        /// The run's folder.
        path: PathBuf,
    },
    /// Not what this version writes.
    #[error("{path}{line}: {why}; the file was damaged or edited by hand")]
    Broken {
        /// The file.
        path: PathBuf,
        /// `:` and the line, or nothing.
        line: String,
        /// What is wrong.
        why: String,
    },
}

/// A run's folder while it is written.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    samples: File,
}

/// The id of a run that begins now: its time and its seed.
pub fn run_id(now: OffsetDateTime, seed: u64) -> String {
    let form = format_description!("[year][month][day]-[hour][minute][second]");
    let utc = now.to_offset(time::UtcOffset::UTC);
    // Formatting numbers of a valid time into a String cannot fail.
    let when = utc.format(&form).unwrap_or_default();
    format!("{when}-{:08x}", seed as u32)
}

impl Store {
    /// Makes `results/<run>/` and writes `run.json`.
    pub fn create(results: &Path, run: &Run) -> Result<Store, StoreError> {
        let dir = results.join(&run.run);
        for folder in ["verdicts", "logs"] {
            let path = dir.join(folder);
            fs::create_dir_all(&path)
                .map_err(|source| StoreError::Write { path, source })?;
        }
        let samples = open(&dir)?;
        let store = Store { dir, samples };
        store.put_run(run)?;
        Ok(store)
    }

    /// Goes on with `results/<run>/`, of which `records` were read. Half a
    /// line at its end is cut off.
    pub fn reopen(
        results: &Path,
        run: &Run,
        records: usize,
    ) -> Result<Store, StoreError> {
        let dir = results.join(&run.run);
        let samples = open(&dir)?;
        let path = dir.join("samples.jsonl");
        let fail = |source| StoreError::Write { path: path.clone(), source };
        let text = fs::read(&path).map_err(fail)?;
        let end = text.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        if text.iter().filter(|b| **b == b'\n').count() != records {
            return Err(StoreError::Busy { path: dir });
        }
        samples.set_len(end as u64).map_err(fail)?;
        let store = Store { dir, samples };
        store.put_run(run)?;
        Ok(store)
    }

    /// The run's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a log called `name` goes.
    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join("logs").join(name)
    }

    /// Replaces `run.json`.
    pub fn put_run(&self, run: &Run) -> Result<(), StoreError> {
        replace(&self.dir.join("run.json"), run)
    }

    /// Replaces the verdicts of one entry.
    pub fn put_verdicts(&self, verdicts: &Verdicts) -> Result<(), StoreError> {
        let name = format!("{}.json", verdicts.entry);
        replace(&self.dir.join("verdicts").join(name), verdicts)
    }

    /// Appends one shot and waits until it is on disk.
    pub fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let fail = |source| StoreError::Write {
            path: self.dir.join("samples.jsonl"),
            source,
        };
        let line = line(record).map_err(fail)?;
        append(&mut self.samples, &line).map_err(fail)?;
        self.samples.sync_data().map_err(fail)
    }
}

/// `samples.jsonl`, held against every other tool as long as it is open.
fn open(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join("samples.jsonl");
    let samples = OpenOptions::new().create(true).append(true).open(&path);
    let samples =
        samples.map_err(|source| StoreError::Write { path, source })?;
    match samples.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::Busy { path: dir.to_path_buf() })
        }
        // Some file systems have no locks; then there is none to wait for.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(samples),
    }
}

/// One record as one line.
fn line(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// All of `line` or, as far as the system allows, none of it: half a line is
/// cut off again, so that the next reader finds only whole ones.
fn append(file: &mut File, line: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(line).inspect_err(|_| {
        // Best effort: the reader also tolerates a cut last line.
        let _ = file.set_len(before);
    })
}

fn replace(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let fail = |source| StoreError::Write { path: path.to_path_buf(), source };
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|e| fail(e.into()))?;
    text.push(b'\n');
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)
        .map_err(fail)?;
    beside.write_all(&text).map_err(fail)?;
    beside.as_file().sync_all().map_err(fail)?;
    // tempfile makes private files; results are for everyone to read.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    beside.as_file().set_permissions(mode).map_err(fail)?;
    beside.persist(path).map_err(|e| fail(e.error))?;
    // The rename itself must be on disk too.
    File::open(folder).and_then(|f| f.sync_all()).map_err(fail)
}
