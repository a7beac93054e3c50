//! gRPC calls that must not succeed.

use profiles::ask::Ask;

use super::grpc::GRPC;
use crate::grpc::{field, framed, status};
use crate::http::{Fault, Request, Response};
use crate::link::Exchange as _;
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};

const BASE: Probe = Probe {
    profiles: GRPC,
    stage: Stage::Rough,
    source: "gRPC over HTTP2; gRPC, status codes",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "grpc.unknown",
        rule: "A method or a service that is not there is refused.",
        legal: "grpc-status 12 (UNIMPLEMENTED); 404 or another grpc-status \
                but 0; a reset",
        hint: "answer UNIMPLEMENTED for what is not registered",
        run: unknown,
        ..BASE
    },
    Probe {
        id: "grpc.content-type",
        rule: "A call whose content-type is not application/grpc is refused.",
        legal: "415 or another 4xx; a grpc-status but 0; a reset",
        hint: "look at the content-type before the call is made",
        run: content_type,
        ..BASE
    },
    Probe {
        id: "grpc.broken-message",
        rule: "A message that is no protobuf, or that ends before its own \
               length, is not answered with status 0.",
        legal: "a grpc-status but 0; 4xx or 5xx; a reset",
        hint: "decode requests with a protobuf library and pass its errors on",
        run: broken,
        ..BASE
    },
    Probe {
        id: "grpc.compressed",
        rule: "A message marked as compressed, by a coding that nobody knows \
               or by none, is not answered with status 0.",
        legal: "a grpc-status but 0; 4xx or 5xx; a reset",
        hint: "answer UNIMPLEMENTED to a coding that is not supported, and \
               INTERNAL to a mark without one",
        run: compressed,
        ..BASE
    },
];

/// Whether a call that must fail has failed.
fn refused(s: &mut Session<'_>, request: &Request) -> Outcome {
    s.asked.get_or_insert_with(|| request.shown());
    let mut link = s.link()?;
    match link.exchange(request, s.short()) {
        Ok(response) if has_failed(&response) => Ok(()),
        Ok(response) => {
            let status = status(&response).unwrap_or("none").to_string();
            let status = profiles::oracle::clip(status.as_bytes());
            let got = format!("grpc-status {status}; {}", summary(&response));
            Err(s.miss(request, "a status but 0", got))
        }
        Err(Fault::Reset(_) | Fault::Goaway(_) | Fault::Ended { .. }) => Ok(()),
        Err(fault) => Err(s.faulty(request, &fault)),
    }
}

fn has_failed(response: &Response) -> bool {
    match status(response) {
        Some(status) => status != "0",
        None => !response.is_success(),
    }
}

fn call(s: &mut Session<'_>) -> (Ask, Vec<u8>) {
    let (a, b) = (s.rng.between(1, 9999), s.rng.between(1, 9999));
    let (a, b) = (a as i32, b as i32);
    let mut message = Vec::new();
    field(1, a, &mut message);
    field(2, b, &mut message);
    (Ask::GrpcSum { a, b }, message)
}

fn unknown(s: &mut Session<'_>) -> Outcome {
    let n = s.rng.between(1, 999_999);
    for path in [
        format!("/benchmark.BenchmarkService/GetSum{n}"),
        format!("/benchmark.Service{n}/GetSum"),
    ] {
        let (ask, message) = call(s);
        let mut request = Request::of(&ask, &s.host, &framed(&message));
        request.target = path;
        refused(s, &request)?;
    }
    Ok(())
}

fn content_type(s: &mut Session<'_>) -> Outcome {
    let (ask, message) = call(s);
    for kind in ["application/json", "text/plain"] {
        let mut request = Request::of(&ask, &s.host, &framed(&message));
        for (name, value) in &mut request.fields {
            if name.eq_ignore_ascii_case("content-type") {
                *value = kind.into();
            }
        }
        refused(s, &request)?;
    }
    Ok(())
}

fn broken(s: &mut Session<'_>) -> Outcome {
    let (ask, message) = call(s);
    // A field that ends in the middle of its number.
    let request = Request::of(&ask, &s.host, &framed(&[0x08, 0xff]));
    refused(s, &request)?;
    let mut short = framed(&message);
    short[4] += 7;
    let request = Request::of(&ask, &s.host, &short);
    refused(s, &request)?;
    // A gigabyte that will never come.
    let mut huge = framed(&message);
    huge[1] = 0x40;
    let request = Request::of(&ask, &s.host, &huge);
    refused(s, &request)
}

fn compressed(s: &mut Session<'_>) -> Outcome {
    for coding in [None, Some("x-unknown")] {
        let (ask, message) = call(s);
        let mut body = framed(&message);
        body[0] = 1;
        let mut request = Request::of(&ask, &s.host, &body);
        if let Some(coding) = coding {
            let field = ("Grpc-Encoding".to_string(), coding.to_string());
            request.fields.push(field);
        }
        refused(s, &request)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_failed_by_its_status_first() {
        let response = |status: u16, grpc: Option<&str>| Response {
            status,
            headers: grpc
                .map(|g| ("grpc-status".into(), g.into()))
                .into_iter()
                .collect(),
            body: Vec::new(),
            trailers: None,
            delimited: crate::http::Delimited::Stream,
            length: None,
            says_close: false,
        };
        assert!(has_failed(&response(200, Some("12"))));
        assert!(!has_failed(&response(200, Some("0"))));
        assert!(!has_failed(&response(200, None)));
        assert!(has_failed(&response(404, None)));
    }
}
