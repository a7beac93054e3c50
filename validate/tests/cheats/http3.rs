//! Cheats over HTTP/3.

use profiles::verdict::Verdict;
use validate::Target;

use crate::gallery::options;
use crate::row::{Row, Running, judged};
use crate::support::cheat::Cheat;
use crate::support::http3::{Http3Cheat as H, Http3Twin};

const BOTH: [&str; 2] = ["baseline-h3", "static-h3"];

/// Probes that see whatever is wrong with every answer.
const ALL: &[&str] = &[
    "h3.streams",
    "h3.window",
    "h3.cut",
    "h3.unknown",
    "h3.reset",
    "h3.malformed",
    "sum.get",
    "sum.wide",
    "sum.params",
    "static.identity",
    "static.encoded",
    "static.codings",
    "static.missing",
    "static.head",
    "static.traversal",
    "static.vary",
    "conn.keep",
    "alive.after",
];
const NONE: &[&str] = &[];

type Line = (H, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (H::AnyAlpn, "h3.alpn", NONE),
    (H::MixesStreams, "h3.streams", ALL),
    (H::OneStreamOnly, "h3.streams", ALL),
    (H::StopsAtWindow, "h3.window", ALL),
    (H::WholeReadsOnly, "h3.cut", ALL),
    (H::UnknownFrameKills, "h3.unknown", NONE),
    (H::LateFrameKills, "h3.unknown", NONE),
    (H::UnknownStreamKills, "h3.unknown", NONE),
    (H::DiesOnReset, "h3.reset", NONE),
    (H::LeavesForGood, "h3.reset", ALL),
    (H::MalformedTaken, "h3.malformed", NONE),
    (H::LengthTaken, "h3.malformed", NONE),
    (H::LengthLies, "conn.keep", ALL),
    (H::UpperCaseFields, "conn.keep", ALL),
    (H::ConnectionField, "conn.keep", ALL),
];

/// Answers that are wrong over this transport, too.
#[rustfmt::skip]
const ANSWERS: &[(Cheat, &str)] = &[
    (Cheat::Constant, "sum.get"),
    (Cheat::ThirtyTwoBit, "sum.wide"),
    (Cheat::ByPosition, "sum.params"),
    (Cheat::OneByte, "static.identity"),
    (Cheat::ZerosInBrotli, "static.encoded"),
    (Cheat::FileGzipForQ0, "static.codings"),
    (Cheat::Leak, "static.traversal"),
];

impl Running for Http3Twin {
    fn target(&self) -> Target {
        Target::default().with(8443, self.address)
    }
}

fn start(frames: H, answers: Cheat) -> Box<dyn Running> {
    Box::new(Http3Twin::start(frames, answers))
}

pub fn rows() -> Vec<Row> {
    let row = |name: String,
               frames: H,
               answers: Cheat,
               named: &'static str,
               others: &[&'static str]| Row {
        name: format!("Http3{name}"),
        profiles: &BOTH,
        start: Box::new(move || start(frames, answers)),
        honest: || start(H::Honest, Cheat::Honest),
        named: vec![named],
        others: others.to_vec(),
    };
    let frames = GALLERY.iter().map(|&(frames, named, others)| {
        row(format!("{frames:?}"), frames, Cheat::Honest, named, others)
    });
    let answers = ANSWERS.iter().map(|&(answers, named)| {
        row(format!("{answers:?}"), H::Honest, answers, named, ALL)
    });
    frames.chain(answers).collect()
}

#[test]
fn honest_servers_of_different_habits_pass_under_fifty_seeds() {
    let twins = [H::Honest, H::Unusual, H::Curt];
    let twins = twins.map(|frames| start(frames, Cheat::Honest));
    crate::gallery::seeds(50, |seed| {
        let twin = &twins[seed as usize % twins.len()];
        let verdicts = judged(&**twin, &BOTH, &options(seed));
        let odd = verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
        odd.map(|p| format!("seed {seed}: {p:#?}"))
    });
}

#[test]
fn what_never_ends_is_cut_off_and_wrong() {
    for frames in [H::EndlessHead, H::EndlessBody] {
        let twin = start(frames, Cheat::Honest);
        let verdicts = judged(&*twin, &["baseline-h3"], &options(3));
        let found = verdicts.probes.iter().find(|p| p.id == "sum.get").unwrap();
        assert_eq!(found.verdict, Verdict::Fail, "{frames:?}: {}", found.got);
    }
}
