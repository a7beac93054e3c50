//! The arena's ntex entry: ntex as its documentation shows it.

mod async_db;
mod config;
mod crud;
mod database;
mod dataset;
mod item;
mod listen;
mod refuse;
mod refused;
mod routes;
mod sum;
mod tls;
mod upload;

use anyhow::{Context, Result};

use crate::{
    config::Config, database::Address, dataset::Dataset, routes::Parts,
};

#[ntex::main]
async fn main() -> Result<()> {
    let config = Config::from_env()?;
    let parts = parts(&config)?;
    let tls = tls::load(&config.tls_cert, &config.tls_key)?;
    listen::all(&config, tls, &parts)?.await.context("the server failed")
}

fn parts(config: &Config) -> Result<Parts> {
    // The dataset lives as long as the process, so responses may borrow it.
    let dataset = Box::leak(Box::new(Dataset::load(&config.dataset)?));
    let max_connections = config.database_max_connections;
    let database = config.database_url.as_deref();
    let database =
        database.map(|url| Address::new(url, max_connections)).transpose()?;
    Ok(Parts::new(dataset, database))
}
