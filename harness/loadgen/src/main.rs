//! The gun as a process: one spec on stdin, one shot on stdout.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use loadgen::plan::{Plan, PlanError};
use loadgen::report::{Failed, VERSION};
use loadgen::{engine, life};

const HELP: &str = "\
loadgen: fires one shot of one profile at one server

usage: loadgen [--rate <requests per second>] < spec.json > shot.json

Reads one spec (JSON, schema 1) from stdin and writes exactly one shot (JSON)
to stdout; messages go to stderr. `arena bench` and `arena replay` write the
spec; FORMAT.md of the arena has its keys. Times in it are nanoseconds.

  --rate R     open loop: R requests per second over all connections, by a
               schedule fixed from the start of each phase; times count from
               the scheduled send. Stands for `rate_per_s` of the spec.
               Default: closed loop, or what the spec says
  --help       this text
  --version    version and revision

Exit codes: 0 a shot was printed, measured or failed; 1 a fault of the gun
itself; 2 the spec is refused.
SIGINT and SIGTERM stop the shot; what was measured is printed as failed.
";

/// A spec is a few thousand bytes; its definition may be made long by hand.
const MAX_SPEC: u64 = 16 << 20;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let rate = match args.as_slice() {
        [] => None,
        ["--help" | "-h"] => return print(HELP),
        ["--version" | "-V"] => return print(&format!("loadgen {VERSION}\n")),
        ["--rate", rate] => match rate.parse::<f64>() {
            Ok(rate) => Some(rate),
            Err(_) => {
                eprintln!(
                    "loadgen: --rate: expected requests per second like \
                     `1000` or `0.5`, found `{rate}`"
                );
                return ExitCode::from(2);
            }
        },
        ["--rate"] => {
            eprintln!("loadgen: --rate needs a number of requests per second");
            return ExitCode::from(2);
        }
        [other, ..] => {
            eprintln!("loadgen: `{other}` is not known; see `loadgen --help`");
            return ExitCode::from(2);
        }
    };
    let json = match spec() {
        Ok(json) => json,
        Err(why) => {
            eprintln!("loadgen: {why}");
            return ExitCode::from(2);
        }
    };
    match shot(&json, rate) {
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

/// What stands on stdin, or why it is no spec.
fn spec() -> Result<String, String> {
    let mut json = String::new();
    std::io::stdin()
        .take(MAX_SPEC + 1)
        .read_to_string(&mut json)
        .map_err(|e| format!("the spec on stdin cannot be read: {e}"))?;
    if json.len() as u64 > MAX_SPEC {
        return Err(format!(
            "the spec on stdin is longer than {MAX_SPEC} bytes; `arena bench` \
             and `arena replay` write a few thousand"
        ));
    }
    Ok(json)
}

/// The shot as one line, or why the spec is refused.
fn shot(
    json: &str,
    rate: Option<f64>,
) -> anyhow::Result<Result<String, PlanError>> {
    life::die_with_parent();
    let stop = life::on_signal().context("signals cannot be caught")?;
    let mut spec = match Plan::read(json) {
        Ok(spec) => spec,
        Err(refused) => return Ok(Err(refused)),
    };
    spec.rate_per_s = rate.or(spec.rate_per_s);
    let asked = spec.connections;
    let shot = match Plan::of(spec) {
        Ok(plan) => engine::run(&Arc::new(plan), &stop)?,
        Err(why @ PlanError::Data { .. }) => {
            Failed::new("data", why.to_string()).into_shot(asked)
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
        Err(why) => {
            let line = format!("loadgen: stdout cannot be written: {why}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            ExitCode::from(1)
        }
    }
}
