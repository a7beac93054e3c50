//! From a stream's fields to the frames of its answer.

use super::super::app::Local;
use super::super::stack::Asked;
use super::super::wire::{Body, Request};
use super::serve::Behind;
use super::{GrpcCheat, Http2Cheat, grpc};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// One stream, from its first frame on.
#[derive(Default)]
pub struct Stream {
    pub block: Vec<u8>,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// How long its first DATA frame was.
    pub first: usize,
    /// What the client allows on it.
    pub window: i64,
    /// What still has to be sent.
    pub pending: Vec<u8>,
    /// Fields after the body.
    pub trailers: Vec<(String, String)>,
    /// Whether the answer was begun.
    pub answered: bool,
    pub ended: bool,
    /// Whether a part of the body was sent.
    pub begun: bool,
}

/// An answer: its fields, its body, and fields after it.
pub struct Answer {
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, String)>,
}

fn get<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(n, _)| n == name).map(|(_, v)| &v[..])
}

/// Whether a request is well-formed, as far as the judge asks.
pub fn well_formed(stream: &Stream, cheat: Http2Cheat) -> bool {
    let fields = &stream.fields;
    let length = get(fields, "content-length");
    let length = length.is_none_or(|n| n == stream.body.len().to_string());
    if !length && cheat != Http2Cheat::LengthTaken {
        return false;
    }
    if cheat == Http2Cheat::MalformedTaken {
        return true;
    }
    let known = [":method", ":scheme", ":authority", ":path"];
    let pseudo = fields.iter().filter(|(n, _)| n.starts_with(':'));
    let each_once = known
        .iter()
        .all(|name| fields.iter().filter(|(n, _)| n == name).count() == 1);
    let first = fields.iter().take_while(|(n, _)| n.starts_with(':')).count();
    let hop = ["connection", "transfer-encoding"];
    each_once
        && pseudo.count() == known.len()
        && first == known.len()
        && fields.iter().all(|(n, _)| {
            !n.is_empty()
                && !hop.contains(&&n[..])
                && *n == n.to_ascii_lowercase()
        })
}

pub fn answer(
    stream: &Stream,
    behind: &Behind<'_>,
    cheat: Http2Cheat,
) -> Answer {
    let fields = &stream.fields;
    let method = get(fields, ":method").unwrap_or("GET");
    let path = get(fields, ":path").unwrap_or("/baseline2?a=1&b=2");
    if let Some(calls) = behind.calls
        && method == "POST"
    {
        let kind = get(fields, "content-type").unwrap_or("");
        let coding = get(fields, "grpc-encoding");
        let body = match calls {
            GrpcCheat::FirstFrameOnly => &stream.body[..stream.first],
            GrpcCheat::PrefixWhole if stream.first < 5 => &[],
            _ => &stream.body[..],
        };
        return grpc::answer(path, kind, coding, body, calls);
    }
    let accept = get(fields, "accept-encoding");
    let request = Request::new(method, path, accept);
    let count = stream.body.len() as u64;
    let body = Body { count, framed: count, kept: stream.body.clone() };
    let reply = match &behind.services {
        None => behind.app.answer(&request, &body, &mut Local::default()),
        Some(services) => {
            let asked = Asked {
                method,
                target: path,
                accept,
                authorization: get(fields, "authorization"),
                user: get(fields, "x-user-id"),
                body: &stream.body,
            };
            services.edge(&asked, behind.app)
        }
    };
    let mut out = vec![(":status".to_string(), reply.status.to_string())];
    for (name, value) in &reply.headers {
        let name = match cheat {
            Http2Cheat::UpperCaseFields => name.to_string(),
            _ => name.to_ascii_lowercase(),
        };
        out.push((name, value.clone()));
    }
    let length = reply.length.unwrap_or(reply.body.len());
    let length = match cheat {
        Http2Cheat::LengthLies => length + 1,
        _ => length,
    };
    // Without a length is as good.
    if cheat != Http2Cheat::Unusual {
        out.push(("content-length".into(), length.to_string()));
    }
    // A name that no static table has, so that the other one is used.
    out.push(("x-twin".into(), "yes".into()));
    if cheat == Http2Cheat::ConnectionField {
        out.push(("connection".into(), "keep-alive".into()));
    }
    let body = if method == "HEAD" { Vec::new() } else { reply.body };
    Answer { fields: out, body, trailers: Vec::new() }
}
