//! Stamps the revision into the binaries, so that each run and each sample
//! names the code that made it. `harness/cli` is built with this file too.

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(out.stdout).ok()?;
        out.status.success().then(|| text.trim().to_owned())
    };
    let revision = std::env::var("ARENA_REVISION")
        .ok()
        .or_else(|| git(&["describe", "--always", "--dirty", "--abbrev=12"]))
        .unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=BUILD_REVISION={revision}");
    println!("cargo::rerun-if-env-changed=ARENA_REVISION");
    println!("cargo::rerun-if-changed=src");
    // Every commit and checkout appends here.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}
