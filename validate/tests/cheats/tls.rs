//! Cheats below HTTP, in TLS.

use profiles::verdict::Verdict;
use time::macros::date;
use validate::{Options, Target};

use crate::row::{self, Row, Running};
use crate::support::cheat::Cheat;
use crate::tls_front::{Front, Habit};

const ONE: &[&str] = &["json-tls"];
const TWO: &[&str] = &["baseline-h2"];
const NONE: &[&str] = &[];
/// What asks over a usual session.
const ALL: &[&str] = &[
    "tls.certificate",
    "tls.clients",
    "tls.alpn",
    "tls.alpn-none",
    "tls.records",
    "tls.close",
    "tls.garbage",
    "json.document",
    "json.multiplier",
    "json.default",
    "json.non-numeric",
    "json.range",
    "json.split",
    "conn.keep",
    "alive.after",
];
/// Documents.
const JSON: &[&str] = &[
    "tls.clients",
    "tls.alpn",
    "tls.alpn-none",
    "tls.records",
    "tls.close",
    "tls.garbage",
    "json.multiplier",
    "json.default",
    "json.range",
    "json.split",
    "conn.keep",
    "alive.after",
];

/// A habit, the probe that is there to catch it, and probes that may too.
type Line = (Habit, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (Habit::OwnCertificate, "tls.certificate", NONE),
    (Habit::OwnFor12, "tls.certificate", NONE),
    (Habit::WrongKey, "tls.certificate", ALL),
    (Habit::Tls11, "tls.version", NONE),
    (Habit::Tls10, "tls.version", NONE),
    (Habit::WeakSuites, "tls.ciphers", NONE),
    (Habit::WeakSuite, "tls.ciphers", NONE),
    (Habit::H2First, "tls.alpn", NONE),
    (Habit::H2Last, "tls.alpn", NONE),
    (Habit::AlpnWanted, "tls.alpn-none", &["tls.certificate"]),
    (Habit::H2Alone, "tls.alpn-other", NONE),
    (Habit::EchoAlpn, "tls.alpn-other", NONE),
    (Habit::Mute12, "tls.clients", NONE),
    (Habit::PlainTaken, "tls.plain", NONE),
    (Habit::H2cTaken, "tls.plain", NONE),
    (Habit::ByteRecords, "tls.records", &["tls.close", "json.split"]),
    (Habit::RecordCut, "tls.records", NONE),
    (Habit::CloseWounds, "tls.close", &["tls.garbage", "alive.after"]),
    (Habit::GarbageWounds, "tls.garbage", &["tls.close", "alive.after"]),
];

/// The same on the port of HTTP/2.
#[rustfmt::skip]
const GALLERY2: &[Line] = &[
    (Habit::OwnCertificate, "tls.certificate", NONE),
    (Habit::OwnFor12, "tls.certificate", NONE),
    (Habit::Tls10, "tls.version", NONE),
    (Habit::WeakSuite, "tls.ciphers", NONE),
    (Habit::H1ForBoth, "tls.alpn-h2", NONE),
    (Habit::Both, "tls.alpn-h2", NONE),
    (Habit::Mute12, "tls.clients", NONE),
    (Habit::H2cTaken, "tls.plain", NONE),
    (Habit::ByteRecords, "tls.records", &["tls.close", "h2.cut"]),
    (Habit::RecordCut, "tls.records", NONE),
];

/// Cheats within HTTP that TLS must not hide.
#[rustfmt::skip]
const WITHIN: &[(Cheat, &str, &[&str])] = &[
    (Cheat::OneItem, "json.document", JSON),
    (Cheat::OneRead, "json.split", &["tls.records"]),
    (Cheat::ClosesAfterTen, "conn.keep", NONE),
];

impl Running for Front {
    fn target(&self) -> Target {
        Front::target(self)
    }
}

fn start(habit: Habit, cheat: Cheat) -> Box<dyn Running> {
    Box::new(Front::start(habit, cheat))
}

fn honest() -> Box<dyn Running> {
    start(Habit::Usual, Cheat::Honest)
}

pub fn rows() -> Vec<Row> {
    let row =
        |name: String, habit, cheat, named, others: &[&'static str]| Row {
            name,
            profiles: ONE,
            start: Box::new(move || start(habit, cheat)),
            honest,
            named: vec![named],
            others: others.to_vec(),
        };
    let below = GALLERY.iter().map(|&(habit, named, others)| {
        let name = format!("Tls{habit:?}");
        row(name, habit, Cheat::Honest, named, others)
    });
    let within = WITHIN.iter().map(|&(cheat, named, others)| {
        let name = format!("Tls{cheat:?}");
        row(name, Habit::Usual, cheat, named, others)
    });
    let second = GALLERY2.iter().map(|&(habit, named, others)| Row {
        name: format!("Tls2{habit:?}"),
        profiles: TWO,
        start: Box::new(move || Box::new(Front::http2(habit))),
        honest: || Box::new(Front::http2(Habit::Usual)),
        named: vec![named],
        others: others.to_vec(),
    });
    below.chain(within).chain(second).collect()
}

#[test]
fn lawful_tls_servers_pass_under_fifty_seeds() {
    let habits = [
        Habit::Usual,
        Habit::Only12,
        Habit::Only13,
        Habit::NoAlpn,
        Habit::NoTickets,
        Habit::Tickets,
    ];
    for seed in 1..=50 {
        let habit = habits[seed as usize % habits.len()];
        let cheat = match seed % 4 {
            0 => Cheat::Unusual,
            _ => Cheat::Honest,
        };
        let server = start(habit, cheat);
        let verdicts =
            row::judged(&*server, ONE, &crate::gallery::options(seed));
        for p in &verdicts.probes {
            assert_eq!(
                p.verdict,
                Verdict::Pass,
                "seed {seed}, {habit:?}: {} asked {}: expected {}, got {}",
                p.id,
                p.asked,
                p.expected,
                p.got
            );
        }
        assert!(verdicts.passes(&"json-tls".parse().unwrap()));
    }
}

#[test]
fn lawful_tls_servers_of_http2_pass_under_fifty_seeds() {
    let habits = [
        Habit::Usual,
        Habit::Only12,
        Habit::Only13,
        Habit::NoTickets,
        Habit::Tickets,
    ];
    for seed in 1..=50 {
        let habit = habits[seed as usize % habits.len()];
        let server = Front::http2(habit);
        let verdicts =
            row::judged(&server, TWO, &crate::gallery::options(seed));
        for p in &verdicts.probes {
            let found = (&p.id, &p.got);
            assert_eq!(p.verdict, Verdict::Pass, "{seed} {habit:?} {found:?}");
        }
    }
}

/// BC-17: a rule that is announced for a later day warns and drops nobody.
#[test]
fn a_tls_rule_that_is_not_in_force_only_warns() {
    let announced = [
        ("tls.certificate", date!(2027 - 01 - 31)),
        ("tls.version", date!(2027 - 01 - 31)),
    ];
    let judged = |habit, today| {
        let options = Options {
            today: Some(today),
            announced: &announced,
            ..crate::gallery::options(17)
        };
        row::judged(&*start(habit, Cheat::Honest), ONE, &options)
    };
    let name = "json-tls".parse().unwrap();
    for (habit, id) in [
        (Habit::OwnCertificate, "tls.certificate"),
        (Habit::Tls10, "tls.version"),
    ] {
        let before = judged(habit, date!(2027 - 01 - 30));
        let found = before.probes.iter().find(|p| p.id == id).unwrap();
        assert_eq!(found.verdict, Verdict::Warn, "{habit:?}: {found:?}");
        assert!(found.hint.contains("2027-01-31"), "{}", found.hint);
        assert!(before.passes(&name), "{habit:?}");
        let from = judged(habit, date!(2027 - 01 - 31));
        let found = from.probes.iter().find(|p| p.id == id).unwrap();
        assert_eq!(found.verdict, Verdict::Fail, "{habit:?}");
        assert!(!from.passes(&name), "{habit:?}");
    }
    let good = judged(Habit::Usual, date!(2027 - 01 - 30));
    assert!(good.probes.iter().all(|p| p.verdict == Verdict::Pass));
}
