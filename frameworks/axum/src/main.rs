//! The arena's axum entry: axum as its documentation shows it.

mod api;
mod async_db;
mod cache;
mod config;
mod crud;
mod database;
mod dataset;
mod grpc;
mod item;
mod listen;
mod quic;
mod refuse;
mod routes;
mod sum;
mod tls;
mod upload;
mod ws;

use std::thread::available_parallelism;

use anyhow::{Context, Result};
use axum::{Router, serve::ListenerExt};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{config::Config, database::Database, dataset::Dataset, tls::Tls};

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
    let redis = config.redis_url.as_deref().map(cache::redis).transpose()?;
    let app = routes::router(dataset, &config.static_dir, database, redis);

    let listener = listen::bind(config.http_port).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|io| listen::without_delay(io));
    listen_beside(&config, &app).await?;

    // Ends at once, open connections or not: a graceful stop would wait for
    // clients that never close.
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The other ports of the contract; those over TLS where there is a certificate.
async fn listen_beside(config: &Config, app: &Router) -> Result<()> {
    let h2c = listen::bind(config.h2c_port).await?;
    println!("listening on http://{} (HTTP/2)", h2c.local_addr()?);
    listen::serve(h2c, listen::http2(), app.clone());

    let (cert, key) = (&config.tls_cert, &config.tls_key);
    let Some(tls) = Tls::load(cert, key)? else {
        println!("no TLS: there is no {} or its key", cert.display());
        return Ok(());
    };
    let h1 = listen::bind(config.https_port).await?;
    println!("listening on https://{}", h1.local_addr()?);
    let agreed = tls.speaking("http/1.1");
    listen::serve_tls(h1, agreed, listen::http1(), app.clone());

    let h2 = listen::bind(config.h2_port).await?;
    println!("listening on https://{} (HTTP/2)", h2.local_addr()?);
    let agreed = tls.speaking("h2");
    listen::serve_tls(h2, agreed, listen::http2(), app.clone());

    quic::listen(config.h2_port, &tls, app.clone())
}

fn listen_for(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("cannot listen for signals")
}
