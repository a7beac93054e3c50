//! `/upload`: counts the body's bytes as they arrive.

use http_body_util::BodyExt;
use salvo::http::header::CONTENT_LENGTH;
use salvo::prelude::*;

/// The largest body taken: the largest of the profile is 20 MiB.
pub const LIMIT_BYTES: usize = 25 * 1024 * 1024;

#[handler]
pub async fn post(req: &mut Request) -> Result<String, StatusError> {
    if declared_length(req).is_some_and(|n| n > LIMIT_BYTES as u64) {
        return Err(StatusError::payload_too_large());
    }
    let mut body = req.take_body();
    let mut total_bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| StatusError::bad_request())?;
        total_bytes += frame.data_ref().map_or(0, |data| data.len());
        if total_bytes > LIMIT_BYTES {
            return Err(StatusError::payload_too_large());
        }
    }
    Ok(total_bytes.to_string())
}

/// What the client announces; used only to refuse early, never to answer.
fn declared_length(req: &Request) -> Option<u64> {
    req.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
