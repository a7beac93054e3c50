//! `/upload`: counts the body's bytes as they arrive.

use ntex::{
    http::header::CONTENT_LENGTH,
    util::stream_recv,
    web::{HttpRequest, types::Payload},
};

use crate::refused::Refused;

/// The largest body taken: the largest of the profile is 20 MiB.
pub const LIMIT_BYTES: usize = 25 * 1024 * 1024;

pub async fn post(
    request: HttpRequest,
    mut body: Payload,
) -> Result<String, Refused> {
    if declared_length(&request).is_some_and(|n| n > LIMIT_BYTES as u64) {
        return Err(Refused::TooLarge);
    }
    let mut total_bytes = 0;
    while let Some(chunk) = stream_recv(&mut body).await {
        total_bytes += chunk.map_err(|_| Refused::BadRequest)?.len();
        if total_bytes > LIMIT_BYTES {
            return Err(Refused::TooLarge);
        }
    }
    Ok(total_bytes.to_string())
}

/// What the client announces; used only to refuse early, never to answer.
fn declared_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
