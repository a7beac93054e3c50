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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::ws;

    async fn connect(builder: Builder) -> TcpStream {
        let app = Router::new()
            .route("/", get(|| async { "ok" }))
            .route("/ws", get(ws::upgrade));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        if builder.is_http1_available() {
            tokio::spawn(axum::serve(listener, app).into_future());
        } else {
            serve(listener, builder, app);
        }
        TcpStream::connect(address).await.unwrap()
    }

    #[tokio::test]
    async fn the_cleartext_port_of_http2_answers_no_http1() {
        let mut connection = connect(http2()).await;
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        connection.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        // A reset would be right as well.
        let _ = connection.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.contains("HTTP/1.1"), "{answer}");
    }

    #[tokio::test]
    async fn messages_of_one_write_come_back_in_order_and_a_ping_does_too() {
        let mut connection = connect(http1()).await;
        let request = "GET /ws HTTP/1.1\r\nHost: localhost\r\n\
            Connection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(connection.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "));

        // Text, binary, ping, text, close: masked with zeros.
        let mut frames = Vec::new();
        for (first, payload) in [
            (0x81, &b"one"[..]),
            (0x82, b"\xff"),
            (0x89, b"ping"),
            (0x81, b""),
            (0x88, b"\x03\xe8"),
        ] {
            frames.extend([first, 0x80 | payload.len() as u8, 0, 0, 0, 0]);
            frames.extend(payload);
        }
        connection.write_all(&frames).await.unwrap();
        let mut echoed = Vec::new();
        connection.read_to_end(&mut echoed).await.unwrap();
        let pong = b"\x8a\x04ping";
        let at = echoed.windows(pong.len()).position(|w| w == pong);
        let at = at.expect("a pong");
        echoed.drain(at..at + pong.len());
        let expected = b"\x81\x03one\x82\x01\xff\x81\x00\x88\x02\x03\xe8";
        assert_eq!(echoed, expected);
    }
}
