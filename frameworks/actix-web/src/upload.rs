//! `/upload`: counts the body's bytes as they arrive.

use actix_web::{
    HttpRequest, Result,
    error::{ErrorPayloadTooLarge, PayloadError},
    http::header::CONTENT_LENGTH,
    web::Payload,
};
use futures_util::StreamExt;

/// The largest body taken: the largest of the profile is 20 MiB.
pub const LIMIT_BYTES: usize = 25 * 1024 * 1024;

pub async fn post(request: HttpRequest, mut body: Payload) -> Result<String> {
    if declared_length(&request).is_some_and(|n| n > LIMIT_BYTES as u64) {
        return Err(ErrorPayloadTooLarge(PayloadError::Overflow));
    }
    let mut total_bytes = 0;
    while let Some(chunk) = body.next().await {
        total_bytes += chunk?.len();
        if total_bytes > LIMIT_BYTES {
            return Err(ErrorPayloadTooLarge(PayloadError::Overflow));
        }
    }
    Ok(total_bytes.to_string())
}

/// What the client announces; used only to refuse early, never to answer.
fn declared_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
