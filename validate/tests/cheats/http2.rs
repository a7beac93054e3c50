//! Cheats over HTTP/2, with TLS and in cleartext.

use profiles::verdict::Verdict;
use validate::Target;

use crate::gallery::options;
use crate::row::{Row, Running, judged};
use crate::support::cheat::Cheat;
use crate::support::http2::{Http2Cheat as H, Http2Twin};

impl Running for Http2Twin {
    fn target(&self) -> Target {
        Http2Twin::target(self)
    }
}

pub const FOUR: [&str; 4] =
    ["baseline-h2", "static-h2", "baseline-h2c", "json-h2c"];

/// Probes that see whatever is wrong with every answer.
const ALL: &[&str] = &[
    "h2.settings",
    "h2.ping",
    "h2.malformed",
    "h2.streams",
    "h2.reset",
    "h2.stream-window",
    "h2.connection-window",
    "h2.continuation",
    "h2.padding",
    "h2.unknown",
    "h2.table",
    "h2.cut",
    "sum.get",
    "sum.wide",
    "sum.params",
    "json.document",
    "json.multiplier",
    "json.default",
    "json.range",
    "json.non-numeric",
    "static.identity",
    "static.encoded",
    "static.codings",
    "static.missing",
    "static.head",
    "static.traversal",
    "static.vary",
    "conn.keep",
    "alive.after",
    "tls.close",
    "tls.garbage",
    "tls.records",
    "tls.clients",
    "tls.alpn-h2",
];
const NONE: &[&str] = &[];
/// Probes of TLS that ask a PING of HTTP/2.
const TLS: &[&str] =
    &["tls.close", "tls.garbage", "tls.records", "tls.clients", "tls.alpn-h2"];

type Line = (H, &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (H::NoAlpn, &["tls.alpn-h2"], ALL),
    (H::SpeaksHttp1, &["h2.no-http1"], NONE),
    (H::NoSettingsFirst, &["h2.settings"], ALL),
    (H::NeverAcknowledges, &["h2.settings"], NONE),
    (H::NoPong, &["h2.ping"], TLS),
    (H::PongOtherwise, &["h2.ping"], TLS),
    (H::MixesStreams, &["h2.streams"], &["h2.reset", "h2.connection-window"]),
    (H::OneStreamAtATime, &["h2.streams"], &["h2.reset", "h2.connection-window"]),
    (H::DiesOnReset, &["h2.reset"], NONE),
    (H::LeavesForGood, &["h2.reset"], ALL),
    (H::IgnoresStreamWindow, &["h2.stream-window"], NONE),
    (H::IgnoresConnectionWindow, &["h2.connection-window"], NONE),
    (H::StopsAtWindow, &["h2.stream-window"], &["h2.connection-window", "static.identity", "static.encoded", "static.codings", "h2.streams", "conn.keep", "alive.after", "h2.reset"]),
    (H::StopsAfterPart, &["h2.stream-window"], &["h2.connection-window", "static.identity", "static.encoded", "static.codings", "h2.streams", "conn.keep", "alive.after", "h2.reset"]),
    (H::NoContinuation, &["h2.continuation"], NONE),
    (H::FirstContinuationOnly, &["h2.continuation"], NONE),
    (H::PaddingIsBody, &["h2.padding"], NONE),
    (H::PriorityIsBody, &["h2.padding"], NONE),
    (H::UnknownFrameKills, &["h2.unknown"], NONE),
    (H::UnknownSettingKills, &["h2.unknown"], NONE),
    (H::ForgetsTable, &["h2.table"], NONE),
    (H::IgnoresTableSize, &["h2.table"], NONE),
    (H::WholeReadsOnly, &["h2.cut"], ALL),
    (H::WholeGreetingOnly, &["h2.cut"], TLS),
    (H::LengthLies, &["conn.keep"], ALL),
    (H::DataAfterEnd, &["h2.streams"], ALL),
    (H::UpperCaseFields, &["conn.keep"], ALL),
    (H::ConnectionField, &["conn.keep"], ALL),
    (H::MalformedTaken, &["h2.malformed"], NONE),
    (H::LengthTaken, &["h2.malformed"], NONE),
];

/// Answers that are wrong over this transport, too.
#[rustfmt::skip]
const ANSWERS: &[(Cheat, &str)] = &[
    (Cheat::Constant, "sum.get"),
    (Cheat::SixteenBit, "sum.wide"),
    (Cheat::TotalNotMultiplied, "json.multiplier"),
    (Cheat::OneItem, "json.document"),
    (Cheat::OneByte, "static.identity"),
    (Cheat::ZerosInBrotli, "static.encoded"),
    (Cheat::EmptyForMissing, "static.missing"),
];

fn start(frames: H, answers: Cheat) -> Box<dyn Running> {
    Box::new(Http2Twin::start(frames, answers))
}

pub fn rows() -> Vec<Row> {
    let row = |name: String,
               frames: H,
               answers: Cheat,
               named: &[&'static str],
               others: &[&'static str]| Row {
        name: format!("Http2{name}"),
        profiles: &FOUR,
        start: Box::new(move || start(frames, answers)),
        honest: || start(H::Honest, Cheat::Honest),
        named: named.to_vec(),
        others: others.to_vec(),
    };
    let frames = GALLERY.iter().map(|&(frames, named, others)| {
        row(format!("{frames:?}"), frames, Cheat::Honest, named, others)
    });
    let answers = ANSWERS.iter().map(|&(answers, named)| {
        row(format!("{answers:?}"), H::Honest, answers, &[named], ALL)
    });
    frames.chain(answers).collect()
}

#[test]
fn honest_servers_of_different_habits_pass_under_fifty_seeds() {
    let twins = [H::Honest, H::Unusual, H::Curt];
    let twins = twins.map(|frames| start(frames, Cheat::Honest));
    crate::gallery::seeds(50, |seed| {
        let twin = &twins[seed as usize % twins.len()];
        let verdicts = judged(&**twin, &FOUR, &options(seed));
        let odd = verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
        odd.map(|p| format!("seed {seed}: {p:#?}"))
    });
}

#[test]
fn what_never_ends_is_cut_off_and_wrong() {
    for frames in
        [H::SettingsFlood, H::EndlessHead, H::HugeFrame, H::EndlessBody]
    {
        let twin = start(frames, Cheat::Honest);
        let verdicts = judged(&*twin, &["baseline-h2c"], &options(3));
        let found = verdicts.probes.iter().find(|p| p.id == "sum.get").unwrap();
        assert_eq!(found.verdict, Verdict::Fail, "{frames:?}: {}", found.got);
    }
}
