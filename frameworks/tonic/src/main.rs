//! The arena's tonic entry: gRPC as the framework's documentation shows it.

mod benchmark;
mod config;
mod service;

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tonic::transport::{
    Server, ServerTlsConfig,
    server::{Router, TcpIncoming},
};

use crate::{
    benchmark::benchmark_service_server::BenchmarkServiceServer,
    config::Config,
    service::{Sums, only_grpc},
};

#[tokio::main]
async fn main() -> Result<()> {
    // Registered first: as process 1 of a container there is no default
    // action, and a signal during start-up would be lost.
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut interrupt = listen_for(SignalKind::interrupt())?;

    let config = Config::from_env()?;
    let plain = serve("http", config.port, Server::builder())?;
    let tls = match config.identity {
        Some(identity) => {
            let tls = ServerTlsConfig::new().identity(identity);
            let server = Server::builder()
                .tls_config(tls)
                .context("the certificate and the key are no pair")?;
            Some(serve("https", config.tls_port, server)?)
        }
        None => None,
    };
    let tls = async {
        match tls {
            Some(server) => server.await,
            None => std::future::pending().await,
        }
    };

    tokio::select! {
        end = plain => end.context("the server ended"),
        end = tls => end.context("the server with TLS ended"),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// Listens at once; what is returned accepts and answers.
fn serve(
    scheme: &str,
    port: u16,
    mut server: Server,
) -> Result<impl Future<Output = Result<(), tonic::transport::Error>>> {
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let incoming = TcpIncoming::bind(address)
        .with_context(|| format!("cannot listen on {address}"))?
        .with_nodelay(Some(true));
    println!("listening on {scheme}://{}", incoming.local_addr()?);
    let router: Router = server
        .add_service(BenchmarkServiceServer::with_interceptor(Sums, only_grpc));
    Ok(router.serve_with_incoming(incoming))
}

fn listen_for(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("cannot listen for signals")
}
