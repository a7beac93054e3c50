//! Requests as bytes, and as a text that can be sent again by hand.

use std::fmt::Write as _;

use profiles::ask::{Ask, Body};
use profiles::profile::Framing;

use super::chunked::{self, Style};

/// So much of a request is shown.
const SHOWN_BYTES: usize = 600;

/// One request, complete: what it says, and its bytes over HTTP/1.1.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// What `Host` or `:authority` says.
    pub(crate) host: String,
    /// Header fields beside the host, names as HTTP/1.1 spells them. Those of
    /// its connections (`Transfer-Encoding`, `Connection`) are among them.
    pub(crate) fields: Vec<(String, String)>,
    /// Its bytes over HTTP/1.1.
    pub(crate) bytes: Vec<u8>,
    /// Where the body begins.
    pub(crate) body_at: usize,
    /// Whether the answer has no body because HEAD is asked.
    pub(crate) head: bool,
}

impl Request {
    /// A question exactly as the load asks it: `Host`, then what the question
    /// needs, and nothing else. `body` is the decoded body, if it has one.
    pub(crate) fn of(ask: &Ask, host: &str, body: &[u8]) -> Request {
        Request::bearing(ask, host, None, ask.accept_encoding(), body)
    }

    /// The same with a bearer token and any `Accept-Encoding`.
    pub(crate) fn bearing(
        ask: &Ask,
        host: &str,
        token: Option<&str>,
        accept: Option<&str>,
        body: &[u8],
    ) -> Request {
        let mut extra = String::new();
        // Writing to a String cannot fail.
        if let Some(accept) = accept {
            let _ = write!(extra, "Accept-Encoding: {accept}\r\n");
        }
        if let Some(token) = token {
            let _ = write!(extra, "Authorization: Bearer {token}\r\n");
        }
        let framing = match ask.body() {
            Body::None => None,
            Body::Message => {
                // gRPC has no length; only the stream's end says it.
                let fields = "Content-Type: application/grpc\r\n\
                              TE: trailers\r\n";
                extra.push_str(fields);
                return Request::new("POST", &ask.target(), host, &extra)
                    .with(body);
            }
            Body::Json => {
                extra.push_str("Content-Type: application/json\r\n");
                Some(Framing::Length)
            }
            Body::Integer(_, framing) | Body::Slice { framing, .. } => {
                Some(framing)
            }
        };
        let wire = match framing {
            None => Vec::new(),
            Some(Framing::Length) => {
                let _ = write!(extra, "Content-Length: {}\r\n", body.len());
                body.to_vec()
            }
            Some(Framing::Chunked) => {
                extra.push_str("Transfer-Encoding: chunked\r\n");
                chunked::encode(body, &[], Style::default())
            }
        };
        Request::new(ask.method(), &ask.target(), host, &extra).with(&wire)
    }

    /// A request without a body; `extra` holds whole header lines.
    pub(crate) fn new(
        method: &str,
        target: &str,
        host: &str,
        extra: &str,
    ) -> Request {
        let text = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n"
        );
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_string(), value.trim().to_string()))
        };
        Request {
            method: method.into(),
            target: target.into(),
            host: host.into(),
            fields: extra.split("\r\n").filter_map(field).collect(),
            body_at: text.len(),
            bytes: text.into_bytes(),
            head: method == "HEAD",
        }
    }

    /// Any bytes at all, for HTTP/1.1 alone.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Request {
        let bytes = bytes.into();
        let mut request = Request::new("", "", "", "");
        request.body_at = bytes.len();
        Request { bytes, ..request }
    }

    /// The body, where it is not sent in chunks.
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.body_at..]
    }

    /// The same request followed by the bytes of a body.
    pub(crate) fn with(mut self, wire: &[u8]) -> Request {
        self.bytes.extend_from_slice(wire);
        self
    }

    /// The bytes, escaped as `printf` reads them; long ones are cut.
    pub(crate) fn shown(&self) -> String {
        show(&self.bytes)
    }
}

/// Bytes escaped as `printf` reads them; long ones are cut.
pub(crate) fn show(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in &bytes[..bytes.len().min(SHOWN_BYTES)] {
        let _ = match byte {
            b'%' => write!(out, "%%"),
            b => write!(out, "{}", b.escape_ascii()),
        };
    }
    if bytes.len() > SHOWN_BYTES {
        let _ = write!(out, " … {} bytes in all", bytes.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_written_as_the_load_writes_it() {
        let sum = Ask::Sum {
            path: "/baseline11".into(),
            a: 1,
            b: -2,
            body: Some((20, Framing::Chunked)),
        };
        let text = Request::of(&sum, "127.0.0.1:8080", b"20").shown();
        assert_eq!(
            text,
            "POST /baseline11?a=1&b=-2 HTTP/1.1\\r\\n\
             Host: 127.0.0.1:8080\\r\\nTransfer-Encoding: chunked\\r\\n\
             \\r\\n2\\r\\n20\\r\\n0\\r\\n\\r\\n"
        );
        let file = Ask::Static { file: 0, accept_encoding: Some("br".into()) };
        let request = Request::of(&file, "h", b"");
        assert!(request.shown().contains("\\r\\nAccept-Encoding: br\\r\\n"));
        let big =
            Ask::Upload { offset: 0, len: 4096, framing: Framing::Length };
        let shown = Request::of(&big, "h", &[0; 4096]).shown();
        assert!(shown.ends_with("bytes in all") && shown.len() < 4000);
    }
}
