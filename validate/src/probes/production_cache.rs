//! The production stack: its cache, and the table behind it.

use std::time::Duration;

use profiles::ask::Ask;
use profiles::data::MAX_PRICE;
use profiles::oracle::keyed_quantity;

use super::database::{database, document, ours};
use super::production::STACK;
use crate::database::{Database, Item};
use crate::http::Request;
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::{Session, summary};
use profiles::data::Rows;

/// The entry may be kept for a second; nobody is held to the millisecond.
const TTL: Duration = Duration::from_millis(1000 + 200);
const WRITTEN: &str = "bench-updated";

const BASE: Probe = Probe {
    profiles: STACK,
    source: "contract, profile production-stack",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "stack.cache",
        rule: "An item is read from the table, then from the cache; a write \
               is in the table, and the next read of it is a MISS with the \
               new item.",
        legal: "MISS, HIT (or MISS again, but not always), 204, MISS",
        hint: "cache: drop the key in every tier when its row is written",
        run: cache,
        ..BASE
    },
    Probe {
        id: "stack.expiry",
        rule: "A second after it was read an item is read from the table \
               again: what was changed behind the stack's back is seen.",
        legal: "the new value once a second has passed",
        hint: "cache: let entries expire a second after they were stored, in \
               every tier",
        run: expiry,
        ..BASE
    },
    Probe {
        id: "stack.unknown",
        rule: "An id that is not there is 404, to a read and to a write; bad \
               JSON is 400.",
        legal: "404; 400 for bad JSON (422 as well)",
        hint: "server: answer 404 for no row and 400 for a body that does not \
               parse",
        run: unknown,
        ..BASE
    },
];

/// Reads an item; what X-Cache says, and whether it is as the table has it.
fn item(
    s: &mut Session<'_>,
    id: i64,
    right: Option<&Item>,
) -> Result<(Request, String), Box<crate::probe::Miss>> {
    let ask = Ask::ItemRead { id, accept_encoding: None };
    let request = s.request(&ask);
    let response = s.exchange(&request)?;
    s.judge(&ask, &request, &response)?;
    let word = response.header("x-cache").unwrap_or("none");
    let word = word.to_ascii_uppercase();
    if word != "HIT" && word != "MISS" {
        let word = profiles::oracle::clip(word.as_bytes());
        let got = format!("X-Cache `{word}`");
        return Err(s.miss(&request, "X-Cache HIT or MISS", got));
    }
    if let Some(right) = right {
        let found = document(s, &request, &response)?;
        let same = found["price"] == right.price
            && found["quantity"] == right.quantity
            && found["name"] == right.name.as_str();
        if !same {
            let expected = right.json().to_string();
            return Err(s.miss(&request, expected, format!("{word}, {found}")));
        }
    }
    Ok((request, word))
}

fn price(s: &mut Session<'_>, than: i32) -> i64 {
    loop {
        let price = s.rng.between(1, MAX_PRICE);
        if price != i64::from(than) {
            return price;
        }
    }
}

fn row(db: &mut Database, id: i64) -> Result<Item, Box<crate::probe::Miss>> {
    let item = db.item(id as i32).map_err(|why| ours(&why))?;
    item.ok_or_else(|| ours("a row is missing"))
}

fn restore(db: &mut Database, id: i64) -> Outcome {
    match Rows::get().row(id) {
        Some(row) => db.put(&Item::from(&row)).map_err(|why| ours(&why)),
        None => Ok(()),
    }
}

fn cache(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let mut words = Vec::new();
    for _ in 0..3 {
        let id = s.rng.between(1, 10_000);
        let found = one(s, &mut db, id);
        restore(&mut db, id)?;
        words.push(found?);
    }
    // Somebody else may have read one of them just before.
    let first = words.iter().any(|(first, _)| first == "MISS");
    let second = words.iter().any(|(_, second)| second == "HIT");
    if first && second {
        return Ok(());
    }
    let ask = Ask::ItemRead { id: 1, accept_encoding: None };
    let request = s.request(&ask);
    let expected = "MISS to a first read, and HIT to a second";
    Err(s.miss(&request, expected, format!("of three items: {words:?}")))
}

/// What X-Cache said to two reads in a row.
type Words = (String, String);

fn one(
    s: &mut Session<'_>,
    db: &mut Database,
    id: i64,
) -> Result<Words, Box<crate::probe::Miss>> {
    let before = row(db, id)?;
    let (_, first) = item(s, id, Some(&before))?;
    let (_, second) = item(s, id, Some(&before))?;
    let price = price(s, before.price);
    let quantity = keyed_quantity(s.seed, id, price);
    let ask = Ask::ItemWrite { id, price, quantity };
    let request = s.request(&ask);
    let response = s.exchange(&request)?;
    s.judge(&ask, &request, &response)?;
    let right = Item {
        name: WRITTEN.into(),
        price: price as i32,
        quantity: quantity as i32,
        ..before
    };
    let written = row(db, id)?;
    if written != right {
        let got = format!("in the table: {}", written.json());
        let expected = format!("in the table: {}", right.json());
        return Err(s.miss(&request, expected, got));
    }
    let (request, word) = item(s, id, Some(&right))?;
    if word != "MISS" {
        let got = "X-Cache: HIT to the first read after a write";
        return Err(s.miss(&request, "MISS", got));
    }
    Ok((first, second))
}

fn expiry(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let id = s.rng.between(1, 10_000);
    item(s, id, None)?;
    let mut right = row(&mut db, id)?;
    let price = price(s, right.price);
    right.price = price as i32;
    right.quantity = keyed_quantity(s.seed, id, price) as i32;
    right.name = WRITTEN.into();
    db.put(&right).map_err(|why| ours(&why))?;
    let found = expired(s, id, &right);
    restore(&mut db, id)?;
    found
}

fn expired(s: &mut Session<'_>, id: i64, right: &Item) -> Outcome {
    let until = std::time::Instant::now() + TTL;
    while std::time::Instant::now() < until {
        item(s, id, None)?;
        std::thread::sleep(TTL / 8);
    }
    item(s, id, Some(right)).map(drop)
}

fn unknown(s: &mut Session<'_>) -> Outcome {
    let none = s.rng.between(950_000_000, 999_999_999);
    let read = s.request(&Ask::ItemRead { id: none, accept_encoding: None });
    status(s, &read, &[404])?;
    let ask = Ask::ItemWrite { id: none, price: 5, quantity: 5 };
    let write = s.request(&ask);
    status(s, &write, &[404])?;
    let id = s.rng.between(1, 10_000);
    let write = s.request(&Ask::ItemWrite { id, price: 5, quantity: 5 });
    let mut odd = Request { fields: write.fields.clone(), ..write };
    odd.fields.retain(|(name, _)| name != "Content-Length");
    odd.bytes.truncate(odd.body_at);
    let odd = odd.with(b"{\"price\":");
    status(s, &odd, &[400, 422])
}

fn status(s: &mut Session<'_>, request: &Request, right: &[u16]) -> Outcome {
    let response = s.exchange(request)?;
    if right.contains(&response.status) {
        return Ok(());
    }
    let expected: Vec<String> = right.iter().map(u16::to_string).collect();
    Err(s.miss(request, expected.join(" or "), summary(&response)))
}
