//! `arena`: the door. Parses, dispatches, prints; the work is done elsewhere.

mod args;
mod cmd;
mod exit;
mod judge;
mod place;
mod print;
mod private;
mod progress;
mod session;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match cmd::run(&args) {
        Ok(done) => ExitCode::from(done as u8),
        Err(problem) => {
            exit::report(&problem);
            ExitCode::from(exit::class_of(&problem) as u8)
        }
    }
}
