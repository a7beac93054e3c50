//! The committed list of digests: `profiles/data.sha256`, in the format of
//! `sha256sum`, so that `sha256sum -c` inside a data folder can read it too.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::error::DataError;
use super::generate::DataFile;

const LIST: &str = include_str!("../../data.sha256");

/// One line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileDigest {
    /// Path inside the data folder, such as `static/app.js`.
    pub path: &'static str,
    /// SHA-256 in lower-case hex.
    pub sha256: &'static str,
}

/// The committed list.
///
/// # Errors
///
/// If a line of the list is not a digest and a path.
pub fn digests() -> Result<Vec<FileDigest>, DataError> {
    parse(LIST)
}

fn parse(list: &'static str) -> Result<Vec<FileDigest>, DataError> {
    let lines = list.lines().enumerate().map(|(index, line)| {
        let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        line.split_once("  ")
            .filter(|(sha256, path)| {
                sha256.len() == 64
                    && sha256.chars().all(hex)
                    && !path.is_empty()
            })
            .map(|(sha256, path)| FileDigest { path, sha256 })
            .ok_or_else(|| DataError::List {
                line: index + 1,
                found: line.to_owned(),
            })
    });
    lines.collect()
}

/// SHA-256 of `bytes` in lower-case hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The list that describes `files`.
#[must_use]
pub fn digest_list(files: &[DataFile]) -> String {
    let line =
        |file: &DataFile| format!("{}  {}\n", sha256(&file.bytes), file.path);
    files.iter().map(line).collect()
}

/// Holds `files` against the committed list.
///
/// # Errors
///
/// Names the first file that differs, is not listed or is not there.
pub fn check_digests(files: &[DataFile]) -> Result<(), DataError> {
    compare(files, &digests()?)
}

fn compare(files: &[DataFile], listed: &[FileDigest]) -> Result<(), DataError> {
    let mut listed: BTreeMap<&str, &str> =
        listed.iter().map(|line| (line.path, line.sha256)).collect();
    for DataFile { path, bytes } in files {
        let expected = listed.remove(path.as_str()).unwrap_or("no such file");
        let found = sha256(bytes);
        if found != expected {
            return Err(DataError::Digest {
                path: path.clone(),
                expected: expected.to_owned(),
                found,
            });
        }
    }
    match listed.pop_first() {
        None => Ok(()),
        Some((path, expected)) => Err(DataError::Digest {
            path: path.to_owned(),
            expected: expected.to_owned(),
            found: "no such file".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[track_caller]
    fn disagrees(files: &[(&str, &[u8])], says: &str) {
        let files: Vec<DataFile> = files
            .iter()
            .map(|(path, bytes)| DataFile {
                path: (*path).to_owned(),
                bytes: bytes.to_vec(),
            })
            .collect();
        let listed = [FileDigest { path: "a", sha256: EMPTY }];
        let error = compare(&files, &listed).expect_err("must disagree");
        assert!(error.to_string().contains(says), "{error}");
    }

    #[test]
    fn a_file_that_disagrees_with_the_list_is_named() {
        let listed = [FileDigest { path: "a", sha256: EMPTY }];
        let file = DataFile { path: "a".to_owned(), bytes: Vec::new() };
        assert!(compare(&[file], &listed).is_ok());
        disagrees(&[("a", b"x")], "a: expected SHA-256 e3b0c442");
        disagrees(&[("a", b""), ("b", b"")], "b: expected SHA-256 no such");
        disagrees(&[], "a: expected SHA-256 e3b0c442");
    }

    #[test]
    fn a_broken_line_of_the_list_is_named() {
        for list in ["abc  a", "no digest at all", ""] {
            let lines = parse(list);
            assert_eq!(lines.is_ok(), list.is_empty(), "{list:?}");
        }
    }
}
