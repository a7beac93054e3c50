//! HTTP/2 requests that are malformed: never answered with success.

use profiles::verdict::Verdict;

use super::HTTP2;
use super::http2::draw;
use crate::http::{Fault, Request};
use crate::http2::frame::{Frame, flag, kind};
use crate::http2::{blocks, fields};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};

pub(super) const PROBES: &[Probe] = &[Probe {
    id: "h2.malformed",
    profiles: HTTP2,
    stage: Stage::Rough,
    rule: "A request without :path or :method, with a field name in upper \
           case, a field of HTTP/1.1's connections or a pseudo-header after \
           the fields, or whose content-length is not that of its body, is \
           never answered with success.",
    source: "RFC 9113 sections 8.1.1, 8.2 and 8.3",
    legal: "RST_STREAM, GOAWAY, 4xx, 5xx, a close; silence. Success is a \
            warning where only case or order is wrong, and of an edge also \
            to a wrong content-length",
    hint: "use a library that validates requests, and do not switch that off",
    run,
    ..BLANK
}];

type Fields = Vec<(String, String)>;
type Spoil = fn(&mut Fields);

/// How a request is spoilt.
const WAYS: &[(&str, Spoil)] = &[
    ("without :path", |all| all.retain(|(n, _)| n != ":path")),
    ("without :method", |all| all.retain(|(n, _)| n != ":method")),
    ("a name in upper case", |all| all.push(("X-Upper".into(), "1".into()))),
    ("a connection field", |all| {
        all.push(("connection".into(), "keep-alive".into()));
    }),
    ("transfer-encoding", |all| {
        all.push(("transfer-encoding".into(), "chunked".into()));
    }),
    ("a pseudo-header last", |all| {
        let path = all.iter().position(|(n, _)| n == ":path").unwrap_or(0);
        let path = all.remove(path);
        all.push(("x".into(), "1".into()));
        all.push(path);
    }),
    ("an unknown pseudo-header", |all| {
        all.insert(0, (":unknown".into(), "1".into()));
    }),
    ("two :path", |all| {
        let path = all.iter().find(|(n, _)| n == ":path").cloned();
        all.extend(path);
    }),
];

/// Against the letter, and no danger to anybody: widely used edges take them.
const HARMLESS: [&str; 2] = ["a name in upper case", "a pseudo-header last"];

fn run(s: &mut Session<'_>) -> Outcome {
    let mut odd = None;
    for (what, spoil) in WAYS {
        let all = draw(s, 1)?;
        let request = &all[0].1;
        let mut conn = s.open2()?;
        let mut these = conn.fields(request);
        spoil(&mut these);
        let id = conn.stream_for(request.head);
        let block = fields::block(&these);
        let body = request.body();
        let end = if body.is_empty() { flag::END_STREAM } else { 0 };
        let mut frames = blocks(id, end, &block, 1 << 14);
        if !body.is_empty() {
            frames.push(Frame::new(kind::DATA, flag::END_STREAM, id, body));
        }
        conn.send(&frames, s.deadline());
        let found = refused(s, conn.receive(id, s.short()), request, what);
        match found {
            Err(miss)
                if HARMLESS.contains(what) && miss.verdict == Verdict::Fail =>
            {
                odd = odd.or(Some(miss.as_verdict(Verdict::Warn)));
            }
            found => found?,
        }
    }
    let all = draw(s, 1)?;
    let request = &all[0].1;
    let mut conn = s.open2()?;
    let mut these = conn.fields(request);
    these.retain(|(name, _)| name != "content-length");
    let length = request.body().len() + 3;
    these.push(("content-length".into(), length.to_string()));
    let id = conn.stream_for(request.head);
    let mut frames = blocks(id, 0, &fields::block(&these), 1 << 14);
    let body = request.body();
    frames.push(Frame::new(kind::DATA, flag::END_STREAM, id, body));
    conn.send(&frames, s.deadline());
    let found = conn.receive(id, s.short());
    let found = refused(s, found, request, "a content-length of three more");
    match found {
        // nginx does not wait for a body that a file has no use for.
        Err(miss) if s.is_edge() && miss.verdict == Verdict::Fail => {
            Err(miss.as_verdict(Verdict::Warn))
        }
        Ok(()) => odd.map_or(Ok(()), Err),
        found => found,
    }
}

fn refused(
    s: &mut Session<'_>,
    found: Result<crate::http::Response, Fault>,
    request: &Request,
    what: &str,
) -> Outcome {
    let text = format!("{} ({what})", request.shown());
    s.asked.get_or_insert_with(|| text.clone());
    let trailers_only = |r: &crate::http::Response| {
        let status = r.header("grpc-status").is_some_and(|s| s != "0");
        let trailers = r.trailers.iter().flatten();
        status
            || trailers.into_iter().any(|(n, v)| n == "grpc-status" && v != "0")
    };
    match found {
        Ok(r) if r.is_success() && !trailers_only(&r) => {
            let mut miss = s.miss(request, "anything but success", summary(&r));
            miss.asked = text;
            Err(miss)
        }
        Err(fault @ Fault::Broken(_)) => {
            let mut miss = s.faulty(request, &fault);
            miss.asked = text;
            Err(miss)
        }
        _ => Ok(()),
    }
}
