//! oha: its arguments, and its report read strictly.

use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{Load, Peer};

pub fn arguments(peer: Peer, load: &Load<'_>, command: &mut Command) {
    command.args(["--no-tui", "--output-format", "json"]);
    command.args(["--worker-threads", "1", "--redirect", "0"]);
    command.arg("-c").arg(load.connections.to_string());
    command.arg("-z").arg(format!("{}s", load.window_s));
    let scheme = if peer == Peer::OhaHttp3 {
        command.args(["--http-version", "3", "--insecure"]);
        command.arg("-p").arg(load.in_flight.to_string());
        "https"
    } else {
        "http"
    };
    command.arg(format!("{scheme}://{}{}", load.addr, load.target));
}

/// The answers with status 200, and the seconds of the whole run.
pub fn read(stdout: &str) -> anyhow::Result<(u64, f64)> {
    let report: Value = serde_json::from_str(stdout)?;
    let time = report["summary"]["total"].as_f64().context("no total")?;
    let statuses = report["statusCodeDistribution"]
        .as_object()
        .context("no statusCodeDistribution")?;
    let mut count = 0;
    for (status, n) in statuses {
        ensure!(status == "200", "it reports status {status}");
        count = n.as_u64().context("a count that is no number")?;
    }
    let errors =
        report["errorDistribution"].as_object().context("no errors")?;
    for (error, n) in errors {
        // What was in flight when the time was over.
        ensure!(
            error == "aborted due to deadline",
            "it reports errors: {error} ({n})"
        );
    }
    ensure!(count > 0 && time > 0.0, "nothing was answered");
    Ok((count, time))
}
