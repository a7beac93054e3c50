//! What is asked, and its answer.

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
    encoding::{self, Encoding},
    query,
};

/// The head and, apart, its body.
pub type Reply = (Response<()>, Bytes);

/// The answer to GET; to HEAD its body is left away.
pub fn answer(assets: &Assets, head: &Parts) -> Reply {
    let path = head.uri.path();
    let endpoint = match path {
        "/baseline2" => sum,
        _ if path.starts_with("/static/") => file,
        _ => return refusal(StatusCode::NOT_FOUND),
    };
    match head.method {
        Method::GET | Method::HEAD => {
            endpoint(assets, head).unwrap_or_else(refusal)
        }
        _ => {
            let mut refused = refusal(StatusCode::METHOD_NOT_ALLOWED);
            set(&mut refused, ALLOW, "GET, HEAD");
            refused
        }
    }
}

pub fn malformed() -> Reply {
    refusal(StatusCode::BAD_REQUEST)
}

type Answer = Result<Reply, StatusCode>;

/// The sum of two query parameters. Only the result has to fit 64 bits.
fn sum(_: &Assets, head: &Parts) -> Answer {
    let query = head.uri.query().unwrap_or_default();
    let [a, b] = ["a", "b"].map(|name| match query::integer(query, name) {
        Ok(Some(value)) => Ok(i128::from(value)),
        _ => Err(StatusCode::BAD_REQUEST),
    });
    let sum = i64::try_from(a? + b?).map_err(|_| StatusCode::BAD_REQUEST)?;
    Ok(reply("text/plain", sum.to_string()))
}

fn file(assets: &Assets, head: &Parts) -> Answer {
    let name = head.uri.path().strip_prefix("/static/").unwrap_or_default();
    let choose =
        |offered: &[Encoding]| encoding::negotiate(&head.headers, offered);
    let found = assets.find(name, choose).ok_or(StatusCode::NOT_FOUND)?;
    let mut reply = reply(found.content_type, found.body);
    set(&mut reply, VARY, "accept-encoding");
    match found.encoding {
        Encoding::Identity => {}
        Encoding::Gzip => set(&mut reply, CONTENT_ENCODING, "gzip"),
        Encoding::Brotli => set(&mut reply, CONTENT_ENCODING, "br"),
    }
    Ok(reply)
}

fn reply(content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let body = body.into();
    let mut head = Response::new(());
    let length = HeaderValue::from(body.len());
    head.headers_mut().insert(CONTENT_LENGTH, length);
    let mut reply = (head, body);
    set(&mut reply, CONTENT_TYPE, content_type);
    reply
}

fn refusal(status: StatusCode) -> Reply {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut reply = reply("text/plain", reason);
    *reply.0.status_mut() = status;
    reply
}

fn set((head, _): &mut Reply, name: HeaderName, value: &'static str) {
    head.headers_mut().insert(name, HeaderValue::from_static(value));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn ask(method: &str, target: &str) -> (u16, String) {
        let assets = Assets::load(Path::new("/nowhere/at/all")).unwrap();
        let request = http::Request::builder().method(method).uri(target);
        let (head, ()) = request.body(()).unwrap().into_parts();
        let (reply, body) = answer(&assets, &head);
        let length = &reply.headers()[CONTENT_LENGTH];
        assert_eq!(length.to_str().unwrap(), body.len().to_string());
        let text = String::from_utf8(body.to_vec()).unwrap();
        (reply.status().as_u16(), text)
    }

    #[test]
    fn sums_are_exact_in_64_bits() {
        let most = i64::MAX;
        assert_eq!(ask("GET", "/baseline2?a=13&b=42"), (200, "55".into()));
        let zero = format!("/baseline2?a={most}&b=-{most}");
        assert_eq!(ask("GET", &zero), (200, "0".into()));
        let over = format!("/baseline2?a={most}&b=1");
        for target in [&over[..], "/baseline2?a=1", "/baseline2?a=x&b=1"] {
            assert_eq!(ask("GET", target).0, 400, "{target}");
        }
    }

    #[test]
    fn what_is_not_there_is_404_and_what_is_not_get_is_405() {
        assert_eq!(ask("GET", "/").0, 404);
        assert_eq!(ask("GET", "/static/../Cargo.toml").0, 404);
        assert_eq!(ask("POST", "/baseline2?a=1&b=1").0, 405);
    }
}
