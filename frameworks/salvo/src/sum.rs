//! `/baseline11`: the sum of two query parameters and, for POST, of the body.

use std::str;

use salvo::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Terms {
    a: i64,
    b: i64,
}

#[handler]
pub async fn get(req: &mut Request) -> Result<String, StatusError> {
    sum(req, 0)
}

#[handler]
pub async fn post(req: &mut Request) -> Result<String, StatusError> {
    let body = req.payload().await.map_err(|_| StatusError::bad_request())?;
    let third = str::from_utf8(body).ok().and_then(|t| t.trim().parse().ok());
    let third = third.ok_or_else(StatusError::bad_request)?;
    sum(req, third)
}

/// Only the result has to fit 64 bits, whatever the order of the terms.
fn sum(req: &mut Request, third: i64) -> Result<String, StatusError> {
    let terms: Terms =
        req.parse_queries().map_err(|_| StatusError::bad_request())?;
    let sum = i128::from(terms.a) + i128::from(terms.b) + i128::from(third);
    let sum = i64::try_from(sum).map_err(|_| StatusError::bad_request())?;
    Ok(sum.to_string())
}
