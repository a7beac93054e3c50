//! Responses: the headers each endpoint sends.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Response, StatusCode,
    header::{
        ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, VARY,
    },
};

use crate::encoding::Encoding;

pub type Reply = Response<Full<Bytes>>;

pub fn text(body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    set(&mut reply, CONTENT_TYPE, "text/plain");
    reply
}

/// A body that another request might get in another encoding.
pub fn negotiated(
    content_type: &'static str,
    encoding: Encoding,
    body: Bytes,
) -> Reply {
    let mut reply = Response::new(Full::new(body));
    set(&mut reply, CONTENT_TYPE, content_type);
    set(&mut reply, VARY, "accept-encoding");
    match encoding {
        Encoding::Identity => {}
        Encoding::Gzip => set(&mut reply, CONTENT_ENCODING, "gzip"),
        Encoding::Brotli => set(&mut reply, CONTENT_ENCODING, "br"),
    }
    reply
}

/// Why a request gets no answer of its endpoint's.
#[derive(Debug)]
pub enum Refusal {
    Status(StatusCode),
    /// The methods the endpoint does take.
    Method(&'static str),
}

impl From<StatusCode> for Refusal {
    fn from(status: StatusCode) -> Self {
        Self::Status(status)
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let (status, allowed) = match refusal {
            Refusal::Status(status) => (status, None),
            Refusal::Method(allowed) => {
                (StatusCode::METHOD_NOT_ALLOWED, Some(allowed))
            }
        };
        let mut reply = text(status.canonical_reason().unwrap_or_default());
        *reply.status_mut() = status;
        if let Some(allowed) = allowed {
            set(&mut reply, ALLOW, allowed);
        }
        reply
    }
}

fn set(reply: &mut Reply, name: HeaderName, value: &'static str) {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
}
