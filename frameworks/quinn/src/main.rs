//! The arena's quinn entry: QUIC by quinn, HTTP/3 by the h3 crate, and nothing
//! around them.

mod assets;
mod config;
mod encoding;
mod endpoint;
mod exchange;
mod query;
mod routes;

use anyhow::{Context, Result};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{assets::Assets, config::Config};

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
    let assets = Assets::load(&config.static_dir).with_context(|| {
        format!("cannot read {}", config.static_dir.display())
    })?;
    let assets: &'static Assets = Box::leak(Box::new(assets));
    match config.quic()? {
        Some(quic) => {
            let address = endpoint::start(assets, config.port, &quic)?;
            println!("listening on https://{address} (HTTP/3)");
        }
        None => println!(
            "nothing to serve: there is no {} or its key",
            config.certificate.display()
        ),
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
