//! The arena's axum entry: axum as its documentation shows it.

mod config;
mod dataset;
mod routes;
mod sum;
mod upload;

use anyhow::{Context, Result};
use axum::serve::ListenerExt;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{config::Config, dataset::Dataset};

#[tokio::main]
async fn main() -> Result<()> {
    // Registered first: as process 1 of a container there is no default
    // action, and a signal during start-up would be lost.
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut interrupt = listen_for(SignalKind::interrupt())?;

    let config = Config::from_env()?;
    // The dataset lives as long as the process, so responses may borrow it.
    let dataset = Box::leak(Box::new(Dataset::load(&config.dataset)?));
    let app = routes::router(dataset, &config.static_dir);

    let address = ("0.0.0.0", config.http_port);
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on port {}", config.http_port)
    })?;
    println!("listening on http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            eprintln!("cannot set TCP_NODELAY: {error}");
        }
    });

    // Ends at once, open connections or not: a graceful stop would wait for
    // clients that never close.
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn listen_for(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("cannot listen for signals")
}
