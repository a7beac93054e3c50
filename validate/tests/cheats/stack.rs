//! Cheats in stacks, each named by its hop.

use std::sync::Arc;

use profiles::verdict::Verdict;
use validate::Target;

use crate::gallery::options;
use crate::row::{Row, Running, judged};
use crate::support::http2::Http2Twin;
use crate::support::postgres::postgres;
use crate::support::stack::{SECRET, Services, StackCheat as C};
use crate::support::without_folder;

const GATEWAY: &[&str] = &["gateway-64"];
const PRODUCTION: &[&str] = &["production-stack"];
const NONE: &[&str] = &[];
/// Probes that ask for the load's own requests.
const LOAD: &[&str] = &[
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
const ITEMS: &[&str] =
    &["stack.cache", "stack.expiry", "stack.auth", "stack.auth-count"];

type Line = (
    C,
    &'static [&'static str],
    &'static str,
    &'static [&'static [&'static str]],
);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (C::FilesByServer, GATEWAY, "stack.static-at-edge", &[NONE]),
    (C::EdgeCaches, GATEWAY, "stack.no-edge-cache", &[&["db.changed", "json.document"]]),
    (C::EdgeCachesItems, PRODUCTION, "stack.no-edge-cache", &[NONE]),
    (C::AuthCached, PRODUCTION, "stack.auth-count", &[NONE]),
    (C::WritesUnasked, PRODUCTION, "stack.auth-write", &[NONE]),
    (C::MeUnasked, PRODUCTION, "stack.auth", &[&["stack.identity", "stack.me"], LOAD]),
    (C::AnyBearer, PRODUCTION, "stack.auth", &[&["stack.auth-write", "stack.identity", "stack.me"], LOAD]),
    (C::ForgedTaken, PRODUCTION, "stack.identity", &[NONE]),
    (C::ForgedBeside, PRODUCTION, "stack.identity", &[NONE]),
    (C::PublicAsked, PRODUCTION, "stack.public", &[&["sum.params", "json.non-numeric", "json.range"]]),
    (C::StaticAsked, PRODUCTION, "stack.public", &[&["static.missing", "static.head"]]),
    (C::NoSignature, PRODUCTION, "stack.auth", &[&["stack.auth-write"]]),
    (C::NoExpiry, PRODUCTION, "stack.auth", &[&["stack.auth-write"]]),
    (C::NoneTaken, PRODUCTION, "stack.auth", &[&["stack.auth-write"]]),
    (C::AnyScheme, PRODUCTION, "stack.auth", &[&["stack.auth-write"]]),
    (C::LeaksItem, PRODUCTION, "stack.auth", &[&["stack.auth-write", "stack.identity"]]),
    (C::OneUser, PRODUCTION, "stack.me", &[&["stack.identity", "stack.auth"], LOAD]),
    (C::UserCached, PRODUCTION, "stack.me", &[&["stack.identity", "stack.auth", "stack.no-edge-cache"], LOAD]),
    (C::WriteKeeps, PRODUCTION, "stack.cache", &[NONE]),
    (C::WriteLost, PRODUCTION, "stack.cache", &[&["stack.unknown"]]),
    (C::AlwaysHit, PRODUCTION, "stack.cache", &[NONE]),
    (C::NeverCached, PRODUCTION, "stack.cache", &[NONE]),
    (C::CachedForEver, PRODUCTION, "stack.expiry", &[NONE]),
    (C::UseLengthens, PRODUCTION, "stack.expiry", &[NONE]),
    (C::UnknownIs200, PRODUCTION, "stack.unknown", &[NONE]),
    (C::UnknownWriteIs204, PRODUCTION, "stack.unknown", &[NONE]),
    (C::BadJsonIs204, PRODUCTION, "stack.unknown", &[NONE]),
];

struct Whole {
    edge: Http2Twin,
    services: Arc<Services>,
    counters: std::net::SocketAddr,
}

impl Running for Whole {
    fn target(&self) -> Target {
        self.edge
            .target()
            .with_database(self.services.owner())
            .with_auth(self.counters, SECRET)
            .with_stack(self.services.clone())
    }
}

fn start(cheat: C) -> Box<dyn Running> {
    let postgres = postgres().expect("rows only exist beside a database");
    let services = Arc::new(Services::new(cheat, postgres.own()));
    let counters = services.counters();
    let edge = Http2Twin::edge(services.clone());
    Box::new(Whole { edge, services, counters })
}

/// Probes that this gallery is for.
pub fn probes() -> Vec<&'static str> {
    GALLERY.iter().map(|(_, _, named, _)| *named).collect()
}

/// No rows where there is no PostgreSQL, which is said.
pub fn rows() -> Vec<Row> {
    if postgres().is_none() {
        return Vec::new();
    }
    let row = |&(cheat, profiles, named, others): &Line| {
        let mut others = others.concat();
        others.extend(ITEMS.iter().filter(|_| cheat == C::AlwaysHit));
        Row {
            name: format!("Stack{cheat:?}"),
            profiles,
            start: Box::new(move || start(cheat)),
            honest: || start(C::Honest),
            named: match cheat {
                C::NoExpiry => vec![named, "stack.auth-write"],
                _ => vec![named],
            },
            others,
        }
    };
    GALLERY.iter().map(row).collect()
}

#[test]
fn honest_stacks_of_different_habits_pass_under_fifty_seeds() {
    if postgres().is_none() {
        return;
    }
    crate::gallery::seeds(50, |seed| {
        let habits = [C::Honest, C::Unusual];
        let twin = start(habits[seed as usize % habits.len()]);
        for profiles in [GATEWAY, PRODUCTION] {
            let verdicts = judged(&*twin, profiles, &options(seed));
            let verdicts = without_folder(verdicts);
            let odd =
                verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
            if let Some(odd) = odd {
                return Some(format!("seed {seed}: {odd:#?}"));
            }
        }
        None
    });
}
