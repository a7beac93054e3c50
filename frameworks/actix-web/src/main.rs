//! The arena's actix-web entry: actix-web as its documentation shows it.

mod api;
mod async_db;
mod cache;
mod config;
mod crud;
mod database;
mod dataset;
mod item;
mod listen;
mod routes;
mod sum;
mod tls;
mod upload;
mod ws;

use actix_web::{App, HttpServer, rt};
use anyhow::{Context, Result};

use crate::{
    cache::Redis, config::Config, database::Address, dataset::Dataset,
    routes::Parts,
};

#[actix_web::main]
async fn main() -> Result<()> {
    let config = Config::from_env()?;
    let parts = parts(&config)?;
    let tls = tls::load(&config.tls_cert, &config.tls_key)?;

    let served = parts.clone();
    let mut server = HttpServer::new(move || {
        App::new().configure(|app| served.configure(app))
    })
    .tcp_nodelay(true)
    // The server ends itself on SIGTERM and SIGINT, also as process 1. The
    // default lets a client that never finishes hold it for 30 seconds.
    .shutdown_timeout(1)
    .listen(listen::bind(config.http_port)?)?;

    let mut https = None;
    if let Some(tls) = tls {
        let h2 = listen::bind(config.h2_port)?;
        server = server.listen_rustls_0_23(h2, tls.clone())?;
        https = Some((listen::bind(config.https_port)?, tls));
    }
    for (address, scheme) in server.addrs_with_scheme() {
        println!("listening on {scheme}://{address}");
    }
    let h2c = listen::bind(config.h2c_port)?;
    println!("listening on http://{} (HTTP/2)", h2c.local_addr()?);
    match &https {
        Some((listener, _)) => {
            println!("listening on https://{}", listener.local_addr()?);
        }
        None => println!("no TLS: there is no {}", config.tls_cert.display()),
    }
    rt::spawn(listen::serve(h2c, https, &parts)?);
    server.run().await.context("the server failed")
}

fn parts(config: &Config) -> Result<Parts> {
    // The dataset lives as long as the process, so responses may borrow it.
    let dataset = Box::leak(Box::new(Dataset::load(&config.dataset)?));
    let max_connections = config.database_max_connections;
    let database = config.database_url.as_deref();
    let database =
        database.map(|url| Address::new(url, max_connections)).transpose()?;
    let redis = config.redis_url.as_deref().map(Redis::new).transpose()?;
    Ok(Parts::new(dataset, &config.static_dir, database, redis))
}
