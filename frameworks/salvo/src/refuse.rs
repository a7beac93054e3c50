//! What HTTP/3's library lets pass though its standard forbids it: refused
//! before a handler sees it.

use salvo::{
    http::{HeaderMap, HeaderName, ReqBody, header},
    prelude::*,
};

use crate::upload::LIMIT_BYTES;

/// h3 takes fields of HTTP/1.1's connections, and a body of another length than
/// was declared. RFC 9114, sections 4.2 and 4.1.2: such a request is malformed.
/// A body whose length is declared is read here, as not every handler reads it.
#[handler]
pub async fn malformed(req: &mut Request) -> Result<(), StatusError> {
    if has_connection_fields(req.headers()) {
        return Err(StatusError::bad_request());
    }
    let Some(declared) = req.headers().get(header::CONTENT_LENGTH) else {
        return Ok(());
    };
    let declared = declared.to_str().ok().and_then(|n| n.parse().ok());
    let declared: usize = declared.ok_or_else(StatusError::bad_request)?;
    if declared > LIMIT_BYTES {
        return Err(StatusError::payload_too_large());
    }
    let body = req.payload_with_max_size(declared).await;
    let body = body.map_err(|_| StatusError::bad_request())?.clone();
    if body.len() != declared {
        return Err(StatusError::bad_request());
    }
    req.replace_body(ReqBody::Once(body));
    Ok(())
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
    use salvo::test::TestClient;

    use super::*;

    #[handler]
    async fn fine() {}

    #[tokio::test]
    async fn what_http3_calls_malformed_is_refused() {
        let app =
            Service::new(Router::with_path("x").post(fine)).hoop(malformed);
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
            let asked = TestClient::post("http://127.0.0.1/x")
                .text("four")
                .add_header(name, value, true);
            let answer = asked.send(&app).await;
            let status = answer.status_code.unwrap_or(StatusCode::OK);
            assert_eq!(status, expected, "{name}: {value}");
        }
    }
}
