//! The arena's Salvo entry: Salvo as its documentation shows it.

mod async_db;
mod config;
mod crud;
mod database;
mod dataset;
mod item;
mod listen;
mod refuse;
mod routes;
mod sum;
mod upload;
mod ws;

use std::thread::available_parallelism;

use anyhow::{Context, Result};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{config::Config, database::Database, dataset::Dataset};

const BLOCKING_THREADS_PER_CPU: usize = 2;

/// As `#[tokio::main]` does it, but for the size of one pool: files are read by
/// blocking threads, and 512 of them mostly wait for each other.
fn main() -> Result<()> {
    let cpus = available_parallelism()?.get();
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_PER_CPU * cpus)
        .build()?
        .block_on(serve())
}

async fn serve() -> Result<()> {
    // Registered first: as process 1 of a container there is no default
    // action, and a signal during start-up would be lost.
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut interrupt = listen_for(SignalKind::interrupt())?;

    let config = Config::from_env()?;
    // The dataset lives as long as the process, so responses may borrow it.
    let dataset = Box::leak(Box::new(Dataset::load(&config.dataset)?));
    let database = match &config.database_url {
        Some(url) => Database::new(url, config.database_max_connections)?,
        None => Database::default(),
    };
    let router = routes::router(dataset, &config.static_dir, database);
    let mut servers = listen::all(&config, router).await?;

    // Ends at once, open connections or not: a graceful stop would wait for
    // clients that never close.
    tokio::select! {
        ended = servers.join_next() => ended.transpose()?.context("no server"),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

fn listen_for(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("cannot listen for signals")
}
