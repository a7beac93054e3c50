//! `/baseline11`: the sum of two query parameters and, for POST, of the body.

use actix_web::{
    Result,
    error::ErrorBadRequest,
    web::{self, Query},
};
use serde::Deserialize;

/// Anything but two integers is refused by the extractor with 400.
#[derive(Deserialize)]
pub struct Terms {
    a: i64,
    b: i64,
}

pub async fn get(terms: Query<Terms>) -> Result<String> {
    sum(&terms, 0)
}

/// The body is taken as bytes: a text extractor would look at a charset that
/// nobody sends.
pub async fn post(terms: Query<Terms>, body: web::Bytes) -> Result<String> {
    let third = std::str::from_utf8(&body).map_err(ErrorBadRequest)?;
    sum(&terms, third.trim().parse().map_err(ErrorBadRequest)?)
}

/// Only the result has to fit 64 bits, whatever the order of the terms.
fn sum(terms: &Terms, third: i64) -> Result<String> {
    let sum = i128::from(terms.a) + i128::from(terms.b) + i128::from(third);
    let sum = i64::try_from(sum).map_err(ErrorBadRequest)?;
    Ok(sum.to_string())
}
