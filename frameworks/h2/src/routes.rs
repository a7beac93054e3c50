//! Every endpoint of the entry but the gRPC service.

use bytes::Bytes;
use http::{
    Method, Response, StatusCode,
    header::{
        ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName,
        HeaderValue, VARY,
    },
    request::Parts,
};

use crate::{
    assets::Assets,
    dataset::Dataset,
    encoding::{self, Encoding},
    query,
};

/// Room for any listing of the arena's dataset.
const LISTING_BYTES: usize = 12 * 1024;

/// What the server answers from, for as long as it runs.
pub struct Site {
    pub dataset: Dataset,
    pub assets: Assets,
}

pub type Reply = Response<Bytes>;

/// The answer to GET; to HEAD its body is left away.
pub fn answer(site: &Site, head: &Parts) -> Reply {
    let path = head.uri.path();
    let endpoint = match path {
        "/baseline2" => sum,
        _ if path.starts_with("/json/") => json,
        _ if path.starts_with("/static/") => file,
        _ => return refusal(StatusCode::NOT_FOUND),
    };
    let mut reply = match head.method {
        Method::GET | Method::HEAD => {
            endpoint(site, head).unwrap_or_else(refusal)
        }
        _ => {
            let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED);
            set(&mut reply, ALLOW, "GET, HEAD");
            reply
        }
    };
    let length = HeaderValue::from(reply.body().len());
    reply.headers_mut().insert(CONTENT_LENGTH, length);
    reply
}

type Answer = Result<Reply, StatusCode>;

/// The sum of two query parameters. Only the result has to fit 64 bits.
fn sum(_: &Site, head: &Parts) -> Answer {
    let [a, b] = ["a", "b"].map(|name| parameter(head, name, None));
    let sum = a?.checked_add(b?).ok_or(StatusCode::BAD_REQUEST)?;
    Ok(reply("text/plain", sum.to_string()))
}

fn json(site: &Site, head: &Parts) -> Answer {
    let count = after(head, "/json/").parse();
    let count = count.map_err(|_| StatusCode::BAD_REQUEST)?;
    let multiplier = parameter(head, "m", Some(1))?;
    let listing = site.dataset.listing(count, multiplier);
    let listing = listing.ok_or(StatusCode::BAD_REQUEST)?;
    let mut body = Vec::with_capacity(LISTING_BYTES);
    serde_json::to_writer(&mut body, &listing)
        .expect("a listing serialises and memory takes every write");
    Ok(reply("application/json", body))
}

fn file(site: &Site, head: &Parts) -> Answer {
    let choose =
        |offered: &[Encoding]| encoding::negotiate(&head.headers, offered);
    let found = site.assets.find(after(head, "/static/"), choose);
    let found = found.ok_or(StatusCode::NOT_FOUND)?;
    let mut reply = reply(found.content_type, found.body);
    set(&mut reply, VARY, "accept-encoding");
    match found.encoding {
        Encoding::Identity => {}
        Encoding::Gzip => set(&mut reply, CONTENT_ENCODING, "gzip"),
        Encoding::Brotli => set(&mut reply, CONTENT_ENCODING, "br"),
    }
    Ok(reply)
}

fn after<'a>(head: &'a Parts, prefix: &str) -> &'a str {
    head.uri.path().strip_prefix(prefix).unwrap_or_default()
}

fn parameter(
    head: &Parts,
    name: &str,
    default: Option<i64>,
) -> Result<i64, StatusCode> {
    let query = head.uri.query().unwrap_or_default();
    let value = query::integer(query, name);
    let value = value.map_err(|_| StatusCode::BAD_REQUEST)?;
    value.or(default).ok_or(StatusCode::BAD_REQUEST)
}

fn reply(content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(body.into());
    set(&mut reply, CONTENT_TYPE, content_type);
    reply
}

fn refusal(status: StatusCode) -> Reply {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut reply = reply("text/plain", reason);
    *reply.status_mut() = status;
    reply
}

fn set(reply: &mut Reply, name: HeaderName, value: &'static str) {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
}
