//! What the end-to-end tests share: the binary, checkouts made for a test,
//! and the lock on the contract's ports.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use assert_cmd::Command;

/// This repository.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap().to_path_buf()
}

/// The cache the tests share, so that data is generated once.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("arena-cache")
}

/// `arena` in a checkout.
pub fn arena(root: &Path) -> Command {
    let mut command = Command::cargo_bin("arena").unwrap();
    command
        .arg("--root")
        .arg(root)
        .env("ARENA_CACHE", cache())
        .env("NO_COLOR", "1")
        .env_remove("ARENA_ROOT");
    command
}

/// Held while something listens on a contract port, by tests of any binary
/// and any checkout on this machine.
pub fn contract_ports() -> File {
    let path = std::env::temp_dir().join("arena-contract-ports.lock");
    let file = File::create(path).unwrap();
    file.lock().unwrap();
    file
}

/// A checkout with our definitions and only the entries added to it.
pub struct Checkout(pub tempfile::TempDir);

impl Checkout {
    /// Without entries.
    pub fn new() -> Checkout {
        let dir = tempfile::tempdir().unwrap();
        let defs = dir.path().join("profiles/defs");
        fs::create_dir_all(&defs).unwrap();
        fs::create_dir_all(dir.path().join("frameworks")).unwrap();
        for item in fs::read_dir(root().join("profiles/defs")).unwrap() {
            let path = item.unwrap().path();
            fs::copy(&path, defs.join(path.file_name().unwrap())).unwrap();
        }
        Checkout(dir)
    }

    /// With an entry of this `meta.json`; other files may be added to the
    /// directory that is returned.
    pub fn entry(&self, name: &str, meta: &str) -> PathBuf {
        let dir = self.path().join("frameworks").join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("meta.json"), meta).unwrap();
        dir
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The newest run's folder.
    pub fn run(&self) -> PathBuf {
        let list = fs::read_dir(self.path().join("results")).unwrap();
        let mut runs: Vec<_> = list.map(|i| i.unwrap().path()).collect();
        runs.sort();
        runs.pop().unwrap()
    }

    /// The lines of the newest run's `samples.jsonl`.
    pub fn samples(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.run().join("samples.jsonl"));
        let text = text.unwrap();
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

/// Standard output of a command that must end with `code`.
#[track_caller]
pub fn stdout(command: &mut Command, code: i32) -> String {
    let out = command.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "stderr: {err}");
    String::from_utf8(out.stdout).unwrap()
}

/// Standard error of a command that must end with `code`.
#[track_caller]
pub fn stderr(command: &mut Command, code: i32) -> String {
    let out = command.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "stderr: {err}");
    err
}

/// Holds a JSON text against `schemas/<name>.json`.
#[track_caller]
pub fn fits(name: &str, text: &str) -> serde_json::Value {
    let path = root().join("schemas").join(format!("{name}.json"));
    let schema: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    if let Err(why) = jsonschema::validate(&schema, &value) {
        panic!("{name}: {why}");
    }
    value
}
