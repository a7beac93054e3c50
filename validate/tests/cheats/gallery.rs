//! The gallery: which probe is there for which cheat, and which other probes
//! may see it as well, because they cannot ask their own question without.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use profiles::verdict::{Verdict, Verdicts};
use validate::{Options, rules};

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
type Row = (Cheat, &'static str, &'static [&'static [&'static str]]);

#[rustfmt::skip]
const GALLERY: &[Row] = &[
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
    (Cheat::NamesByCase, "http.names", &[NONE]),
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
    (Cheat::ResetWounds, "conn.reset", &[&["alive.after", "upload.abort"]]),
    (Cheat::AbortWounds, "upload.abort", &[&["alive.after", "conn.reset"]]),
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
    (Cheat::Leak, "static.traversal", &[NONE]),
];

/// Probes whose cheat needs more than the gallery's one run; each has a test
/// of its own below.
const ELSEWHERE: &[&str] = &["alive.after"];

/// Longer than for entries: several twins share a busy machine, and none of
/// the gallery is silent.
const PATIENCE: Duration = Duration::from_secs(10);

fn options(seed: u64) -> Options<'static> {
    Options { timeout: PATIENCE, ..Options::new(seed) }
}

/// The ids of the probes that did not simply pass.
fn caught_by(verdicts: &Verdicts) -> BTreeSet<&str> {
    let missed = |v: Verdict| v.blocks() || v == Verdict::Warn;
    let probes = verdicts.probes.iter();
    probes.filter(|p| missed(p.verdict)).map(|p| &p.id[..]).collect()
}

/// What is wrong with one row, if anything.
fn check(&(cheat, named, others): &Row, seed: u64) -> Option<String> {
    let twin = Twin::start(cheat);
    let verdicts = twin.judged(&SEVEN, &options(seed));
    let caught = caught_by(&verdicts);
    let may: BTreeSet<&str> =
        others.iter().flat_map(|o| o.iter().copied()).chain([named]).collect();
    let strangers: Vec<String> = verdicts
        .probes
        .iter()
        .filter(|p| caught.contains(&p.id[..]) && !may.contains(&p.id[..]))
        .map(|p| format!("{} ({:?}, {})", p.id, p.verdict, p.got))
        .collect();
    if !caught.contains(named) {
        return Some(format!(
            "{cheat:?}: {named} did not catch it: {caught:?}"
        ));
    }
    (!strangers.is_empty())
        .then(|| format!("{cheat:?}: unrelated probes: {strangers:?}"))
}

#[test]
fn every_cheat_is_caught_by_its_probe_and_by_no_unrelated_one() {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = GALLERY.get(i) else { break };
                    if let Some(why) = check(row, 100 + i as u64) {
                        wrong.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_probe_catches_at_least_one_cheat() {
    let named: BTreeSet<&str> = GALLERY
        .iter()
        .map(|(_, named, _)| *named)
        .chain(ELSEWHERE.iter().copied())
        .collect();
    // A probe that only ever comes second still has to be caught in the act.
    let seconds = [
        (Cheat::OneRead, "sum.drip"),
        (Cheat::OneRead, "pipeline.split"),
        (Cheat::OneRead, "json.split"),
        (Cheat::OneRead, "upload.split"),
        (Cheat::OneRead, "static.split"),
        (Cheat::LowerHexOnly, "upload.chunk-forms"),
        (Cheat::NoVary, "static.vary"),
    ];
    let mut caught: BTreeSet<String> =
        named.iter().map(|id| id.to_string()).collect();
    for cheat in [Cheat::OneRead, Cheat::LowerHexOnly, Cheat::NoVary] {
        let verdicts = Twin::start(cheat).judged(&SEVEN, &options(7));
        let by = caught_by(&verdicts);
        for (_, id) in seconds.iter().filter(|(c, _)| *c == cheat) {
            let found = verdicts.probes.iter().find(|p| p.id == *id);
            assert!(by.contains(id), "{cheat:?}, {id}: {found:?}");
            caught.insert(id.to_string());
        }
    }
    let all: BTreeSet<String> =
        rules().iter().map(|r| r.id.to_string()).collect();
    let dead: Vec<&String> = all.difference(&caught).collect();
    assert!(dead.is_empty(), "nothing can make these fail: {dead:?}");
    let unknown: Vec<&String> = caught.difference(&all).collect();
    assert!(unknown.is_empty(), "no such probes: {unknown:?}");
}
