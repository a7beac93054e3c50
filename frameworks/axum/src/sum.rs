//! `/baseline11`: the sum of two query parameters and, for POST, of the body.

use axum::{extract::Query, http::StatusCode};
use serde::Deserialize;

/// Anything but two integers is refused by the extractor with 400.
#[derive(Deserialize)]
pub struct Terms {
    a: i64,
    b: i64,
}

pub async fn get(Query(terms): Query<Terms>) -> Result<String, StatusCode> {
    sum(&terms, 0)
}

pub async fn post(
    Query(terms): Query<Terms>,
    body: String,
) -> Result<String, StatusCode> {
    let third = body.trim().parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    sum(&terms, third)
}

/// Only the result has to fit 64 bits, whatever the order of the terms.
fn sum(terms: &Terms, third: i64) -> Result<String, StatusCode> {
    let sum = i128::from(terms.a) + i128::from(terms.b) + i128::from(third);
    let sum = i64::try_from(sum).map_err(|_| StatusCode::BAD_REQUEST)?;
    Ok(sum.to_string())
}
