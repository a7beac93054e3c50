//! HTTP/3: quinn and h3, with h3-axum between them and the router, as that
//! crate's example server has it.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::Arc,
};

use anyhow::{Context, Result};
use axum::{Router, middleware::from_fn};
use h3_axum::serve_h3_with_axum;
use quinn::{
    Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime,
    crypto::rustls::QuicServerConfig,
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::{refuse, tls::Tls};

/// Binds one endpoint for each CPU: an endpoint takes in all packets of its
/// socket in one task. The kernel spreads clients over the sockets.
pub fn listen(port: u16, tls: &Tls, app: Router) -> Result<()> {
    let app = app.layer(from_fn(refuse::malformed));
    let tls = QuicServerConfig::try_from(tls.speaking("h3"))?;
    let config = ServerConfig::with_crypto(Arc::new(tls));
    let endpoints = std::thread::available_parallelism()?.get();
    let mut address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    for _ in 0..endpoints {
        let socket = bind(address).with_context(|| {
            format!("cannot listen on UDP port {}", address.port())
        })?;
        // Port 0 is whatever the first one was given.
        address = socket.local_addr()?;
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            Some(config.clone()),
            socket,
            Arc::new(TokioRuntime),
        )?;
        tokio::spawn(accept(endpoint, app.clone()));
    }
    println!("listening on https://{address} (HTTP/3)");
    Ok(())
}

fn bind(address: SocketAddr) -> Result<UdpSocket> {
    let kind = Type::DGRAM.nonblocking();
    let socket = Socket::new(Domain::IPV4, kind, Some(Protocol::UDP))?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

async fn accept(endpoint: Endpoint, app: Router) {
    while let Some(incoming) = endpoint.accept().await {
        let app = app.clone();
        tokio::spawn(async move {
            // How it ends is the client's affair.
            let _ = serve(incoming, app).await;
        });
    }
}

async fn serve(incoming: Incoming, app: Router) -> Result<()> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::builder().build(connection).await?;
    while let Some(request) = connection.accept().await? {
        let app = app.clone();
        tokio::spawn(async move {
            // An error ends this stream and no other.
            let _ = serve_h3_with_axum(app, request).await;
        });
    }
    Ok(())
}
