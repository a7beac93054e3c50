//! Cheats beside a real database.

use profiles::verdict::Verdict;
use validate::Target;

use crate::gallery::options;
use crate::row::{Row, Running, judged};
use crate::support::database::{DbCheat as D, DbTwin};
use crate::support::postgres::postgres;

const FOUR: [&str; 4] = ["async-db", "crud", "api-4", "api-16"];

/// Probes that see whatever is wrong with rows.
const ROWS: &[&str] = &[
    "db.rows",
    "db.defaults",
    "db.empty",
    "db.changed",
    "db.parameters",
    "conn.keep",
    "alive.after",
];
/// The same for single items.
const ITEMS: &[&str] = &[
    "crud.read",
    "crud.hit",
    "crud.expiry",
    "crud.update",
    "crud.create",
    "crud.unknown",
    "crud.list",
    "crud.fresh-list",
    "conn.keep",
    "alive.after",
];
const NONE: &[&str] = &[];

type Line = (D, &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (D::ConstantRows, &["db.rows"], ROWS),
    (D::OneRowShort, &["db.rows"], ROWS),
    (D::ExtraField, &["db.rows"], ROWS),
    (D::PricesExclusive, &["db.rows"], ROWS),
    (D::MinIsZero, &["db.defaults"], NONE),
    (D::LimitNotClamped, &["db.defaults"], NONE),
    (D::ZeroLimitIsAll, &["db.defaults"], NONE),
    (D::EmptyIs404, &["db.empty"], &["db.changed"]),
    (D::BackwardsIs500, &["db.empty"], NONE),
    (D::CopiedTable, &["db.changed"], NONE),
    (D::CacheByUrl, &["db.changed"], NONE),
    (D::InsertedOnly, &["db.changed"], NONE),
    (D::NeverForgets, &["db.changed"], NONE),
    (D::InjectionIs500, &["db.parameters"], NONE),
    (D::Pasted, &["db.parameters"], NONE),
    (D::OwnersRole, &["db.role"], NONE),
    (D::MadeAnIndex, &["db.schema"], NONE),
    (D::ListByPrice, &["crud.list"], ITEMS),
    (D::TotalOfTable, &["crud.list"], ITEMS),
    (D::NoListDefaults, &["crud.list"], NONE),
    (D::ListCached, &["crud.fresh-list"], NONE),
    (D::NoCacheWord, &["crud.read"], ITEMS),
    (D::AlwaysHit, &["crud.read"], &["crud.update"]),
    (D::PaddedIs404, &["crud.read"], NONE),
    (D::NeverCached, &["crud.hit"], NONE),
    (D::CachedForEver, &["crud.expiry"], &["crud.update"]),
    (D::UseLengthens, &["crud.expiry"], NONE),
    (D::PutKeepsCache, &["crud.update"], NONE),
    (D::PutLost, &["crud.update"], NONE),
    (D::PutWritesCategory, &["crud.update"], NONE),
    (D::SecondPutLost, &["crud.update"], NONE),
    (D::CreateLost, &["crud.create"], NONE),
    (D::CreateInactive, &["crud.create"], NONE),
    (D::NoUpsert, &["crud.create"], NONE),
    (D::UnknownIs200, &["crud.unknown"], NONE),
    (D::UnknownPutIs200, &["crud.unknown"], NONE),
    (D::BadJsonIs500, &["crud.unknown"], NONE),
];

impl Running for DbTwin {
    fn target(&self) -> Target {
        Target::local(self.address).with_database(self.own.owner())
    }
}

fn start(cheat: D) -> Box<dyn Running> {
    let postgres = postgres().expect("rows only exist beside a database");
    Box::new(DbTwin::start(cheat, postgres))
}

/// Probes that this gallery is for.
pub fn probes() -> Vec<&'static str> {
    GALLERY.iter().flat_map(|(_, named, _)| named.to_vec()).collect()
}

/// No rows where there is no PostgreSQL, which is said.
pub fn rows() -> Vec<Row> {
    if postgres().is_none() {
        return Vec::new();
    }
    let row = |&(cheat, named, others): &Line| Row {
        name: format!("Db{cheat:?}"),
        profiles: &FOUR,
        start: Box::new(move || start(cheat)),
        honest: || start(D::Honest),
        named: named.to_vec(),
        others: others.to_vec(),
    };
    GALLERY.iter().map(row).collect()
}

#[test]
fn honest_servers_of_different_habits_pass_under_fifty_seeds() {
    if postgres().is_none() {
        return;
    }
    crate::gallery::seeds(50, |seed| {
        // Each with a database of its own: judgements write into it.
        let habits = [D::Honest, D::Unusual];
        let twin = start(habits[seed as usize % habits.len()]);
        let verdicts = judged(&*twin, &FOUR, &options(seed));
        let odd = verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
        odd.map(|p| format!("seed {seed}: {p:#?}"))
    });
}
