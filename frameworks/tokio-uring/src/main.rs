//! The arena's tokio-uring entry: HTTP/1.1 and WebSocket on its sockets.

#![forbid(unsafe_code)]

mod assets;
mod config;
mod dataset;
mod encoding;
mod http;
mod json;
mod output;
mod query;
mod reply;
mod routes;
mod server;
mod session;
mod worker;
mod ws;

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{assets::Assets, config::Config, dataset::Dataset, routes::Site};

fn main() -> Result<()> {
    // Registered first: as process 1 of a container there is no default
    // action, and a signal during start-up would be lost.
    let mut signals =
        Signals::new([SIGTERM, SIGINT]).context("cannot listen for signals")?;

    let config = Config::from_env()?;
    let site = Site {
        dataset: Dataset::load(&config.dataset)?,
        assets: Assets::load(&config.static_dir).with_context(|| {
            format!("cannot read {}", config.static_dir.display())
        })?,
    };
    let address = server::start(Box::leak(Box::new(site)), config.http_port)?;
    println!("listening on http://{address}");

    // The workers do the rest; this thread waits for the end.
    signals.forever().next();
    Ok(())
}
