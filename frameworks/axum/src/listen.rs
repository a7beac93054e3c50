//! The listeners beside the one of `axum::serve`: one protocol each, over TLS
//! or in cleartext. They follow axum's examples `serve-with-hyper` and
//! `low-level-rustls`.

use std::{io, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

type Builder = auto::Builder<TokioExecutor>;

pub fn http1() -> Builder {
    Builder::new(TokioExecutor::new()).http1_only()
}

pub fn http2() -> Builder {
    Builder::new(TokioExecutor::new()).http2_only()
}

pub async fn bind(port: u16) -> Result<TcpListener> {
    TcpListener::bind(("0.0.0.0", port))
        .await
        .with_context(|| format!("cannot listen on port {port}"))
}

/// Without it small answers wait for acknowledgements.
pub fn without_delay(connection: &TcpStream) {
    if let Err(error) = connection.set_nodelay(true) {
        eprintln!("cannot set TCP_NODELAY: {error}");
    }
}

pub fn serve(listener: TcpListener, builder: Builder, app: Router) {
    tokio::spawn(async move {
        loop {
            let connection = accept(&listener).await;
            let (builder, app) = (builder.clone(), app.clone());
            tokio::spawn(answer(connection, builder, app));
        }
    });
}

pub fn serve_tls(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    builder: Builder,
    app: Router,
) {
    let acceptor = TlsAcceptor::from(config);
    tokio::spawn(async move {
        loop {
            let connection = accept(&listener).await;
            let handshake = acceptor.accept(connection);
            let (builder, app) = (builder.clone(), app.clone());
            // In a task of its own, so that a slow client holds up nobody.
            tokio::spawn(async move {
                if let Ok(connection) = handshake.await {
                    answer(connection, builder, app).await;
                }
            });
        }
    });
}

/// How a connection ends is its client's affair: an error ends it, no more.
async fn answer<C>(connection: C, builder: Builder, app: Router)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(app);
    let _ = builder.serve_connection(TokioIo::new(connection), service).await;
}

/// The next connection, whatever becomes of others: as `axum::serve` does it.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((connection, _)) => {
                without_delay(&connection);
                return connection;
            }
            Err(error) if is_of_connection(&error) => {}
            Err(error) => {
                eprintln!("cannot accept: {error}");
                // Mostly too many open files, which others may close.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
