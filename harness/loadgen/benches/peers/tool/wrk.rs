//! wrk: its arguments, and its report read strictly.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::{Load, Peer, seconds};

/// Writes all requests of a burst at once, as its own example does.
const PIPELINE: &str = "\
init = function(args)
  local burst = {}
  for i = 1, tonumber(args[1]) do
    burst[i] = wrk.format()
  end
  request_burst = table.concat(burst)
end
request = function()
  return request_burst
end
";

pub fn arguments(
    peer: Peer,
    load: &Load<'_>,
    scratch: &Path,
    command: &mut Command,
) -> anyhow::Result<()> {
    let scheme = if peer == Peer::WrkTls { "https" } else { "http" };
    command.args(["--threads", "1", "--timeout", "10s"]);
    command.arg("--connections").arg(load.connections.to_string());
    command.arg("--duration").arg(format!("{}s", load.window_s));
    if peer == Peer::WrkPipeline {
        let script = scratch.join("pipeline.lua");
        std::fs::write(&script, PIPELINE)?;
        command.arg("--script").arg(script);
    }
    command.arg(format!("{scheme}://{}{}", load.addr, load.target));
    if peer == Peer::WrkPipeline {
        command.arg("--").arg(load.in_flight.to_string());
    }
    Ok(())
}

/// Requests and seconds of the line `<n> requests in <t>, <b> read`.
pub fn read(stdout: &str) -> anyhow::Result<(u64, f64)> {
    for line in stdout.lines().map(str::trim) {
        if line.starts_with("Socket errors")
            || line.starts_with("Non-2xx or 3xx")
        {
            bail!("it reports errors: {line}");
        }
    }
    let line = stdout.lines().find(|line| line.contains(" requests in "));
    let line = line.context("it has no line `<n> requests in <t>`")?.trim();
    let (count, rest) = line.split_once(" requests in ").context("no count")?;
    let (time, _) = rest.split_once(',').context("no time")?;
    let (count, time) = (count.parse()?, seconds(time)?);
    ensure!(count > 0 && time > 0.0, "nothing was answered");
    Ok((count, time))
}
