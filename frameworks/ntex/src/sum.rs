//! `/baseline11`: the sum of two query parameters and, for POST, of the body.

use ntex::{util::Bytes, web::types::Query};
use serde::Deserialize;

use crate::refused::Refused;

/// Anything but two integers is refused by the extractor with 400.
#[derive(Deserialize)]
pub struct Terms {
    a: i64,
    b: i64,
}

pub async fn get(terms: Query<Terms>) -> Result<String, Refused> {
    sum(&terms, 0)
}

/// The body is taken as bytes: a text extractor would look at a charset that
/// nobody sends.
pub async fn post(terms: Query<Terms>, body: Bytes) -> Result<String, Refused> {
    let third = std::str::from_utf8(&body).ok();
    let third = third.and_then(|text| text.trim().parse().ok());
    sum(&terms, third.ok_or(Refused::BadRequest)?)
}

/// Only the result has to fit 64 bits, whatever the order of the terms.
fn sum(terms: &Terms, third: i64) -> Result<String, Refused> {
    let sum = i128::from(terms.a) + i128::from(terms.b) + i128::from(third);
    let sum = i64::try_from(sum).map_err(|_| Refused::BadRequest)?;
    Ok(sum.to_string())
}
