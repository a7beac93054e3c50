//! gRPC calls that must succeed.

use profiles::ask::Ask;

use super::http2::finish;
use crate::grpc::{field, framed};
use crate::http::{Fault, Request};
use crate::http2::frame::{Frame, flag, kind};
use crate::http2::{Settings, blocks, fields};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::Session;

pub(super) const GRPC: &[&str] =
    &["unary-grpc", "unary-grpc-tls", "stream-grpc", "stream-grpc-tls"];
const STREAMED: &[&str] = &["stream-grpc", "stream-grpc-tls"];
/// RST_STREAM's CANCEL.
const CANCEL: u32 = 8;

const BASE: Probe = Probe {
    profiles: GRPC,
    source: "contract, gRPC; gRPC over HTTP2",
    legal: "200, application/grpc, the right messages each in its frame, and \
            grpc-status 0 in the trailers",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "grpc.sum",
        rule: "GetSum answers a + b in one message, for operands of any sign \
               and size, wrapping as an int32 does.",
        hint: "register GetSum under benchmark.BenchmarkService and add with \
               wrapping arithmetic",
        run: sum,
        ..BASE
    },
    Probe {
        id: "grpc.fields",
        rule: "Fields may be missing, come in any order, more than once or \
               with unknown ones between them.",
        source: "Protocol Buffers, encoding",
        hint: "decode requests with a protobuf library",
        run: any_fields,
        ..BASE
    },
    Probe {
        id: "grpc.cut",
        rule: "A message may be cut into DATA frames anywhere.",
        hint: "collect a message by its own length, not by frames",
        run: cut,
        ..BASE
    },
    Probe {
        id: "grpc.stream",
        profiles: STREAMED,
        rule: "StreamSum answers exactly count messages, the i-th with \
               a + b + i, for counts of none, one and thousands.",
        hint: "send each message of its own, and end the stream with status \
               0; a count of 0 or less is an empty stream",
        run: stream,
        ..BASE
    },
    Probe {
        id: "grpc.slow-reader",
        profiles: STREAMED,
        rule: "A stream to a client that reads slowly is delivered whole.",
        hint: "let the library's flow control stop the stream; drop nothing",
        run: slow_reader,
        ..BASE
    },
    Probe {
        id: "grpc.cancel",
        profiles: STREAMED,
        stage: Stage::Rough,
        rule: "A call that the client cancels harms no other call.",
        legal: "right answers to the other calls, on the same connection or, \
                after GOAWAY, on a new one",
        hint: "end the one call when its stream is reset",
        run: cancel,
        ..BASE
    },
];

fn sum(s: &mut Session<'_>) -> Outcome {
    let small = s.rng.between(1, 9999) as i32;
    let wide = s.rng.between(1 << 20, 1 << 30) as i32;
    let pairs = [
        (small, small + 1),
        (0, 0),
        (-small, small),
        (-wide, -small),
        (i32::MAX, small),
        (i32::MIN, -small),
        (wide, 0),
    ];
    let mut link = s.link()?;
    for (a, b) in pairs {
        s.ask_on(&mut link, &Ask::GrpcSum { a, b })?;
    }
    Ok(())
}

/// Calls GetSum with a message of one's own.
fn call(s: &mut Session<'_>, ask: &Ask, message: &[u8]) -> Outcome {
    let request = Request::of(ask, &s.host, &framed(message));
    let response = s.exchange(&request)?;
    s.judge(ask, &request, &response)
}

fn any_fields(s: &mut Session<'_>) -> Outcome {
    let a = s.rng.between(-9999, 9999) as i32;
    let b = s.rng.between(1, 9999) as i32;
    let mut only = Vec::new();
    field(2, b, &mut only);
    call(s, &Ask::GrpcSum { a: 0, b }, &only)?;
    call(s, &Ask::GrpcSum { a: 0, b: 0 }, &[])?;
    let mut turned = Vec::new();
    field(2, b, &mut turned);
    field(1, a, &mut turned);
    call(s, &Ask::GrpcSum { a, b }, &turned)?;
    let mut more = Vec::new();
    field(1, 77, &mut more);
    // Field 15, four bytes long, and then the ones that count.
    more.extend_from_slice(&[15 << 3 | 2, 4, 1, 2, 3, 4]);
    field(2, b, &mut more);
    field(1, a, &mut more);
    call(s, &Ask::GrpcSum { a, b }, &more)
}

fn cut(s: &mut Session<'_>) -> Outcome {
    for piece in [6, 1] {
        let a = s.rng.between(1000, 99_999) as i32;
        let ask = Ask::GrpcSum { a, b: -3 };
        let request = s.request(&ask);
        let mut conn = s.open2()?;
        let id = conn.stream_for(false);
        let block = fields::block(&conn.fields(&request));
        let mut frames = blocks(id, 0, &block, 1 << 14);
        for part in request.body().chunks(piece) {
            frames.push(Frame::new(kind::DATA, 0, id, part));
        }
        frames.push(Frame::new(kind::DATA, flag::END_STREAM, id, []));
        conn.send(&frames, s.deadline());
        finish(s, &mut conn, id, &(ask, request))?;
    }
    Ok(())
}

fn ask(s: &mut Session<'_>, count: u32) -> Ask {
    let (a, b) = (s.rng.between(-9999, 9999), s.rng.between(1, 9999));
    Ask::GrpcStream { a: a as i32, b: b as i32, count }
}

fn stream(s: &mut Session<'_>) -> Outcome {
    let some = s.rng.between(2, 400) as u32;
    let many = s.rng.between(4900, 5100) as u32;
    // Below zero, as an int32.
    let negative = -(s.rng.between(1, 9999) as i32) as u32;
    let mut link = s.link()?;
    for count in [10, 1, 0, some, negative, many] {
        let ask = ask(s, count);
        s.ask_on(&mut link, &ask)?;
    }
    Ok(())
}

fn slow_reader(s: &mut Session<'_>) -> Outcome {
    let count = s.rng.between(2000, 3000) as u32;
    let ask = ask(s, count);
    let settings =
        Settings { window: 1000, credits: false, ..Settings::default() };
    let mut conn = s.open2_with(settings)?;
    let request = s.request(&ask);
    s.asked.get_or_insert_with(|| request.shown());
    let faulty = |fault: Fault| s.faulty(&request, &fault);
    let by = s.deadline();
    let id = conn.start(&request, by).map_err(faulty)?;
    let mut allowed = 1000;
    while !conn.is_over(id) {
        if conn.got(id) < allowed {
            conn.pump(by).map_err(faulty)?;
            continue;
        }
        conn.credit(id, 1500, by);
        allowed += 1500;
    }
    let response = conn.receive(id, by).map_err(faulty)?;
    s.judge(&ask, &request, &response)
}

fn cancel(s: &mut Session<'_>) -> Outcome {
    let long = ask(s, 1_000_000);
    let settings =
        Settings { window: 4000, credits: false, ..Settings::default() };
    let mut conn = s.open2_with(settings)?;
    let request = s.request(&long);
    s.asked.get_or_insert_with(|| request.shown());
    let by = s.deadline();
    let faulty = |fault: Fault| s.faulty(&request, &fault);
    let id = conn.start(&request, by).map_err(faulty)?;
    while conn.got(id) == 0 && !conn.is_over(id) {
        conn.pump(by).map_err(faulty)?;
    }
    conn.cancel(id, CANCEL, by);
    let next = ask(s, 20);
    let request = s.request(&next);
    let id = conn.start(&request, by);
    let id = id.map_err(|fault| s.faulty(&request, &fault))?;
    match conn.receive(id, by) {
        Ok(response) => s.judge(&next, &request, &response)?,
        // It may leave, if it says so.
        Err(Fault::Goaway(_)) => {}
        Err(fault) => return Err(s.faulty(&request, &fault)),
    }
    let last = ask(s, 3);
    s.ask(&last)
}
