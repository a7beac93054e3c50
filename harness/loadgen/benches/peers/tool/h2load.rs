//! h2load: its arguments, and its report read strictly.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use profiles::ask::Ask;

use super::{Load, Peer, seconds};

pub fn arguments(
    peer: Peer,
    load: &Load<'_>,
    scratch: &Path,
    command: &mut Command,
) -> anyhow::Result<()> {
    let tls = peer == Peer::H2loadTls;
    let scheme = if tls { "https" } else { "http" };
    command.args(["--threads", "1"]);
    command.arg("--clients").arg(load.connections.to_string());
    command.arg("--max-concurrent-streams").arg(load.in_flight.to_string());
    command.arg("--duration").arg(load.window_s.to_string());
    if peer == Peer::H2loadGrpc {
        let frame = scratch.join("frame");
        let mut bytes = Vec::new();
        Ask::GrpcSum { a: 1234, b: 4321 }.write_message(&mut bytes);
        std::fs::write(&frame, bytes)?;
        command.arg("--data").arg(frame);
        command.args(["--header", "content-type: application/grpc"]);
        command.args(["--header", "te: trailers"]);
    }
    command.arg(format!("{scheme}://{}{}", load.addr, load.target));
    Ok(())
}

/// What succeeded, and the seconds of `finished in <t>`.
pub fn read(stdout: &str) -> anyhow::Result<(u64, f64)> {
    let line = |start: &str| {
        let found = stdout.lines().find_map(|l| l.strip_prefix(start));
        found.with_context(|| format!("it has no line `{start}`"))
    };
    let time = line("finished in ")?;
    let time = seconds(time.split(',').next().unwrap_or(""))?;
    let counts = line("requests: ")?;
    let mut succeeded = None;
    for part in counts.split(',') {
        let (count, word) =
            part.trim().split_once(' ').context("no word after a count")?;
        let count: u64 = count.parse()?;
        match word {
            "succeeded" => succeeded = Some(count),
            "failed" | "errored" | "timeout" if count > 0 => {
                bail!("it reports errors: {counts}");
            }
            _ => {}
        }
    }
    for part in line("status codes: ")?.split(',') {
        let (count, word) =
            part.trim().split_once(' ').context("no word after a count")?;
        let count: u64 = count.parse()?;
        ensure!(word == "2xx" || count == 0, "it reports {count} {word}");
    }
    let count = succeeded.context("it has no count `succeeded`")?;
    ensure!(count > 0 && time > 0.0, "nothing was answered");
    Ok((count, time))
}
