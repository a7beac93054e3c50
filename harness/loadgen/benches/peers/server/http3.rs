//! HTTP/3 of the server.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use quinn::crypto::rustls::QuicServerConfig;

use super::Shared;
use super::http2::response;

/// Streams a client may open at once on a connection.
const STREAMS: u32 = 1024;

/// What QUIC is told.
pub fn config(tls: rustls::ServerConfig) -> io::Result<quinn::ServerConfig> {
    let crypto = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_bidi_streams(STREAMS.into());
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// Serves `socket` for ever.
pub async fn serve(
    socket: UdpSocket,
    config: quinn::ServerConfig,
    shared: Arc<Shared>,
) -> io::Result<()> {
    let endpoint = quinn::Endpoint::new(
        quinn::EndpointConfig::default(),
        Some(config),
        socket,
        Arc::new(quinn::TokioRuntime),
    )?;
    while let Some(incoming) = endpoint.accept().await {
        // A client that goes is no fault of the server.
        tokio::spawn(connection(incoming, shared.clone()));
    }
    Ok(())
}

async fn connection(
    incoming: quinn::Incoming,
    shared: Arc<Shared>,
) -> Option<()> {
    let connection = h3_quinn::Connection::new(incoming.await.ok()?);
    let mut connection =
        h3::server::Connection::<_, Bytes>::new(connection).await.ok()?;
    while let Ok(Some(request)) = connection.accept().await {
        tokio::spawn(answer(request, shared.clone()));
    }
    Some(())
}

async fn answer(
    request: RequestResolver<h3_quinn::Connection, Bytes>,
    shared: Arc<Shared>,
) -> Option<()> {
    let (request, mut stream) = request.resolve_request().await.ok()?;
    if let Some(due) = shared.due(1) {
        tokio::time::sleep_until(due.into()).await;
    }
    let mut scratch = Vec::new();
    let (response, body) = response(&request, b"", &shared, &mut scratch);
    stream.send_response(response).await.ok()?;
    stream.send_data(body).await.ok()?;
    stream.finish().await.ok()?;
    shared.count(1);
    Some(())
}
