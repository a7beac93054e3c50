//! Every endpoint of the entry.

use bytes::Bytes;
use hyper::{Method, Request, StatusCode, body::Body, http::request::Parts};

use crate::{
    assets::Assets,
    body,
    dataset::Dataset,
    encoding::{self, Encoding},
    query,
    reply::{Refusal, Reply, negotiated, text},
};

/// Room for any listing of the arena's dataset.
const LISTING_BYTES: usize = 12 * 1024;

/// What the server answers from, for as long as it runs.
pub struct Site {
    pub dataset: Dataset,
    pub assets: Assets,
}

/// For HEAD hyper sends the headers of what is returned here and no body.
pub async fn answer<B>(site: &Site, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let answer = match path {
        "/baseline11" => baseline(&head, body).await,
        "/baseline2" => reads(&head).and_then(|()| sum(&head, 0)),
        "/upload" => upload(&head, body).await,
        _ if path.starts_with("/json/") => json(site, &head),
        _ if path.starts_with("/static/") => file(site, &head),
        "/pipeline" => reads(&head).map(|()| text("ok")),
        _ => Err(NOT_FOUND),
    };
    answer.unwrap_or_else(Reply::from)
}

type Answer = Result<Reply, Refusal>;

pub const BAD_REQUEST: Refusal = Refusal::Status(StatusCode::BAD_REQUEST);
const NOT_FOUND: Refusal = Refusal::Status(StatusCode::NOT_FOUND);

/// Refuses every method that does more than read.
fn reads(head: &Parts) -> Result<(), Refusal> {
    match head.method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Refusal::Method("GET, HEAD")),
    }
}

/// The sum of two query parameters and, for POST, of the body.
async fn baseline<B>(head: &Parts, body: B) -> Answer
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let third = match head.method {
        Method::GET | Method::HEAD => 0,
        Method::POST => body::integer(body).await?,
        _ => return Err(Refusal::Method("GET, HEAD, POST")),
    };
    sum(head, third)
}

fn sum(head: &Parts, third: i64) -> Answer {
    let [a, b] = ["a", "b"].map(|name| parameter(head, name, None));
    // Only the result has to fit 64 bits, whatever the order of the terms.
    let sum = i128::from(a?) + i128::from(b?) + i128::from(third);
    let sum = i64::try_from(sum).map_err(|_| BAD_REQUEST)?;
    Ok(text(sum.to_string()))
}

async fn upload<B: Body + Unpin>(head: &Parts, body: B) -> Answer {
    if head.method != Method::POST {
        return Err(Refusal::Method("POST"));
    }
    let total_bytes = body::count(body).await?;
    Ok(text(total_bytes.to_string()))
}

fn json(site: &Site, head: &Parts) -> Answer {
    reads(head)?;
    let count = after(head, "/json/").parse().map_err(|_| BAD_REQUEST)?;
    let multiplier = parameter(head, "m", Some(1))?;
    let listing = site.dataset.listing(count, multiplier);
    let listing = listing.ok_or(BAD_REQUEST)?;

    let mut plain = Vec::with_capacity(LISTING_BYTES);
    serde_json::to_writer(&mut plain, &listing)
        .expect("a listing serialises and memory takes every write");
    // At our levels gzip is the faster of the two for the same size.
    let offered = [Encoding::Gzip, Encoding::Brotli];
    let encoding = encoding::negotiate(&head.headers, &offered);
    let body = match encoding {
        Encoding::Identity => plain,
        Encoding::Gzip => encoding::gzip(&plain),
        Encoding::Brotli => encoding::brotli(&plain),
    };
    Ok(negotiated("application/json", encoding, body.into()))
}

fn file(site: &Site, head: &Parts) -> Answer {
    reads(head)?;
    let choose =
        |offered: &[Encoding]| encoding::negotiate(&head.headers, offered);
    let found = site.assets.find(after(head, "/static/"), choose);
    let found = found.ok_or(NOT_FOUND)?;
    Ok(negotiated(found.content_type, found.encoding, found.body))
}

fn after<'a>(head: &'a Parts, prefix: &str) -> &'a str {
    head.uri.path().strip_prefix(prefix).unwrap_or_default()
}

fn parameter(
    head: &Parts,
    name: &str,
    default: Option<i64>,
) -> Result<i64, Refusal> {
    let query = head.uri.query().unwrap_or_default();
    let value = query::integer(query, name).map_err(|_| BAD_REQUEST)?;
    value.or(default).ok_or(BAD_REQUEST)
}

#[cfg(test)]
#[path = "routes_test.rs"]
mod tests;
