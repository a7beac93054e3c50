//! Cheats over cleartext HTTP/1.1.

use validate::Target;

use crate::row::{Row, Running};
use crate::support::cheat::Cheat;
use crate::support::{SEVEN, Twin};

/// Probes that cannot pass while GET /baseline11 is answered wrongly.
const SUM_GET: &[&str] = &[
    "sum.wide",
    "sum.params",
    "sum.percent",
    "sum.missing",
    "sum.head",
    "sum.split",
    "sum.drip",
    "http.absolute",
    "http.version10",
    "http.long-header",
    "http.many-headers",
    "http.long-line",
    "http.colon",
    "conn.close",
    "conn.reset",
    "conn.keep",
    "pipeline.order",
    "pipeline.split",
    "alive.after",
];
/// The same for a POST with a Content-Length.
const SUM_POST: &[&str] = &[
    "sum.wide",
    "sum.cache",
    "sum.space",
    "sum.split",
    "sum.drip",
    "http.absolute",
    "http.expect",
    "http.names",
    "conn.close",
    "conn.reset",
    "conn.keep",
    "pipeline.order",
    "pipeline.split",
    "alive.after",
];
/// The same for a chunked POST.
const SUM_CHUNKED: &[&str] = &[
    "sum.chunk-forms",
    "sum.trailers",
    "sum.cache",
    "sum.split",
    "sum.drip",
    "http.names",
    "conn.reset",
    "conn.keep",
    "pipeline.order",
    "pipeline.split",
    "alive.after",
];
/// Asked after a connection was reset or an upload broken off.
const WOUNDED: &[&str] = &[
    "alive.after",
    "http.many-headers",
    "http.long-line",
    "http.colon",
    "http.expect",
];
const PIPELINE: &[&str] =
    &["pipeline.order", "pipeline.split", "conn.keep", "alive.after"];
const SPLITS: &[&str] = &[
    "sum.drip",
    "pipeline.split",
    "json.split",
    "upload.split",
    "static.split",
];
const JSON: &[&str] = &[
    "json.multiplier",
    "json.default",
    "json.range",
    "json.split",
    "comp.encoded",
    "comp.none",
    "comp.single",
    "comp.refused",
    "comp.forms",
    "conn.keep",
    "alive.after",
];
const COMP: &[&str] = &[
    "comp.single",
    "comp.refused",
    "comp.forms",
    "json.split",
    "conn.keep",
    "alive.after",
];
const UPLOAD: &[&str] = &[
    "upload.large",
    "upload.chunked",
    "upload.chunk-forms",
    "upload.early",
    "upload.cut",
    "upload.abort",
    "upload.split",
    "conn.keep",
    "alive.after",
];
const FILES: &[&str] = &[
    "static.encoded",
    "static.codings",
    "static.head",
    "static.split",
    "conn.keep",
    "alive.after",
];
const NONE: &[&str] = &[];

/// A cheat, the probe that is there to catch it, and probes that may too.
type Line = (Cheat, &'static str, &'static [&'static [&'static str]]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (Cheat::Constant, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked"]]),
    (Cheat::Status500, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked"]]),
    (Cheat::JunkBefore, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked"]]),
    (Cheat::HtmlType, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked"]]),
    (Cheat::LengthBodyIgnored, "sum.post", &[SUM_POST]),
    (Cheat::ChunkedBodyIgnored, "sum.chunked", &[SUM_CHUNKED]),
    (Cheat::SixteenBit, "sum.wide", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.get", "sum.post", "sum.chunked"]]),
    (Cheat::ThirtyTwoBit, "sum.wide", &[&["sum.chunk-forms"]]),
    (Cheat::ByPosition, "sum.params", &[&["sum.missing"]]),
    (Cheat::CacheByUrl, "sum.cache", &[NONE]),
    (Cheat::NoTrim, "sum.space", &[NONE]),
    (Cheat::MixedMissing, "sum.missing", &[NONE]),
    (Cheat::AnyMethod, "sum.method", &[NONE]),
    (Cheat::HeadWithBody, "sum.head", &[&["static.head"]]),
    (Cheat::NoPercent, "sum.percent", &[NONE]),
    (Cheat::OneRead, "sum.split", &[SPLITS]),
    (Cheat::BlankLineCut, "sum.split", &[SPLITS]),
    (Cheat::ChunkLineCut, "sum.split", &[&["sum.drip", "pipeline.split"]]),
    (Cheat::LowerHexOnly, "sum.chunk-forms", &[&["upload.chunk-forms"]]),
    (Cheat::NoExtensions, "sum.chunk-forms", &[&["upload.chunk-forms", "upload.split"]]),
    (Cheat::NoTrailers, "sum.trailers", &[NONE]),
    (Cheat::NoAbsolute, "http.absolute", &[NONE]),
    (Cheat::NamesByCase, "http.names", &[&["http.host"]]),
    (Cheat::LongHeader500, "http.long-header", &[NONE]),
    (Cheat::PrefixRoutes, "http.not-found", &[NONE]),
    (Cheat::LastLength, "http.lengths", &[NONE]),
    (Cheat::LengthWraps, "http.lengths", &[NONE]),
    (Cheat::LengthOverChunked, "http.smuggle", &[NONE]),
    (Cheat::BadChunksTaken, "http.bad-chunk", &[NONE]),
    (Cheat::BadLinesTaken, "http.bad-line", &[NONE]),
    (Cheat::Chunked10, "http.version10", &[NONE]),
    (Cheat::LengthAndChunked, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked", "sum.method"]]),
    (Cheat::TwoLengths, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked", "sum.method"]]),
    (Cheat::Twice, "conn.keep", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.get", "sum.post", "sum.chunked", "sum.method"]]),
    (Cheat::Endless, "pipeline.ok", &[PIPELINE]),
    (Cheat::EndlessHead, "pipeline.ok", &[PIPELINE]),
    (Cheat::ClosesAfterTen, "conn.keep", &[&["pipeline.order", "static.identity", "static.encoded", "static.codings"]]),
    (Cheat::NeverCloses, "conn.close", &[&["http.version10"]]),
    (Cheat::ResetWounds, "conn.reset", &[WOUNDED, &["upload.abort"]]),
    (Cheat::AbortWounds, "upload.abort", &[WOUNDED, &["conn.reset"]]),
    (Cheat::PipelineNewline, "pipeline.ok", &[PIPELINE]),
    (Cheat::FixedBatch, "pipeline.order", &[&["pipeline.split"]]),
    (Cheat::ReversedBatch, "pipeline.order", &[&["pipeline.split"]]),
    (Cheat::DefaultDocument, "json.document", &[JSON]),
    (Cheat::OneItem, "json.document", &[JSON]),
    (Cheat::TotalNotMultiplied, "json.multiplier", &[JSON, &["json.document"]]),
    (Cheat::Total32Bit, "json.multiplier", &[NONE]),
    (Cheat::DefaultIsZero, "json.default", &[&["json.split"]]),
    (Cheat::NoNumberIsOne, "json.non-numeric", &[NONE]),
    (Cheat::OverRange500, "json.range", &[NONE]),
    (Cheat::JsonAsText, "json.document", &[JSON]),
    (Cheat::NeverCompressed, "comp.encoded", &[&["conn.keep", "alive.after"]]),
    (Cheat::GzipTwice, "comp.encoded", &[COMP]),
    (Cheat::GzipUnasked, "comp.none", &[JSON, &["json.document"]]),
    (Cheat::GzipAfterGzip, "comp.none", &[NONE]),
    (Cheat::GzipForBr, "comp.single", &[NONE]),
    (Cheat::GzipForQ0, "comp.refused", &[NONE]),
    (Cheat::GzipBySubstring, "comp.forms", &[NONE]),
    (Cheat::NoVary, "comp.vary", &[&["static.vary"]]),
    (Cheat::EchoAtOnce, "upload.early", &[UPLOAD]),
    (Cheat::EchoWhenRead, "upload.cut", &[NONE]),
    (Cheat::EmptyRefused, "upload.length", &[NONE]),
    (Cheat::SmallLimit, "upload.large", &[&["conn.keep", "alive.after"]]),
    (Cheat::FramingCounted, "upload.chunked", &[&["upload.chunk-forms", "upload.split", "upload.early"]]),
    (Cheat::CutAnswered, "upload.cut", &[NONE]),
    (Cheat::OneByte, "static.identity", &[FILES, &["static.vary"]]),
    (Cheat::ZerosInBrotli, "static.encoded", &[FILES]),
    (Cheat::FileGzipTwice, "static.codings", &[NONE]),
    (Cheat::FileGzipUnasked, "static.identity", &[FILES]),
    (Cheat::FileGzipForQ0, "static.codings", &[NONE]),
    (Cheat::FileHeadEmpty, "static.head", &[NONE]),
    (Cheat::FileAsText, "static.identity", &[FILES]),
    (Cheat::EmptyForMissing, "static.missing", &[NONE]),
    (Cheat::CodingBySubstring, "http.codings", &[NONE]),
    (Cheat::CodingByPrefix, "http.codings", &[NONE]),
    (Cheat::SpaceColonTaken, "http.colon", &[NONE]),
    (Cheat::FoldIs500, "http.colon", &[NONE]),
    (Cheat::HostlessTaken, "http.host", &[NONE]),
    (Cheat::TwoHostsTaken, "http.host", &[NONE]),
    (Cheat::ManyFields500, "http.many-headers", &[NONE]),
    (Cheat::LongLine500, "http.long-line", &[NONE]),
    (Cheat::ExpectIs500, "http.expect", &[NONE]),
    (Cheat::DeleteTaken, "sum.method", &[NONE]),
    (Cheat::NegativesRefused, "sum.get", &[SUM_GET, SUM_POST, SUM_CHUNKED, &["sum.post", "sum.chunked"]]),
    (Cheat::TrimsEndOnly, "sum.space", &[NONE]),
    (Cheat::NoAbsolutePost, "http.absolute", &[NONE]),
    (Cheat::ChunkedExact, "http.names", &[NONE]),
    (Cheat::ChunkEndsTaken, "http.bad-chunk", &[NONE]),
    (Cheat::LastFramingCounts, "http.smuggle", &[NONE]),
    (Cheat::PostStaysOpen, "conn.close", &[NONE]),
    (Cheat::DigitsWithin, "json.non-numeric", &[NONE]),
    (Cheat::Negative500, "json.range", &[NONE]),
    (Cheat::BrForQ0, "comp.refused", &[NONE]),
    (Cheat::EverySecondPlain, "comp.encoded", &[&["conn.keep", "alive.after"]]),
    (Cheat::ChunkedEchoAtOnce, "upload.early", &[UPLOAD]),
    (Cheat::CutChunksAnswered, "upload.cut", &[NONE]),
    (Cheat::ChunkedCapped, "upload.chunked", &[NONE]),
    (Cheat::OneFileWrong, "static.identity", &[FILES, &["static.vary"]]),
    (Cheat::OneCodedWrong, "static.encoded", &[FILES, &["static.vary"]]),
    (Cheat::EmptyForMissingCss, "static.missing", &[NONE]),
    (Cheat::LeakEncoded, "static.traversal", &[NONE]),
    (Cheat::Leak, "static.traversal", &[NONE]),
];

/// Probes that only ever come second still have to be caught in the act.
#[rustfmt::skip]
const SECOND: &[(Cheat, &str)] = &[
    (Cheat::OneRead, "sum.drip"),
    (Cheat::OneRead, "pipeline.split"),
    (Cheat::OneRead, "json.split"),
    (Cheat::OneRead, "upload.split"),
    (Cheat::OneRead, "static.split"),
    (Cheat::LowerHexOnly, "upload.chunk-forms"),
    (Cheat::NoVary, "static.vary"),
    (Cheat::NegativesRefused, "sum.post"),
    (Cheat::NegativesRefused, "sum.chunked"),
    (Cheat::ChunkLineCut, "sum.drip"),
    (Cheat::NoExtensions, "upload.chunk-forms"),
    (Cheat::HeadWithBody, "static.head"),
];

impl Running for Twin {
    fn target(&self) -> Target {
        Target::local(self.address)
    }
}

fn start(cheat: Cheat) -> Box<dyn Running> {
    Box::new(Twin::start(cheat))
}

pub fn rows() -> Vec<Row> {
    let row = |&(cheat, named, others): &Line| Row {
        name: format!("{cheat:?}"),
        profiles: &SEVEN,
        start: Box::new(move || start(cheat)),
        honest: || start(Cheat::Honest),
        named: vec![named],
        others: others.concat(),
    };
    let mut rows: Vec<Row> = GALLERY.iter().map(row).collect();
    for &(cheat, id) in SECOND {
        let name = format!("{cheat:?}");
        let row = rows.iter_mut().find(|row| row.name == name);
        row.expect("a row of the gallery").named.push(id);
    }
    rows
}
