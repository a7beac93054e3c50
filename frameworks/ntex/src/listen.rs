//! The ports of the contract, one protocol each.

use std::net::TcpListener;

use anyhow::{Context, Result};
use ntex::{
    http::HttpService,
    server::{self, Server},
    web::App,
};
use rustls::ServerConfig;

use crate::{config::Config, refuse::Malformed, routes::Parts};

/// Opens every port; those over TLS where there is a certificate. One worker for
/// each CPU serves them all, and ends on SIGTERM and SIGINT.
pub fn all(
    config: &Config,
    tls: Option<ServerConfig>,
    parts: &Parts,
) -> Result<Server> {
    // The default lets a client that never finishes hold it for 30 seconds.
    let mut server = server::build().shutdown_timeout(ntex::time::Seconds(1));
    let http1 = bind(config.http_port)?;
    println!("listening on http://{}", http1.local_addr()?);
    let app = parts.clone();
    server = server.listen("http", http1, async move |_| {
        HttpService::h1(App::new().configure(|to| app.configure(to)))
    })?;
    let http2 = bind(config.h2c_port)?;
    println!("listening on http://{} (HTTP/2)", http2.local_addr()?);
    let app = parts.clone();
    server = server.listen("h2c", http2, async move |_| {
        HttpService::h2(
            App::new().middleware(Malformed).configure(|to| app.configure(to)),
        )
    })?;
    let Some(tls) = tls else {
        println!("no TLS: there is no {}", config.tls_cert.display());
        return Ok(server.run());
    };
    let https = bind(config.https_port)?;
    println!("listening on https://{}", https.local_addr()?);
    let (app, mut h1) = (parts.clone(), tls.clone());
    h1.alpn_protocols = vec!["http/1.1".into()];
    server = server.listen("https", https, async move |_| {
        HttpService::h1(App::new().configure(|to| app.configure(to)))
            .rustls(h1.clone())
    })?;
    let https2 = bind(config.h2_port)?;
    println!("listening on https://{} (HTTP/2)", https2.local_addr()?);
    let (app, mut h2) = (parts.clone(), tls);
    h2.alpn_protocols = vec!["h2".into()];
    server = server.listen("h2", https2, async move |_| {
        HttpService::h2(
            App::new().middleware(Malformed).configure(|to| app.configure(to)),
        )
        .rustls(h2.clone())
    })?;
    Ok(server.run())
}

fn bind(port: u16) -> Result<TcpListener> {
    TcpListener::bind(("0.0.0.0", port))
        .with_context(|| format!("cannot listen on port {port}"))
}
