//! Cheats over gRPC, with TLS and in cleartext.

use profiles::verdict::Verdict;

use crate::gallery::options;
use crate::row::{Row, Running, judged};
use crate::support::http2::{GrpcCheat as G, Http2Cheat, Http2Twin};

const CALLS: [&str; 4] =
    ["unary-grpc", "unary-grpc-tls", "stream-grpc", "stream-grpc-tls"];

/// Probes that see whatever is wrong with every call of GetSum.
const SUMS: &[&str] = &[
    "grpc.sum",
    "grpc.fields",
    "grpc.cut",
    "conn.keep",
    "alive.after",
    "h2.settings",
    "h2.streams",
    "h2.reset",
    "h2.stream-window",
    "h2.continuation",
    "h2.padding",
    "h2.unknown",
    "h2.table",
    "h2.cut",
];
/// The same for streams.
const STREAMS: &[&str] = &["grpc.stream", "grpc.slow-reader", "grpc.cancel"];
const NONE: &[&str] = &[];

type Line = (G, &'static [&'static str], &'static [&'static [&'static str]]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (G::Constant, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::Unsigned, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::Saturates, &["grpc.sum"], &[NONE]),
    (G::FirstFieldOnly, &["grpc.fields"], &[&["grpc.sum"]]),
    (G::FieldsInOrder, &["grpc.fields"], &[NONE]),
    (G::UnknownFieldRefused, &["grpc.fields"], &[NONE]),
    (G::FirstFrameOnly, &["grpc.cut"], &[NONE]),
    (G::PrefixWhole, &["grpc.cut"], &[NONE]),
    (G::StatusInHead, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::NoTrailers, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::NoStatus, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::StatusLost, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::PlainText, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::TwoMessages, &["grpc.sum"], &[SUMS]),
    (G::MarkedCompressed, &["grpc.sum"], &[SUMS, STREAMS]),
    (G::OneMessageOfStream, &["grpc.stream"], &[SUMS, STREAMS]),
    (G::SameMessage, &["grpc.stream"], &[SUMS, STREAMS]),
    (G::AtLeastOne, &["grpc.stream"], &[NONE]),
    (G::NegativeFails, &["grpc.stream"], &[NONE]),
    (G::FiveThousand, &["grpc.stream"], &[SUMS, STREAMS]),
    (G::Joined, &["grpc.stream"], &[SUMS, STREAMS]),
    (G::SlowLoses, &["grpc.slow-reader"], &[&["h2.stream-window", "grpc.stream", "conn.keep", "alive.after", "h2.reset"], STREAMS]),
    (G::CancelKills, &["grpc.cancel"], &[SUMS, STREAMS, &["grpc.unknown", "grpc.content-type", "grpc.broken-message", "grpc.compressed", "h2.malformed", "tls.close", "tls.garbage"]]),
    (G::CancelPoisons, &["grpc.cancel"], &[SUMS, STREAMS, &["grpc.unknown", "grpc.content-type", "grpc.broken-message", "grpc.compressed", "h2.malformed", "tls.close", "tls.garbage"]]),
    (G::UnknownMethodTaken, &["grpc.unknown"], &[NONE]),
    (G::UnknownServiceTaken, &["grpc.unknown"], &[NONE]),
    (G::AnyContentType, &["grpc.content-type"], &[NONE]),
    (G::TextTaken, &["grpc.content-type"], &[NONE]),
    (G::BrokenTaken, &["grpc.broken-message"], &[NONE]),
    (G::ShortTaken, &["grpc.broken-message"], &[NONE]),
    (G::CompressedTaken, &["grpc.compressed"], &[NONE]),
    (G::CodingTaken, &["grpc.compressed"], &[NONE]),
];

fn start(calls: G) -> Box<dyn Running> {
    Box::new(Http2Twin::calls(Http2Cheat::Honest, calls))
}

pub fn rows() -> Vec<Row> {
    let row = |&(calls, named, others): &Line| Row {
        name: format!("Grpc{calls:?}"),
        profiles: &CALLS,
        start: Box::new(move || start(calls)),
        honest: || start(G::Honest),
        named: named.to_vec(),
        others: others.concat(),
    };
    GALLERY.iter().map(row).collect()
}

#[test]
fn honest_servers_of_different_habits_pass_under_fifty_seeds() {
    let frames = [Http2Cheat::Honest, Http2Cheat::Unusual, Http2Cheat::Curt];
    let twins: Vec<Http2Twin> = frames
        .into_iter()
        .zip([G::Honest, G::Unusual, G::Honest])
        .map(|(frames, calls)| Http2Twin::calls(frames, calls))
        .collect();
    crate::gallery::seeds(50, |seed| {
        let twin = &twins[seed as usize % twins.len()];
        let verdicts = judged(twin, &CALLS, &options(seed));
        let odd = verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
        odd.map(|p| format!("seed {seed}: {p:#?}"))
    });
}
