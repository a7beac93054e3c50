//! One connection, from its first byte to its last, in each way the server
//! speaks. What a client does wrong ends its connection and nothing else.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering},
};

use http_body_util::Full;
use hyper::{
    Method, Request, StatusCode,
    body::{Body, Incoming},
    header::{CONTENT_LENGTH, HeaderValue},
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    batch,
    reply::Reply,
    routes::{BAD_REQUEST, Site, answer},
    tls, websocket,
};

/// What is spoken on a port.
#[derive(Clone)]
pub enum Protocol {
    Http1,
    Http1Tls(TlsAcceptor),
    Http2,
    Http2Tls(TlsAcceptor),
}

pub async fn serve(
    site: &'static Site,
    protocol: Protocol,
    connection: TcpStream,
) {
    if let Err(error) = connection.set_nodelay(true) {
        eprintln!("cannot set TCP_NODELAY: {error}");
    }
    match protocol {
        Protocol::Http1 => http1(site, connection).await,
        Protocol::Http2 => http2(site, connection).await,
        Protocol::Http1Tls(tls) => {
            if let Ok(connection) = tls.accept(connection).await {
                http1(site, connection).await;
            }
        }
        Protocol::Http2Tls(tls) => {
            let Ok(connection) = tls.accept(connection).await else { return };
            // HTTP/2 is spoken over TLS only where it was agreed to.
            if connection.get_ref().1.alpn_protocol() == Some(tls::HTTP2) {
                http2(site, connection).await;
            }
        }
    }
}

async fn http1<T>(site: &Site, connection: T)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let upgraded = AtomicBool::new(false);
    let service = service_fn(|request: Request<Incoming>| async {
        let reply = if request.uri().path() == "/ws" {
            let reply = websocket::upgrade(&request);
            reply.unwrap_or_else(|| BAD_REQUEST.into())
        } else {
            answer(site, request).await
        };
        if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
            upgraded.store(true, Ordering::Relaxed);
        }
        Ok::<_, Infallible>(reply)
    });
    let rest = batch::serve(TokioIo::new(connection), service).await;
    if let Some((connection, begun)) = rest
        && upgraded.into_inner()
    {
        websocket::echo(connection.into_inner(), begun).await;
    }
}

async fn http2<T>(site: &'static Site, connection: T)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| async move {
        Ok::<_, Infallible>(answer_http2(site, request).await)
    });
    let _ = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(connection), service)
        .await;
}

/// Over HTTP/2 hyper sends the body that it is given, also to HEAD.
async fn answer_http2(site: &Site, request: Request<Incoming>) -> Reply {
    let is_head = request.method() == Method::HEAD;
    let mut reply = answer(site, request).await;
    if is_head && let Some(length) = reply.body().size_hint().exact() {
        let length = HeaderValue::from(length);
        reply.headers_mut().insert(CONTENT_LENGTH, length);
        *reply.body_mut() = Full::default();
    }
    reply
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod tests;
