//! Loadgen and its peers, alternately, against the same server on the same
//! CPUs: what one right answer costs each. `--help` has the options.
//!
//! Costs are CPU seconds (user and system) of the whole process, from its
//! start to its end, per million answers. Loadgen's are answers it found
//! right; a peer's are those it calls done, whatever was in them. A claim
//! about speed is the median ratio over the pairs, never a single time.

mod floor;
mod options;
mod pairs;
mod print;
mod row;
#[path = "server/mod.rs"]
mod server;
#[path = "tool/mod.rs"]
mod tool;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use options::{HELP, Options};
use workloads::WORKLOADS;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("--help" | "-h") => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Some("serve") => row::serve(&args[1..]),
        Some("floor") => floor::run(&args[1..]),
        _ => match Options::parse(&args) {
            Ok(options) => measure(&options),
            Err(why) => {
                eprintln!("peers: {why}; see --help");
                return ExitCode::from(2);
            }
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("peers: {why:#}");
            ExitCode::from(1)
        }
    }
}

/// Whether all rows that were asked for could be measured.
fn measure(options: &Options) -> anyhow::Result<bool> {
    let chosen = || WORKLOADS.iter().filter(|w| options.wants(w.name));
    if options.list {
        for workload in chosen() {
            println!("{}", print::line(workload));
        }
        return Ok(true);
    }
    let data = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers-data");
    profiles::data::write(&data).context("the data was not generated")?;
    let mut whole = true;
    let mut rows = Vec::new();
    for workload in chosen() {
        match row::measure(workload, options, &data) {
            Ok(row) => {
                print::row(&row, options);
                rows.push(row);
            }
            Err(why) => {
                whole = false;
                print::skipped(workload, &why);
            }
        }
    }
    if !options.json {
        print::table(&rows);
    }
    Ok(whole)
}
