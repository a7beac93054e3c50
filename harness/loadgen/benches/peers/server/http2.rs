//! HTTP/2 of the server, and gRPC on it.

use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::Shared;
use super::answers::Question;
use super::grpc::Call;

/// Streams a client may open at once, windows that never hold it up.
const STREAMS: u32 = 1024;
const WINDOW: u32 = 1 << 24;

/// Serves `listener` for ever.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (tls, shared) = (tls.clone(), shared.clone());
        tokio::spawn(async move {
            // A client that goes is no fault of the server.
            match tls {
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        drop(connection(stream, shared).await);
                    }
                }
                None => drop(connection(stream, shared).await),
            }
        });
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    shared: Arc<Shared>,
) -> Result<(), h2::Error> {
    let mut connection = h2::server::Builder::new()
        .max_concurrent_streams(STREAMS)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buffer_size(1 << 22)
        .handshake(stream)
        .await?;
    let (mut scratch, mut burst) = (Vec::new(), Vec::new());
    while let Some(first) = connection.accept().await {
        burst.push(first?);
        // Each look for the next request also writes what is answered: all
        // that are there are taken first, so that a burst is one write.
        loop {
            let next = poll_fn(|cx| Poll::Ready(connection.poll_accept(cx)));
            match next.await {
                Poll::Ready(Some(next)) => burst.push(next?),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        for (request, respond) in burst.drain(..) {
            let simple = request.body().is_end_stream();
            if simple && shared.pacing.is_none() {
                answer(&request, respond, &shared, &mut scratch)?;
            } else {
                tokio::spawn(held(request, respond, shared.clone()));
            }
        }
    }
    Ok(())
}

/// Answers a request that has no body.
fn answer(
    request: &Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: &Shared,
    scratch: &mut Vec<u8>,
) -> Result<(), h2::Error> {
    let (response, body) = response(request, b"", shared, scratch);
    respond.send_response(response, false)?.send_data(body, true)?;
    shared.count(1);
    Ok(())
}

/// Answers a request that has a body or must wait.
async fn held(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: Arc<Shared>,
) -> Result<(), h2::Error> {
    let (parts, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        body.extend_from_slice(&piece);
        let _ = stream.flow_control().release_capacity(piece.len());
    }
    if let Some(due) = shared.due(1) {
        tokio::time::sleep_until(due.into()).await;
    }
    let request = Request::from_parts(parts, ());
    let is_grpc = request.uri().path().starts_with("/benchmark.");
    if !is_grpc {
        let mut scratch = Vec::new();
        let (response, body) = response(&request, &body, &shared, &mut scratch);
        respond.send_response(response, false)?.send_data(body, true)?;
        shared.count(1);
        return Ok(());
    }
    let (mut response, mut trailers) = (Response::new(()), HeaderMap::new());
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    let call = Call::read(&body);
    let status = if call.is_some() { "0" } else { "13" };
    trailers.insert("grpc-status", HeaderValue::from_static(status));
    let mut stream = respond.send_response(response, false)?;
    if let Some(call) = call {
        let mut reply = Vec::new();
        match request.uri().path().ends_with("/StreamSum") {
            true => call.stream(&mut reply),
            false => call.sum(&mut reply),
        }
        stream.send_data(reply.into(), false)?;
    }
    stream.send_trailers(trailers)?;
    shared.count(1);
    Ok(())
}

/// The answer as head and body, for HTTP/2 and HTTP/3.
pub fn response<B>(
    request: &Request<B>,
    body: &[u8],
    shared: &Shared,
    scratch: &mut Vec<u8>,
) -> (Response<()>, Bytes) {
    let target =
        request.uri().path_and_query().map_or("/", |target| target.as_str());
    let takes_brotli = request
        .headers()
        .get("accept-encoding")
        .is_some_and(|v| v.as_bytes().windows(2).any(|w| w == b"br"));
    let question = Question { target, body, takes_brotli };
    let answer = shared.answers.answer(&question, scratch);
    let mut response = Response::new(());
    *response.status_mut() =
        http::StatusCode::from_u16(answer.status).unwrap_or_default();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(answer.content_type);
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CONTENT_LENGTH, answer.body.len().into());
    if let Some(coding) = answer.content_encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    (response, Bytes::copy_from_slice(answer.body))
}
