//! `/upload`: counts the body's bytes as they arrive.

use axum::{
    RequestExt,
    extract::Request,
    http::{StatusCode, header::CONTENT_LENGTH},
};
use http_body_util::LengthLimitError;
use tokio_stream::StreamExt;

/// The largest body taken: the largest of the profile is 20 MiB.
pub const LIMIT_BYTES: usize = 25 * 1024 * 1024;

pub async fn post(request: Request) -> Result<String, StatusCode> {
    if declared_length(&request).is_some_and(|n| n > LIMIT_BYTES as u64) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let mut body = request.into_limited_body().into_data_stream();
    let mut total_bytes = 0;
    while let Some(chunk) = body.next().await {
        total_bytes += chunk.map_err(|error| refusal(&error))?.len();
    }
    Ok(total_bytes.to_string())
}

/// What the client announces; used only to refuse early, never to answer.
fn declared_length(request: &Request) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn refusal(error: &axum::Error) -> StatusCode {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if error.is::<LengthLimitError>() {
            return StatusCode::PAYLOAD_TOO_LARGE;
        }
        source = error.source();
    }
    StatusCode::BAD_REQUEST
}
