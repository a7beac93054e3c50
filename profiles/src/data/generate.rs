//! All files of the data folder, made in memory.

use std::sync::Mutex;
use std::thread;

use super::dataset::Dataset;
use super::static_files::{STATIC_FILES, StaticFile};
use super::{assets, cert, compress};

/// How many threads share the work; brotli is most of it.
const THREADS: usize = 2;

/// One file of the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Path inside the folder, such as `static/app.js`.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl DataFile {
    fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into() }
    }
}

/// One piece of work: a file with what belongs to it.
enum Job {
    Dataset,
    Static(&'static StaticFile),
    Identity,
}

impl Job {
    fn run(&self) -> Vec<DataFile> {
        match self {
            Self::Dataset => {
                let bytes = Dataset::generate().to_bytes();
                vec![DataFile::new("dataset.json", bytes)]
            }
            Self::Static(file) => with_siblings(file),
            Self::Identity => {
                let identity = cert::identity();
                vec![
                    DataFile::new("certs/server.crt", identity.certificate),
                    DataFile::new("certs/server.key", identity.key),
                ]
            }
        }
    }

    /// What it costs, roughly: bytes to compress.
    fn cost(&self) -> usize {
        match self {
            Self::Dataset => 0,
            Self::Static(file) if file.compressed => file.bytes,
            Self::Static(_) => 0,
            Self::Identity => 50_000,
        }
    }
}

fn with_siblings(file: &StaticFile) -> Vec<DataFile> {
    let path = format!("static/{}", file.name);
    let raw = assets::contents(file);
    let mut files = Vec::new();
    if file.compressed {
        let (gz, br) = (format!("{path}.gz"), format!("{path}.br"));
        files.push(DataFile::new(gz, compress::gzip(&raw)));
        files.push(DataFile::new(br, compress::brotli(&raw)));
    }
    files.insert(0, DataFile::new(path, raw));
    files
}

/// Makes every file of the data folder, always in the same order. Takes a
/// second or two.
#[must_use]
pub fn generate() -> Vec<DataFile> {
    let mut jobs = vec![Job::Dataset];
    jobs.extend(STATIC_FILES.iter().map(Job::Static));
    jobs.push(Job::Identity);

    // Each thread takes the dearest job that is left, so none ends up alone
    // with a large one.
    let mut waiting: Vec<usize> = (0..jobs.len()).collect();
    waiting.sort_by_key(|&index| jobs[index].cost());
    let waiting = Mutex::new(waiting);
    let take = || waiting.lock().ok()?.pop();
    let work = || {
        let mut done = Vec::new();
        while let Some(index) = take() {
            done.push((index, jobs[index].run()));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(files) => done.extend(files),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().flat_map(|(_, files)| files).collect()
}
