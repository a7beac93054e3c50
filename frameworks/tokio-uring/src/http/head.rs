//! Reading a request's head, up to and with its empty line.

use super::{
    Status,
    fields::{Fields, Framing},
    scan,
};
use crate::encoding::Weights;

/// A head that is longer is refused.
pub const LIMIT_BYTES: usize = 16 * 1024;

/// The most fields a head may have.
const LIMIT_FIELDS: usize = 100;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    Get,
    Head,
    Post,
    Other,
}

#[derive(Debug, PartialEq)]
pub struct Head<'a> {
    pub method: Method,
    pub path: &'a [u8],
    pub query: &'a [u8],
    pub framing: Framing,
    /// Whether the connection stays open after the answer.
    pub keep: bool,
    /// Whether the client waits for `100 Continue`.
    pub expects: bool,
    pub codings: Weights,
    pub upgrade: Upgrade<'a>,
}

/// What the head says about WebSocket.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Upgrade<'a> {
    pub asked: bool,
    pub version: bool,
    pub key: Option<&'a [u8]>,
}

/// The head and its length, or `None` while there is more to come.
pub fn parse(input: &[u8]) -> Result<Option<(Head<'_>, usize)>, Status> {
    match read(input) {
        Ok((head, rest)) => Ok(Some((head, input.len() - rest.len()))),
        Err(Stop::Refused(status)) => Err(status),
        Err(Stop::Short) if input.len() < LIMIT_BYTES => Ok(None),
        Err(Stop::Short) => Err(Status::FIELDS_TOO_LARGE),
    }
}

enum Stop {
    /// The input ends before the head does.
    Short,
    Refused(Status),
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

fn read(input: &[u8]) -> Result<(Head<'_>, &[u8]), Stop> {
    let mut rest = input;
    // Old clients send an empty line after a body.
    while let Some(after) = rest.strip_prefix(b"\r\n") {
        rest = after;
    }
    let (method, after) = method(rest)?;
    let (target, after) = target(after)?;
    let (old, mut rest) = version(after)?;
    let (path, query) = split(target)?;

    let mut fields = Fields::default();
    for _ in 0..=LIMIT_FIELDS {
        let Some((name, value, after)) = field(rest)? else {
            // What may pass the limit is only the empty line and what follows.
            if input.len() - rest.len() > LIMIT_BYTES {
                return Err(Status::FIELDS_TOO_LARGE.into());
            }
            let (framing, keep) = fields.conclude(old)?;
            let head = Head {
                method,
                path,
                query,
                framing,
                keep,
                expects: fields.expects && !old,
                codings: fields.codings,
                upgrade: fields.upgrade(old),
            };
            return Ok((head, &rest[2..]));
        };
        fields.note(name, value)?;
        rest = after;
    }
    Err(Status::FIELDS_TOO_LARGE.into())
}

fn method(input: &[u8]) -> Result<(Method, &[u8]), Stop> {
    for (word, method) in [
        (&b"GET "[..], Method::Get),
        (b"POST ", Method::Post),
        (b"HEAD ", Method::Head),
    ] {
        if let Some(rest) = input.strip_prefix(word) {
            return Ok((method, rest));
        }
    }
    let end = input.iter().position(|byte| !scan::in_token(*byte));
    match end {
        None => Err(Stop::Short),
        Some(end) if end > 0 && input[end] == b' ' => {
            Ok((Method::Other, &input[end + 1..]))
        }
        // A line end that has come in half, before the request.
        Some(0) if input == b"\r" => Err(Stop::Short),
        Some(_) => Err(Status::BAD_REQUEST.into()),
    }
}

fn target(input: &[u8]) -> Result<(&[u8], &[u8]), Stop> {
    let end = scan::end_of_target(input);
    match input.get(end) {
        None => Err(Stop::Short),
        Some(b' ') if end > 0 => Ok((&input[..end], &input[end + 1..])),
        Some(_) => Err(Status::BAD_REQUEST.into()),
    }
}

/// Whether the version is HTTP/1.0, and what follows its line.
fn version(input: &[u8]) -> Result<(bool, &[u8]), Stop> {
    if let Some(rest) = input.strip_prefix(b"HTTP/1.1\r\n") {
        return Ok((false, rest));
    }
    if let Some(rest) = input.strip_prefix(b"HTTP/1.0\r\n") {
        return Ok((true, rest));
    }
    let form = b"HTTP/d.d\r\n";
    let mut other = false;
    for (place, &byte) in input.iter().take(form.len()).enumerate() {
        let fits = match form[place] {
            b'd' => byte.is_ascii_digit(),
            wanted => byte == wanted,
        };
        if !fits {
            return Err(Status::BAD_REQUEST.into());
        }
        other = place + 1 == form.len();
    }
    // The form is right, so what differs are the digits.
    Err(if other { Status::VERSION.into() } else { Stop::Short })
}

/// The path and the query of a target in origin or absolute form. That of
/// `OPTIONS *` has a path that is nowhere served.
fn split(target: &[u8]) -> Result<(&[u8], &[u8]), Status> {
    let target = if target[0] == b'/' || target == b"*" {
        target
    } else {
        let scheme = [&b"http://"[..], b"https://"]
            .into_iter()
            .find(|scheme| {
                target
                    .get(..scheme.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            })
            .ok_or(Status::BAD_REQUEST)?;
        let rest = &target[scheme.len()..];
        let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
        match end {
            Some(0) => return Err(Status::BAD_REQUEST),
            Some(end) => &rest[end..],
            None if rest.is_empty() => return Err(Status::BAD_REQUEST),
            None => b"/",
        }
    };
    Ok(match memchr::memchr(b'?', target) {
        Some(mark) => (&target[..mark], &target[mark + 1..]),
        None => (target, &[]),
    })
}

/// The next field and what follows it, or `None` before the empty line.
#[expect(clippy::type_complexity, reason = "a name would say no more")]
fn field(input: &[u8]) -> Result<Option<(&[u8], &[u8], &[u8])>, Stop> {
    let name = input.iter().position(|byte| !scan::in_token(*byte));
    let Some(colon) = name else { return Err(Stop::Short) };
    if input[colon] != b':' || colon == 0 {
        return match input {
            [b'\r', b'\n', ..] => Ok(None),
            [b'\r'] => Err(Stop::Short),
            // White space before the colon, a folded line or no field at all.
            _ => Err(Status::BAD_REQUEST.into()),
        };
    }
    let value = &input[colon + 1..];
    let end = scan::end_of_value(value);
    match value[end..] {
        [b'\r', b'\n', ..] => {}
        [] | [b'\r'] => return Err(Stop::Short),
        _ => return Err(Status::BAD_REQUEST.into()),
    }
    Ok(Some((&input[..colon], value[..end].trim_ascii(), &value[end + 2..])))
}

#[cfg(test)]
#[path = "head_test.rs"]
mod tests;
