//! A strict reader of HTTP/1.1 responses.
//!
//! It shares nothing with the gun's reader, so a blind spot in one is not a
//! blind spot in both. `httparse` splits the head; everything about framing
//! is decided here, by RFC 9112 section 6, and nothing is forgiven: what a
//! lenient client reads in one way, another reads in another.

use super::chunked::{self, Chunks};

/// No head of a right answer is longer.
const HEAD_LIMIT: usize = 64 * 1024;
/// No body of a right answer is longer.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
const HEADERS: usize = 100;
/// Answers of 1xx before the real one.
const INTERIM_LIMIT: usize = 16;

/// How the body was delimited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Delimited {
    /// There can be none.
    Never,
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// The end of the connection.
    Close,
    /// The end of a stream, over HTTP/2 and HTTP/3.
    Stream,
}

/// One complete response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Fields after the body, over HTTP/2 and HTTP/3; `None` when none came.
    pub(crate) trailers: Option<Vec<(String, String)>>,
    pub(crate) delimited: Delimited,
    /// The `Content-Length` header, which an answer to HEAD may carry too.
    pub(crate) length: Option<u64>,
    /// Whether the server said it will close.
    pub(crate) says_close: bool,
}

impl Response {
    /// The value of a header. The reader refuses duplicates of those that
    /// the judge asks for.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name)?;
        Some(&found.1)
    }

    /// All values of a list header, joined.
    pub(crate) fn list(&self, name: &str) -> String {
        let all = self.headers.iter().filter(|(n, _)| n == name);
        all.map(|(_, v)| v.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Whether the status says that all is well.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What the bytes so far amount to.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Parsed {
    /// More bytes are needed.
    More,
    /// A response, and how many bytes it took.
    Done(Box<Response>, usize),
    /// No further byte can make this a response.
    Broken(String),
}

/// Reads one response from the start of `bytes`. `head` is whether HEAD was
/// asked, `end` whether the connection ended after `bytes`.
pub(crate) fn parse(bytes: &[u8], head: bool, end: bool) -> Parsed {
    let mut at = 0;
    for _ in 0..=INTERIM_LIMIT {
        let (mut response, used, version) = match parse_head(&bytes[at..]) {
            Ok(Some(found)) => found,
            Ok(None) => return Parsed::More,
            Err(why) => return Parsed::Broken(why),
        };
        at += used;
        match response.status {
            101 => {
                return Parsed::Broken("101 without an upgrade asked".into());
            }
            // Interim answers may precede the real one.
            100..200 => continue,
            _ => {}
        }
        if let Err(why) = framing(&mut response, head, version) {
            return Parsed::Broken(why);
        }
        return body(response, &bytes[at..], at, end);
    }
    Parsed::Broken(format!("more than {INTERIM_LIMIT} interim answers"))
}

fn body(mut r: Response, rest: &[u8], at: usize, end: bool) -> Parsed {
    let too_long =
        || Parsed::Broken(format!("a body of more than {BODY_LIMIT} bytes"));
    match r.delimited {
        Delimited::Never | Delimited::Stream => Parsed::Done(Box::new(r), at),
        Delimited::Length => {
            let length = r.length.unwrap_or(0);
            if length > BODY_LIMIT as u64 {
                return too_long();
            }
            match rest.get(..length as usize) {
                Some(body) => {
                    r.body = body.to_vec();
                    Parsed::Done(Box::new(r), at + length as usize)
                }
                None => Parsed::More,
            }
        }
        Delimited::Chunked => match chunked::parse(rest, BODY_LIMIT) {
            Chunks::More => Parsed::More,
            Chunks::Broken(why) => Parsed::Broken(why),
            Chunks::Done(body, used) => {
                r.body = body;
                Parsed::Done(Box::new(r), at + used)
            }
        },
        Delimited::Close if rest.len() > BODY_LIMIT => too_long(),
        Delimited::Close if end => {
            r.body = rest.to_vec();
            Parsed::Done(Box::new(r), at + rest.len())
        }
        Delimited::Close => Parsed::More,
    }
}

type Head = (Response, usize, u8);

fn parse_head(bytes: &[u8]) -> Result<Option<Head>, String> {
    let window = &bytes[..bytes.len().min(HEAD_LIMIT)];
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    let used = match parsed.parse(window) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_LIMIT => {
            return Err(format!("a head of more than {HEAD_LIMIT} bytes"));
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(why) => {
            let start = profiles::oracle::clip(&bytes[..bytes.len().min(40)]);
            return Err(format!("no HTTP/1.1 head ({why}): `{start}`"));
        }
    };
    // httparse takes a lone LF, and skips empty lines at the start.
    let head = &window[..used];
    if !head.starts_with(b"HTTP/") {
        return Err("bytes before the status line".into());
    }
    let lone = head.windows(2).any(|w| w[1] == b'\n' && w[0] != b'\r');
    if lone {
        return Err("a line of the head ends with LF without CR".into());
    }
    let headers: Vec<(String, String)> = parsed
        .headers
        .iter()
        .map(|h| {
            let value = String::from_utf8_lossy(h.value).into_owned();
            (h.name.to_ascii_lowercase(), value)
        })
        .collect();
    let response = Response {
        status: parsed.code.unwrap_or(0),
        headers,
        body: Vec::new(),
        trailers: None,
        delimited: Delimited::Never,
        length: None,
        says_close: false,
    };
    Ok(Some((response, used, parsed.version.unwrap_or(1))))
}

/// RFC 9112 section 6.3, with every ambiguity refused.
fn framing(r: &mut Response, head: bool, version: u8) -> Result<(), String> {
    for once in ["content-type", "content-encoding", "content-length"] {
        let times = r.headers.iter().filter(|(n, _)| n == once).count();
        if times > 1 {
            return Err(format!("{times} `{once}` headers in one answer"));
        }
    }
    let coding = r.list("transfer-encoding");
    r.length =
        match r.header("content-length") {
            None => None,
            Some(text) if !text.bytes().all(|b| b.is_ascii_digit()) => {
                let shown = profiles::oracle::clip(text.as_bytes());
                return Err(format!("content-length `{shown}` is no number"));
            }
            Some(text) => Some(text.parse().map_err(|_| {
                format!("content-length of {} digits", text.len())
            })?),
        };
    if !coding.is_empty() && r.length.is_some() {
        return Err("both content-length and transfer-encoding \
                    (RFC 9112 section 6.2 forbids it)"
            .into());
    }
    if !coding.is_empty() && !coding.eq_ignore_ascii_case("chunked") {
        let shown = profiles::oracle::clip(coding.as_bytes());
        return Err(format!("transfer-encoding `{shown}` is not chunked"));
    }
    let connection = r.list("connection").to_ascii_lowercase();
    let mut words = connection.split(',').map(str::trim);
    r.says_close = match version {
        0 => !words.any(|w| w == "keep-alive"),
        _ => words.any(|w| w == "close"),
    };
    r.delimited = if head || r.status == 204 || r.status == 304 {
        Delimited::Never
    } else if !coding.is_empty() {
        Delimited::Chunked
    } else if r.length.is_some() {
        Delimited::Length
    } else {
        Delimited::Close
    };
    Ok(())
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
