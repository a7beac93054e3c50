//! `/crud/items`: reads behind a cache, lists and writes, and the table
//! behind them.

use std::time::Duration;

use profiles::ask::Ask;
use profiles::data::{CATEGORIES, MAX_PRICE, Rows};
use profiles::oracle::keyed_quantity;
use serde_json::Value;

use super::database::{database, document, ours};
use crate::database::{Database, Item};
use crate::http::{Request, Response};
use crate::probe::{BLANK, Miss, Outcome, Probe};
use crate::session::{Session, summary};

/// The entry may be kept for 200 ms; nobody is held to the millisecond.
const TTL: Duration = Duration::from_millis(200 + 100);
/// The name that updates give a row.
const UPDATED: &str = "Updated Product";

const BASE: Probe =
    Probe { profiles: &["crud"], source: "contract, profile crud", ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "crud.list",
        rule: "A page of a category is its rows in order of their ids; total \
               is the number of items in the answer; pages may be padded with \
               zeros, and category, page and limit have defaults.",
        legal: "200, application/json, and the rows as the table has them",
        hint: "order by id, skip (page-1)*limit rows; total counts this page",
        run: list,
        ..BASE
    },
    Probe {
        id: "crud.fresh-list",
        rule: "Lists are never cached: a row changed behind the entry's back \
               is seen at once.",
        legal: "the new value",
        hint: "query for every list",
        run: fresh_list,
        ..BASE
    },
    Probe {
        id: "crud.read",
        rule: "An item is answered as the table has it, whether X-Cache says \
               HIT or MISS; the first read of an id says MISS, and ids may be \
               padded with zeros.",
        legal: "200 and the item; MISS, then HIT or MISS",
        hint: "parse ids as decimal integers, and say in X-Cache what was done",
        run: read,
        ..BASE
    },
    Probe {
        id: "crud.hit",
        rule: "An item that was read a moment ago comes from the cache.",
        legal: "X-Cache: HIT at least once in several quick reads",
        hint: "keep an item for 200 ms after it was read",
        run: hit,
        ..BASE
    },
    Probe {
        id: "crud.expiry",
        rule: "200 ms after it was read an item is read from the table again: \
               what was changed behind the entry's back is seen.",
        legal: "the new value once 200 ms have passed",
        hint: "let entries expire 200 ms after they were stored, not after \
               they were used",
        run: expiry,
        ..BASE
    },
    Probe {
        id: "crud.update",
        rule: "PUT writes name, price and quantity of the row and nothing \
               else, and the next read has the new values.",
        legal: "200 with the id and the fields; MISS and the new item",
        hint: "write the row, then drop its cached entry in every process",
        run: update,
        ..BASE
    },
    Probe {
        id: "crud.create",
        rule: "POST inserts the row with its defaults, or updates name, price \
               and quantity of the one with its id.",
        legal: "201 with the fields sent, and the row in the table",
        hint: "INSERT .. ON CONFLICT (id) DO UPDATE",
        run: create,
        ..BASE
    },
    Probe {
        id: "crud.unknown",
        rule: "An id that is not there is 404, and so is an update of it; bad \
               JSON is 400.",
        legal: "404; 400 for bad JSON (422 as well)",
        hint: "answer 404 for no row and 400 for a body that does not parse",
        run: unknown,
        ..BASE
    },
];

fn id(s: &mut Session<'_>) -> i64 {
    s.rng.between(1, 50_000)
}

fn cached(response: &Response) -> String {
    response.header("x-cache").unwrap_or("none").to_ascii_uppercase()
}

fn list(s: &mut Session<'_>) -> Outcome {
    for limit in [10, 5, 50] {
        let category = s.rng.pick(&CATEGORIES).copied().unwrap_or("auto");
        let page = s.rng.between(1, 10) as u32;
        let category = category.into();
        s.ask(&Ask::CrudList { category, page, limit })?;
    }
    let first =
        Ask::CrudList { category: "electronics".into(), page: 1, limit: 10 };
    let request = s.get("/crud/items");
    let response = s.exchange(&request)?;
    s.judge(&first, &request, &response)
}

/// Writes new values into a row so that anybody's judge finds them right, and
/// says what they are.
fn overwrite(
    s: &mut Session<'_>,
    db: &mut Database,
    id: i64,
) -> Result<Item, Box<Miss>> {
    let item = db.item(id as i32).map_err(|why| ours(&why))?;
    let Some(mut item) = item else { return Err(ours("a row is missing")) };
    let price = other_price(s, item.price);
    item.price = price as i32;
    item.quantity = keyed_quantity(s.seed, id, price) as i32;
    item.name = UPDATED.into();
    db.put(&item).map_err(|why| ours(&why))?;
    Ok(item)
}

/// A price as the load writes them, and not this one.
fn other_price(s: &mut Session<'_>, than: i32) -> i64 {
    loop {
        let price = s.rng.between(1, MAX_PRICE);
        if price != i64::from(than) {
            return price;
        }
    }
}

/// Puts a row back as the data has it.
fn restore(db: &mut Database, id: i64) -> Outcome {
    let Some(row) = Rows::get().row(id) else {
        return db.delete(id as i32).map_err(|why| ours(&why));
    };
    let item = Item::from(&row);
    db.put(&item).map_err(|why| ours(&why))
}

fn fresh_list(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let category = s.rng.pick(&CATEGORIES).copied().unwrap_or("auto");
    let place = s.rng.between(0, 90) as usize;
    let ids = Rows::get().ids_of(category).unwrap_or_default();
    let Some(id) = ids.get(place).map(|id| i64::from(*id)) else {
        return Ok(());
    };
    let page = place as u32 / 10 + 1;
    let ask = Ask::CrudList { category: category.into(), page, limit: 10 };
    s.ask(&ask)?;
    let item = overwrite(s, &mut db, id)?;
    let found = listed(s, &ask, place % 10, &item);
    restore(&mut db, id)?;
    found
}

fn listed(s: &mut Session<'_>, ask: &Ask, at: usize, item: &Item) -> Outcome {
    let request = s.request(ask);
    let response = s.exchange(&request)?;
    s.judge(ask, &request, &response)?;
    let found = document(s, &request, &response)?;
    let found = &found["items"][at];
    if *found == item.json() {
        return Ok(());
    }
    let expected = format!("item {at} as {}", item.json());
    Err(s.miss(&request, expected, found.to_string()))
}

/// Reads an item; its document and what X-Cache says.
fn item(
    s: &mut Session<'_>,
    id: i64,
) -> Result<(Request, Value, String), Box<Miss>> {
    let ask = Ask::CrudRead { id };
    let request = s.request(&ask);
    let response = s.exchange(&request)?;
    s.judge(&ask, &request, &response)?;
    let word = cached(&response);
    if word != "HIT" && word != "MISS" {
        let word = profiles::oracle::clip(word.as_bytes());
        let got = format!("X-Cache `{word}`");
        return Err(s.miss(&request, "X-Cache HIT or MISS", got));
    }
    let found = document(s, &request, &response)?;
    Ok((request, found, word))
}

fn read(s: &mut Session<'_>) -> Outcome {
    let mut words = Vec::new();
    let mut last = None;
    for _ in 0..3 {
        let id = id(s);
        let (request, _, word) = item(s, id)?;
        words.push(word);
        last = Some(request);
        item(s, id)?;
    }
    // Somebody else may have read one of them just before.
    if let (false, Some(request)) = (words.contains(&"MISS".into()), last) {
        let got = "HIT to each of three items that nobody had read";
        return Err(s.miss(&request, "MISS to a first read", got));
    }
    // Padded to five digits by the load, and not padded.
    let id = s.rng.between(1, 999);
    let ask = Ask::CrudRead { id };
    for path in [format!("/crud/items/{id}"), format!("/crud/items/{id:07}")] {
        let request = s.get(&path);
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}

fn hit(s: &mut Session<'_>) -> Outcome {
    let mut last = None;
    for _ in 0..6 {
        let id = id(s);
        for _ in 0..3 {
            let (request, _, word) = item(s, id)?;
            if word == "HIT" {
                return Ok(());
            }
            last = Some(request);
        }
    }
    let Some(request) = last else { return Ok(()) };
    Err(s.miss(&request, "HIT to one of 18 quick reads", "MISS to all"))
}

fn expiry(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    for _ in 0..2 {
        let id = id(s);
        item(s, id)?;
        item(s, id)?;
        let right = overwrite(s, &mut db, id)?;
        let found = expired(s, id, &right);
        restore(&mut db, id)?;
        found?;
    }
    Ok(())
}

fn expired(s: &mut Session<'_>, id: i64, right: &Item) -> Outcome {
    // Read again and again meanwhile: use must not lengthen the time.
    let until = std::time::Instant::now() + TTL;
    while std::time::Instant::now() < until {
        item(s, id)?;
        std::thread::sleep(TTL / 6);
    }
    let (request, found, word) = item(s, id)?;
    if found == right.json() {
        return Ok(());
    }
    let expected = format!("{} once 200 ms have passed", right.json());
    Err(s.miss(&request, expected, format!("{found} ({word})")))
}

fn update(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let id = id(s);
    let before = db.item(id as i32).map_err(|why| ours(&why))?;
    let Some(before) = before else { return Err(ours("a row is missing")) };
    let found = updated(s, &mut db, id, &before);
    restore(&mut db, id)?;
    found
}

fn updated(
    s: &mut Session<'_>,
    db: &mut Database,
    id: i64,
    before: &Item,
) -> Outcome {
    for _ in 0..2 {
        item(s, id)?;
        let price = other_price(s, before.price);
        let quantity = keyed_quantity(s.seed, id, price);
        let ask = Ask::CrudUpdate { id, price, quantity };
        let request = s.request(&ask);
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
        let right = Item {
            name: UPDATED.into(),
            price: price as i32,
            quantity: quantity as i32,
            ..before.clone()
        };
        stored(s, db, &request, &right)?;
        let (request, found, word) = item(s, id)?;
        if found != right.json() || word != "MISS" {
            let expected = format!("MISS and {}", right.json());
            return Err(s.miss(&request, expected, format!("{word}, {found}")));
        }
    }
    Ok(())
}

/// Whether the table has a row as it must be.
fn stored(
    s: &Session<'_>,
    db: &mut Database,
    request: &Request,
    right: &Item,
) -> Outcome {
    let found = db.item(right.id).map_err(|why| ours(&why))?;
    if found.as_ref() == Some(right) {
        return Ok(());
    }
    let got = match found {
        Some(found) => format!("in the table: {}", found.json()),
        None => "no such row in the table".into(),
    };
    Err(s.miss(request, format!("in the table: {}", right.json()), got))
}

fn create(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let id = s.rng.between(200_001, 900_000_000);
    let found = created(s, &mut db, id);
    db.delete(id as i32).map_err(|why| ours(&why))?;
    found
}

fn created(s: &mut Session<'_>, db: &mut Database, id: i64) -> Outcome {
    for again in [false, true] {
        let price = other_price(s, 0);
        let quantity = keyed_quantity(s.seed, id, price);
        let ask = Ask::CrudCreate { id, price, quantity };
        let request = s.request(&ask);
        let response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
        let right = Item {
            id: id as i32,
            name: "New Product".into(),
            category: "test".into(),
            price: price as i32,
            quantity: quantity as i32,
            active: true,
            tags: serde_json::json!(["bench"]),
            score: 0,
            count: 0,
        };
        stored(s, db, &request, &right)?;
        if again {
            break;
        }
    }
    Ok(())
}

fn unknown(s: &mut Session<'_>) -> Outcome {
    let none = s.rng.between(950_000_000, 999_999_999);
    let get = s.get(&format!("/crud/items/{none}"));
    status(s, &get, &[404])?;
    let ask = Ask::CrudUpdate { id: none, price: 5, quantity: 5 };
    let put = s.request(&ask);
    status(s, &put, &[404])?;
    let id = id(s);
    let extra = "Content-Type: application/json\r\nContent-Length: 9\r\n";
    for (method, path) in [
        ("POST", "/crud/items".to_string()),
        ("PUT", format!("/crud/items/{id}")),
    ] {
        let request = Request::new(method, &path, &s.host, extra);
        let request = request.with(b"{\"price\":");
        status(s, &request, &[400, 422])?;
    }
    let odd = s.get("/crud/items/abc");
    status(s, &odd, &[400, 404, 422])
}

fn status(s: &mut Session<'_>, request: &Request, right: &[u16]) -> Outcome {
    let response = s.exchange(request)?;
    if right.contains(&response.status) {
        return Ok(());
    }
    let expected: Vec<String> = right.iter().map(u16::to_string).collect();
    let got = summary(&response);
    Err(s.miss(request, expected.join(" or "), got))
}
