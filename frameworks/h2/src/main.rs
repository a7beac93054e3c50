//! The arena's h2 entry: the HTTP/2 protocol with nothing around it.

mod assets;
mod config;
mod connection;
mod dataset;
mod encoding;
mod grpc;
mod query;
mod routes;
mod server;
mod tls;

use anyhow::{Context, Result};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{assets::Assets, config::Config, dataset::Dataset, routes::Site};

fn main() -> Result<()> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot make a runtime")?;
    // Registered first: as process 1 of a container there is no default
    // action, and a signal during start-up would be lost.
    let (mut terminate, mut interrupt) = {
        let _runtime = runtime.enter();
        (
            listen_for(SignalKind::terminate())?,
            listen_for(SignalKind::interrupt())?,
        )
    };

    let config = Config::from_env()?;
    let site = Site {
        dataset: Dataset::load(&config.dataset)?,
        assets: Assets::load(&config.static_dir).with_context(|| {
            format!("cannot read {}", config.static_dir.display())
        })?,
    };
    let tls = tls::load(&config.certificate, &config.key)?;
    let site = Box::leak(Box::new(site));
    let addresses = server::start(site, &config.ports, tls)?;
    for (address, scheme) in addresses.iter().zip(server::SCHEMES) {
        println!("listening on {scheme}://{address}");
    }

    // The workers do the rest; this thread waits for the end.
    runtime.block_on(async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    });
    Ok(())
}

fn listen_for(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("cannot listen for signals")
}
