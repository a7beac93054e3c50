//! Data for one judgement alone: a copy of the data folder with a dataset
//! that nobody knows beforehand, and static files that the judge may replace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;
use harness::host::DataPaths;
use profiles::data::Dataset;

/// What the folders are called, before the process and a number.
const PREFIX: &str = "judged-";

/// The copy; dropped, it is removed.
#[derive(Debug)]
pub struct Private {
    dir: PathBuf,
    /// Its parts.
    pub paths: DataPaths,
}

impl Private {
    /// Copies `data` beside itself, where entries may read as well, with the
    /// dataset of `seed`.
    pub fn copy(data: &Path, seed: u64) -> anyhow::Result<Private> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent = data.parent().unwrap_or(data);
        sweep(parent);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("{PREFIX}{}-{count}", process::id()));
        // From here on it is removed whatever fails.
        let copy = Private { paths: DataPaths::under(&dir), dir };
        for folder in ["static", "certs"] {
            copy_folder(&data.join(folder), &copy.dir.join(folder))
                .with_context(|| {
                    format!("copy {} for the judge", data.display())
                })?;
        }
        let dataset = Dataset::varied(seed).to_bytes();
        fs::write(&copy.paths.dataset, dataset).with_context(|| {
            format!("write {}", copy.paths.dataset.display())
        })?;
        Ok(copy)
    }

    /// The certificate in it, in DER.
    pub fn certificate(&self) -> anyhow::Result<Vec<u8>> {
        let path = self.paths.certs.join("server.crt");
        let broken = || format!("{}; run `arena data`", path.display());
        let pem = fs::read(&path).with_context(broken)?;
        validate::certificate(&pem)
            .map_err(anyhow::Error::msg)
            .with_context(broken)
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What is left is swept by a later judgement.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        if item.file_type()?.is_file() {
            fs::copy(item.path(), to.join(item.file_name()))?;
        }
    }
    Ok(())
}

/// Removes the copies of processes that were killed.
fn sweep(parent: &Path) {
    for item in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = item.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<u32>().ok());
        let gone = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
        if owner.is_some_and(gone) {
            let _ = fs::remove_dir_all(item.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let list = fs::read_dir(dir).unwrap().flatten();
        let mut names: Vec<_> =
            list.map(|item| item.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_copy_has_files_of_its_own_and_is_gone_when_it_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        fs::create_dir_all(data.join("static")).unwrap();
        fs::create_dir_all(data.join("certs")).unwrap();
        fs::write(data.join("static/app.js"), "old").unwrap();
        fs::write(data.join("dataset.json"), "[]").unwrap();
        // No process has this number.
        fs::create_dir(place.path().join("judged-4294967295-0")).unwrap();
        {
            let copy = Private::copy(&data, 7).unwrap();
            fs::write(copy.paths.statics.join("app.js"), "new").unwrap();
            let dataset = fs::read(&copy.paths.dataset).unwrap();
            assert_eq!(Dataset::parse(&dataset).unwrap(), Dataset::varied(7));
            assert_eq!(names(place.path()).len(), 2);
        }
        assert_eq!(names(place.path()), ["data"]);
        let old = fs::read_to_string(data.join("static/app.js")).unwrap();
        assert_eq!(old, "old");
        // Nothing is left of one that fails half-way.
        fs::remove_dir(data.join("certs")).unwrap();
        assert!(Private::copy(&data, 7).is_err());
        assert_eq!(names(place.path()), ["data"]);
    }
}
