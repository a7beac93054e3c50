//! One connection, from its first byte to its last. What a client does wrong
//! ends its stream or connection and nothing else.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use bytes::Bytes;
use h2::{
    RecvStream,
    server::{Builder, Connection, SendResponse},
};
use http::{Request, request::Parts};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    grpc,
    routes::{Site, answer},
    tls,
};

/// Streams a client may have open at once.
const STREAMS: u32 = 256;

/// What a client may send before it is read. Only small bodies are taken.
const WINDOW_BYTES: u32 = 1024 * 1024;

const HEADERS_BYTES: u32 = 16 * 1024;

/// No request of any endpoint has a longer body.
const BODY_LIMIT_BYTES: usize = 64 * 1024;

pub async fn serve(
    site: &'static Site,
    tls: Option<TlsAcceptor>,
    connection: TcpStream,
) {
    if let Err(error) = connection.set_nodelay(true) {
        eprintln!("cannot set TCP_NODELAY: {error}");
    }
    let Some(tls) = tls else { return http2(site, connection).await };
    let Ok(connection) = tls.accept(connection).await else { return };
    // HTTP/2 is spoken over TLS only where it was agreed to.
    if connection.get_ref().1.alpn_protocol() == Some(tls::HTTP2) {
        http2(site, connection).await;
    }
}

type Asked = (Request<RecvStream>, SendResponse<Bytes>);

async fn http2<T>(site: &'static Site, io: T)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = Builder::new()
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS_BYTES)
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .handshake(io);
    let Ok(mut connection) = handshake.await else { return };
    let mut asked = Vec::new();
    poll_fn(|cx| poll_requests(site, &mut connection, &mut asked, cx)).await;
}

/// Takes every request that has come before it answers the first: h2 sends
/// what there is to send each time it is asked for another one.
fn poll_requests<T>(
    site: &'static Site,
    connection: &mut Connection<T, Bytes>,
    asked: &mut Vec<Asked>,
    cx: &mut Context<'_>,
) -> Poll<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match connection.poll_accept(cx) {
            Poll::Ready(Some(Ok(request))) => asked.push(request),
            Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
            Poll::Pending if asked.is_empty() => return Poll::Pending,
            Poll::Pending => {
                for (request, respond) in asked.drain(..) {
                    begin(site, request, respond);
                }
            }
        }
    }
}

/// Answers at once, or in a task where there is a body to wait for.
fn begin(
    site: &'static Site,
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
) {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        // A stream that is gone by now needs no answer.
        let _ = reply(site, &head, respond);
    } else {
        tokio::spawn(async move {
            let Some(body) = read(body).await else { return };
            let _ = if grpc::is_call(&head) {
                grpc::answer(&head, body, respond).await
            } else {
                reply(site, &head, respond)
            };
        });
    }
}

fn reply(
    site: &Site,
    head: &Parts,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let (reply, body) = answer(site, head).into_parts();
    let reply = http::Response::from_parts(reply, ());
    if head.method == http::Method::HEAD || body.is_empty() {
        return respond.send_response(reply, true).map(drop);
    }
    // h2 keeps what the windows do not take yet: a reference, no copy.
    respond.send_response(reply, false)?.send_data(body, true)
}

/// The whole body, or `None` where it is cut, malformed or too long. A stream
/// that is dropped unanswered is reset.
async fn read(mut body: RecvStream) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(part) = body.data().await {
        let part = part.ok()?;
        if all.len() + part.len() > BODY_LIMIT_BYTES {
            return None;
        }
        all.extend_from_slice(&part);
        let _ = body.flow_control().release_capacity(part.len());
    }
    // Trailers are read, so that malformed ones are seen.
    body.trailers().await.ok()?;
    Some(all)
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod tests;
