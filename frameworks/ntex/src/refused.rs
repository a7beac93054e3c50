//! What is answered instead of a result.

use ntex::{http::StatusCode, web::WebResponseError};

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("not what is asked for here")]
    BadRequest,
    #[error("no such thing")]
    NotFound,
    #[error("too large")]
    TooLarge,
    #[error("the database is away")]
    Unavailable,
}

impl WebResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
