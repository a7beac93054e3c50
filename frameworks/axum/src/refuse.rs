//! What the libraries below let pass though their standards forbid it: refused
//! before a handler sees it.

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, Response, StatusCode, header},
    middleware::Next,
};

use crate::upload::LIMIT_BYTES;

/// tonic takes calls of any content-type. gRPC over HTTP/2: 415 for others.
#[expect(clippy::result_large_err, reason = "so does the layer want it")]
pub fn not_grpc(request: &mut Request) -> Result<(), Response<Body>> {
    let media_type = request.headers().get(header::CONTENT_TYPE);
    if media_type
        .is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
    {
        return Ok(());
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Err(response)
}

/// h3 takes fields of HTTP/1.1's connections, and a body of another length than
/// was declared. RFC 9114, sections 4.2 and 4.1.2: such a request is malformed.
/// A body whose length is declared is read here, as not every handler reads it.
pub async fn malformed(
    request: Request,
    next: Next,
) -> Result<Response<Body>, StatusCode> {
    if has_connection_fields(request.headers()) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let Some(declared) = request.headers().get(header::CONTENT_LENGTH) else {
        return Ok(next.run(request).await);
    };
    let declared = declared.to_str().ok().and_then(|n| n.parse().ok());
    let declared: usize = declared.ok_or(StatusCode::BAD_REQUEST)?;
    if declared > LIMIT_BYTES {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, declared).await;
    let body = body.map_err(|_| StatusCode::BAD_REQUEST)?;
    if body.len() != declared {
        return Err(StatusCode::BAD_REQUEST);
    }
    Ok(next.run(Request::from_parts(parts, body.into())).await)
}

const CONNECTION_FIELDS: [HeaderName; 5] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

fn has_connection_fields(headers: &HeaderMap) -> bool {
    CONNECTION_FIELDS.iter().any(|name| headers.contains_key(name))
        || headers.get_all(header::TE).iter().any(|te| te != "trailers")
}

#[cfg(test)]
mod tests {
    use axum::{Router, middleware::from_fn, routing::get};
    use tower::ServiceExt;

    use super::*;

    fn request(name: &'static str, value: &'static str) -> Request {
        let body = Body::from("four");
        Request::builder().header(name, value).body(body).unwrap()
    }

    #[test]
    fn only_grpc_is_taken_for_a_call() {
        for (value, expected) in [
            ("application/grpc", None),
            ("application/grpc+proto", None),
            ("application/json", Some(StatusCode::UNSUPPORTED_MEDIA_TYPE)),
        ] {
            let refused = not_grpc(&mut request("content-type", value)).err();
            assert_eq!(refused.map(|response| response.status()), expected);
        }
    }

    #[tokio::test]
    async fn what_http3_calls_malformed_is_refused() {
        let app = Router::new()
            .route("/", get(|| async {}))
            .layer(from_fn(malformed));
        for (name, value, expected) in [
            ("accept-encoding", "br", 200),
            ("te", "trailers", 200),
            ("te", "gzip", 400),
            ("connection", "close", 400),
            ("keep-alive", "5", 400),
            ("transfer-encoding", "chunked", 400),
            ("content-length", "4", 200),
            ("content-length", "3", 400),
            ("content-length", "5", 400),
            ("content-length", "-4", 400),
            ("content-length", "99999999", 413),
        ] {
            let answer = app.clone().oneshot(request(name, value)).await;
            assert_eq!(answer.unwrap().status(), expected, "{name}: {value}");
        }
    }
}
