//! The listeners of one protocol each, which `HttpServer` does not offer:
//! `HttpService` over the same app, as actix-http's example `actix-web` has it.

use std::{io, net::TcpListener};

use actix_http::HttpService;
use actix_service::map_config;
use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::{
    App,
    dev::{AppConfig, Server},
    rt::net::TcpStream,
};
use anyhow::{Context, Result};
use rustls::ServerConfig;

use crate::routes::Parts;

pub fn bind(port: u16) -> Result<TcpListener> {
    TcpListener::bind(("0.0.0.0", port))
        .with_context(|| format!("cannot listen on port {port}"))
}

/// HTTP/2 in cleartext and, where there is a certificate, HTTP/1.1 over TLS.
/// Signals are left to the `HttpServer` beside it.
pub fn serve(
    h2c: TcpListener,
    https: Option<(TcpListener, ServerConfig)>,
    parts: &Parts,
) -> io::Result<Server> {
    let h2c_parts = parts.clone();
    let mut server =
        Server::build().disable_signals().listen("h2c", h2c, move || {
            let parts = h2c_parts.clone();
            let app = App::new().configure(|app| parts.configure(app));
            HttpService::build()
                .tcp_nodelay(true)
                .h2(map_config(app, |_| AppConfig::default()))
                .tcp()
        })?;
    if let Some((listener, mut config)) = https {
        config.alpn_protocols = vec!["http/1.1".into()];
        let parts = parts.clone();
        server = server.listen("https", listener, move || {
            let parts = parts.clone();
            let app = App::new().configure(|app| parts.configure(app));
            HttpService::build()
                // The builder's own setting is not heeded for this service.
                .on_connect_ext(|io: &TlsStream<TcpStream>, _: &mut _| {
                    let _ = io.get_ref().0.set_nodelay(true);
                })
                .h1(map_config(app, |_| AppConfig::default()))
                .rustls_0_23(config.clone())
        })?;
    }
    Ok(server.run())
}
