//! The gun as a process: one spec on stdin, one shot on stdout.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use loadgen::plan::{Plan, PlanError};
use loadgen::report::{Failed, VERSION};
use loadgen::{engine, life};
use profiles::spec::Spec;

const HELP: &str = "\
loadgen: fires one shot of one profile at one server

usage: loadgen < spec.json > shot.json

Reads one spec (JSON, schema 1) from stdin and writes exactly one shot (JSON)
to stdout; messages go to stderr. `arena bench` and `arena replay` write the
spec; FORMAT.md of the arena has its keys. Times in it are nanoseconds.

  --help       this text
  --version    version and revision

Exit codes: 0 a shot was printed, measured or failed; 1 a fault of the gun
itself; 2 the spec is refused.
SIGINT and SIGTERM stop the shot; what was measured is printed as failed.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => {}
        ["--help" | "-h"] => return print(HELP),
        ["--version" | "-V"] => return print(&format!("loadgen {VERSION}\n")),
        [other, ..] => {
            eprintln!("loadgen: `{other}` is not known; see `loadgen --help`");
            return ExitCode::from(2);
        }
    }
    let mut json = String::new();
    if let Err(e) = std::io::stdin().read_to_string(&mut json) {
        eprintln!("loadgen: the spec on stdin cannot be read: {e}");
        return ExitCode::from(2);
    }
    match shot(&json) {
        Ok(Ok(line)) => print(&line),
        Ok(Err(refused)) => {
            eprintln!("loadgen: {refused}");
            ExitCode::from(2)
        }
        Err(fault) => {
            eprintln!("loadgen: {fault:#}");
            ExitCode::from(1)
        }
    }
}

/// The shot as one line, or why the spec is refused.
fn shot(json: &str) -> anyhow::Result<Result<String, PlanError>> {
    life::die_with_parent();
    let stop = life::on_signal().context("signals cannot be caught")?;
    let shot = match Plan::new(json) {
        Ok(plan) => engine::run(&Arc::new(plan), &stop)?,
        Err(why @ PlanError::Data { .. }) => {
            let spec: Spec = serde_json::from_str(json)?;
            Failed::new("data", why.to_string()).into_shot(spec.connections)
        }
        Err(refused) => return Ok(Err(refused)),
    };
    let mut line = serde_json::to_string(&shot)?;
    line.push('\n');
    Ok(Ok(line))
}

/// Prints without a panic when nobody reads.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}
