//! Reading request bodies, with a limit.

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Limited};
use hyper::{StatusCode, body::Body};

/// The largest upload taken: the largest of the profile is 20 MiB.
pub const UPLOAD_LIMIT_BYTES: u64 = 25 * 1024 * 1024;

/// A decimal integer needs no more, whatever whitespace is around it.
const INTEGER_LIMIT_BYTES: usize = 1024;

/// Reads the body to its end and counts it. The announced length is used only
/// to refuse early.
pub async fn count<B: Body + Unpin>(mut body: B) -> Result<u64, StatusCode> {
    if body.size_hint().lower() > UPLOAD_LIMIT_BYTES {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let mut total_bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        let Some(chunk) = frame.data_ref() else { continue };
        total_bytes += chunk.remaining() as u64;
        if total_bytes > UPLOAD_LIMIT_BYTES {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
    }
    Ok(total_bytes)
}

/// Reads a body that is one integer, with whitespace around it or not.
pub async fn integer<B>(body: B) -> Result<i64, StatusCode>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let body = Limited::new(body, INTEGER_LIMIT_BYTES).collect().await;
    let body = body.map_err(|_| StatusCode::BAD_REQUEST)?.to_bytes();
    let text = std::str::from_utf8(&body);
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or(StatusCode::BAD_REQUEST)
}
