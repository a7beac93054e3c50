//! The data folder on disk: the only input and output of this module.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::digests::{check_digests, digests, sha256};
use super::error::DataError;
use super::generate::generate;

/// What [`write()`] found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many files the folder holds.
    pub files: usize,
    /// How many of them were missing or different, and are new now.
    pub written: usize,
}

/// Makes `dir` hold exactly the listed bytes under every listed path.
///
/// Every file that is there is read and held against the committed digest.
/// Only if one is missing or different is anything generated, and only such
/// files are written: beside their place first, then renamed, so a reader
/// never sees half a file. Files that are not listed are left alone.
///
/// # Errors
///
/// If the generator and the committed list disagree (nothing is written
/// then), or the folder cannot be read or written.
pub fn write(dir: &Path) -> Result<Written, DataError> {
    let listed = digests()?;
    let mut stale = Vec::new();
    for line in &listed {
        if !holds(&dir.join(line.path), line.sha256)? {
            stale.push(line.path);
        }
    }
    if !stale.is_empty() {
        let files = generate();
        check_digests(&files)?;
        for file in &files {
            if stale.contains(&file.path.as_str()) {
                replace(&dir.join(&file.path), &file.bytes)?;
            }
        }
    }
    Ok(Written { files: listed.len(), written: stale.len() })
}

/// Whether `path` is a plain file with this digest.
fn holds(path: &Path, expected: &str) -> Result<bool, DataError> {
    // Looked at before it is opened: opening a pipe would wait for ever.
    let read = fs::metadata(path).and_then(|found| {
        if found.is_file() { fs::read(path).map(Some) } else { Ok(None) }
    });
    match read {
        Ok(found) => Ok(found.is_some_and(|bytes| sha256(&bytes) == expected)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, "read")(error)),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed(folder, "create"))?;
    }
    let beside = beside(path);
    let done =
        fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // Nothing more can be done about a leftover; the first error counts.
        let _ = fs::remove_file(&beside);
    }
    done.map_err(failed(path, "write"))
}

/// A hidden name next to `path` that no other writer uses.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{count}", process::id()))
}

fn failed(
    path: &Path,
    action: &'static str,
) -> impl FnOnce(io::Error) -> DataError {
    let path = path.to_owned();
    move |source| DataError::Io { path, action, source }
}
