//! Reading a run back, whole or cut off.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::Path,
};

use profiles::{
    board::Stored,
    record::{RECORD_SCHEMA, Record, Run},
    verdict::{VERDICT_SCHEMA, Verdicts},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::StoreError;

/// Longer than any honest record: histograms are bounded, and so are texts.
const LONGEST_LINE: usize = 16 << 20;

/// What was read of a run.
#[derive(Clone, Debug)]
pub struct Read {
    /// The run and its records.
    pub stored: Stored,
    /// What the reader of its numbers should know: it was cut off, a line is
    /// missing its end.
    pub notes: Vec<String>,
}

/// Reads `run.json` and `samples.jsonl` of a run's folder. A last line
/// without its end is left out and noted; any other fault is an error.
pub fn read(dir: &Path) -> Result<Read, StoreError> {
    let path = dir.join("run.json");
    let run: Run = document(&path, RECORD_SCHEMA)?;
    origin(&run).map_err(|why| broken(&path, "", why))?;
    let mut notes = Vec::new();
    if run.ended_at.is_none() {
        notes.push("the run was cut off; what it stored is used".to_string());
    }
    let mut records = Vec::new();
    let path = dir.join("samples.jsonl");
    let fail = |source| StoreError::Read { path: path.clone(), source };
    // A pipe without a writer could be waited for without end.
    if fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        return Err(fail(io::Error::other("not a regular file")));
    }
    let file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            notes.push("samples.jsonl is missing: no shot was stored".into());
            return Ok(Read { stored: Stored { run, records }, notes });
        }
        Err(source) => return Err(fail(source)),
    };
    let mut input = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut limited = io::Read::take(&mut input, LONGEST_LINE as u64);
        if limited.read_until(b'\n', &mut line).map_err(fail)? == 0 {
            break;
        }
        if line.last() != Some(&b'\n') && line.len() < LONGEST_LINE {
            notes.push(format!("line {number} of samples.jsonl is cut off"));
            break;
        }
        records.push(record(&path, number, &line)?);
    }
    Ok(Read { stored: Stored { run, records }, notes })
}

/// Reads the verdicts of one entry; `None` when there are none.
pub fn read_verdicts(
    dir: &Path,
    entry: &str,
) -> Result<Option<Verdicts>, StoreError> {
    let path = dir.join("verdicts").join(format!("{entry}.json"));
    if !path.exists() {
        return Ok(None);
    }
    document(&path, VERDICT_SCHEMA).map(Some)
}

/// A number without its date and the versions that made it is not published.
fn origin(run: &Run) -> Result<(), String> {
    moment("started_at", &run.started_at)?;
    if let Some(ended_at) = &run.ended_at {
        moment("ended_at", ended_at)?;
    }
    for (key, text) in [("arena", &run.arena), ("loadgen", &run.loadgen)] {
        if text.trim().is_empty() {
            return Err(format!("{key} is empty; expected a version"));
        }
    }
    Ok(())
}

fn moment(key: &str, text: &str) -> Result<(), String> {
    match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(_) => Ok(()),
        Err(_) => {
            let found: String = text.chars().take(40).collect();
            Err(format!(
                "{key} is {found:?}; expected a date and time like \
                 2026-01-02T03:04:05Z"
            ))
        }
    }
}

fn broken(path: &Path, line: &str, why: String) -> StoreError {
    let (path, line) = (path.to_path_buf(), line.to_owned());
    StoreError::Broken { path, line, why }
}

fn record(path: &Path, number: u64, line: &[u8]) -> Result<Record, StoreError> {
    let at = format!(":{number}");
    let broken = |why: String| broken(path, &at, why);
    let value: Value =
        serde_json::from_slice(line).map_err(|e| broken(e.to_string()))?;
    schema(path, &value, RECORD_SCHEMA)?;
    // From the bytes, not the value: it keeps 64-bit numbers exact and the
    // error's column right.
    let record: Record =
        serde_json::from_slice(line).map_err(|e| broken(e.to_string()))?;
    moment("started_at", &record.started_at).map_err(broken)?;
    Ok(record)
}

fn document<T: DeserializeOwned>(
    path: &Path,
    known: u32,
) -> Result<T, StoreError> {
    let broken = |why: String| broken(path, "", why);
    let text = fs::read(path).map_err(|source| StoreError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let value: Value =
        serde_json::from_slice(&text).map_err(|e| broken(e.to_string()))?;
    schema(path, &value, known)?;
    serde_json::from_slice(&text).map_err(|e| broken(e.to_string()))
}

/// The schema number is looked at before anything else, so that a file of
/// another version is refused by name and not by its first unknown key.
fn schema(path: &Path, value: &Value, known: u32) -> Result<(), StoreError> {
    let found = value.get("schema").unwrap_or(&Value::Null);
    if found.as_u64() == Some(u64::from(known)) {
        return Ok(());
    }
    Err(StoreError::Schema {
        path: path.to_path_buf(),
        found: found.to_string().chars().take(40).collect(),
        known,
    })
}
