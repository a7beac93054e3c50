//! The arena's actix-web entry: actix-web as its documentation shows it.

mod config;
mod dataset;
mod routes;
mod sum;
mod upload;

use actix_web::{App, HttpServer};
use anyhow::{Context, Result};

use crate::{config::Config, dataset::Dataset};

#[actix_web::main]
async fn main() -> Result<()> {
    let config = Config::from_env()?;
    // The dataset lives as long as the process, so responses may borrow it.
    let dataset: &'static Dataset =
        Box::leak(Box::new(Dataset::load(&config.dataset)?));
    let static_dir = config.static_dir;

    let server = HttpServer::new(move || {
        App::new().configure(|app| {
            routes::configure(app, dataset, &static_dir);
        })
    })
    .tcp_nodelay(true)
    // The server ends itself on SIGTERM and SIGINT, also as process 1. The
    // default lets a client that never finishes hold it for 30 seconds.
    .shutdown_timeout(1)
    .bind(("0.0.0.0", config.http_port))
    .with_context(|| format!("cannot listen on port {}", config.http_port))?;

    for address in server.addrs() {
        println!("listening on http://{address}");
    }
    server.run().await.context("the server failed")
}
