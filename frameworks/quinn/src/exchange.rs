//! One connection's requests, each on a task of its own.

use anyhow::Result;
use bytes::{Buf, Bytes};
use h3::{quic::BidiStream, server::RequestStream};
use http::{
    HeaderMap, HeaderName, Request,
    header::{self, CONTENT_LENGTH},
};
use quinn::Incoming;

use crate::{assets::Assets, routes};

/// No endpoint has a use for a longer one.
const LONGEST_BODY: u64 = 64 << 10;

pub async fn serve(assets: &'static Assets, incoming: Incoming) -> Result<()> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::Connection::new(connection).await?;
    while let Some(resolver) = connection.accept().await? {
        tokio::spawn(async move {
            let Ok((request, stream)) = resolver.resolve_request().await else {
                return;
            };
            // An error ends this stream and no other.
            let _ = answer(assets, request, stream).await;
        });
    }
    Ok(())
}

async fn answer<S: BidiStream<Bytes>>(
    assets: &'static Assets,
    request: Request<()>,
    mut stream: RequestStream<S, Bytes>,
) -> Result<()> {
    let (head, ()) = request.into_parts();
    let mut length = 0;
    while let Some(piece) = stream.recv_data().await? {
        length += piece.remaining() as u64;
        if length > LONGEST_BODY {
            break;
        }
    }
    let (reply, body) = match is_malformed(&head.headers, length) {
        true => routes::malformed(),
        false => routes::answer(assets, &head),
    };
    stream.send_response(reply).await?;
    if head.method != http::Method::HEAD && !body.is_empty() {
        stream.send_data(body).await?;
    }
    stream.finish().await?;
    Ok(())
}

const CONNECTION_FIELDS: [HeaderName; 5] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What h3 lets pass though RFC 9114 forbids it: fields of HTTP/1.1's
/// connections (4.2), and a body of another length than was declared (4.1.2).
fn is_malformed(headers: &HeaderMap, length: u64) -> bool {
    let declared = headers.get(CONTENT_LENGTH).map(|value| {
        let text = value.to_str().unwrap_or_default();
        text.parse::<u64>().ok()
    });
    declared.is_some_and(|declared| declared != Some(length))
        || length > LONGEST_BODY
        || CONNECTION_FIELDS.iter().any(|name| headers.contains_key(name))
        || headers.get_all(header::TE).iter().any(|te| te != "trailers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_http3_calls_malformed_is_found() {
        for (name, value, expected) in [
            ("accept-encoding", "br", false),
            ("te", "trailers", false),
            ("te", "gzip", true),
            ("connection", "close", true),
            ("keep-alive", "5", true),
            ("transfer-encoding", "chunked", true),
            ("content-length", "4", false),
            ("content-length", "3", true),
            ("content-length", "-4", true),
            ("content-length", "x", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(name, value.parse().unwrap());
            assert_eq!(is_malformed(&headers, 4), expected, "{name}: {value}");
        }
    }
}
