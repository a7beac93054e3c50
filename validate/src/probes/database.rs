//! `/async-db`: answers held against the oracle and against the tables.

use profiles::ask::Ask;
use profiles::verdict::Verdict;
use serde_json::{Value, json};

use profiles::data::schema::OBJECTS;

use crate::database::{Database, Item};
use crate::http::{Request, Response};
use crate::probe::{BLANK, Miss, Outcome, Probe, Stage};
use crate::session::{Session, summary};

/// Every profile with ASYNC-DB.
const ROWS: &[&str] =
    &["async-db", "api-4", "api-16", "gateway-64", "gateway-h3"];
/// Every profile with the database beside it.
const BESIDE: &[&str] = &[
    "async-db",
    "crud",
    "api-4",
    "api-16",
    "gateway-64",
    "gateway-h3",
    "production-stack",
];

const BASE: Probe = Probe {
    profiles: ROWS,
    source: "contract, endpoint ASYNC-DB",
    legal: "200, application/json, and the rows as the table has them, in \
            any order",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "db.rows",
        rule: "GET /async-db answers rows within the prices, as many as asked \
               for or as there are, with every field as the table has it.",
        hint: "answer what one query on items gives, all nine columns",
        run: rows,
        ..BASE
    },
    Probe {
        id: "db.defaults",
        rule: "Without parameters min is 10, max is 50 and limit is 50; limit \
               is held to 1..50.",
        hint: "use the defaults of the contract and clamp limit to 1..50",
        run: defaults,
        ..BASE
    },
    Probe {
        id: "db.empty",
        rule: "A range that no row is in is answered with no items, not with \
               an error.",
        legal: "200, application/json, {\"items\":[],\"count\":0}",
        hint: "answer 200 with an empty list",
        run: empty,
        ..BASE
    },
    Probe {
        id: "db.changed",
        rule: "Rows that were inserted, changed or deleted a moment ago are \
               answered as they are now.",
        hint: "query the database for every request; keep no rows",
        run: changed,
        ..BASE
    },
    Probe {
        id: "db.parameters",
        rule: "What stands in a parameter is a value and never a part of the \
               query.",
        legal: "400 or 404, or the rows of the parameter's default",
        hint: "bind parameters; do not paste them into the query",
        run: parameters,
        ..BASE
    },
    Probe {
        id: "db.role",
        profiles: BESIDE,
        stage: Stage::Last,
        rule: "The entry is connected as the role it was given, which may \
               read, insert and update, and nothing else.",
        source: "contract, what the entry finds",
        legal: "connections of the role bench alone",
        hint: "take the connection string from DATABASE_URL as it is",
        run: role,
        ..BASE
    },
    Probe {
        id: "db.schema",
        profiles: BESIDE,
        stage: Stage::Last,
        rule: "The database has the two tables of the contract and nothing \
               that an entry made: no index, trigger, view, function or \
               setting.",
        source: "contract, endpoint ASYNC-DB",
        legal: "the schema as it was made",
        hint: "leave the schema alone; it is the same for every entry",
        run: schema,
        ..BASE
    },
];

/// The database, or a skip that says how to name it.
pub(super) fn database(s: &Session<'_>) -> Result<Database, Box<Miss>> {
    let Some(url) = s.target.database.as_deref() else {
        return Err(Miss::skip(
            "no database was named",
            "name it with --target database=URL, as its owner",
        ));
    };
    Database::open(url, s.deadline()).map_err(|why| ours(&why))
}

/// The judge's own trouble with the database is nobody's failure.
pub(super) fn ours(why: &str) -> Box<Miss> {
    Miss::skip(why, "is the database up, and is the URL its owner's?")
}

fn ask(min: i64, max: i64, limit: i64) -> Ask {
    let limit = limit.clamp(1, 50) as u32;
    Ask::AsyncDb { min, max, limit, accept_encoding: None }
}

fn rows(s: &mut Session<'_>) -> Outcome {
    let ranges = [(10, 50), (1, 500), (300, 499), (5, 80)];
    for (low, high) in ranges {
        let min = s.rng.between(low, low + 20);
        let max = s.rng.between(min, high.max(min));
        let limit = s.rng.between(1, 50);
        s.ask(&ask(min, max, limit))?;
    }
    // Both ends are within.
    let price = s.rng.between(1, 499);
    s.ask(&ask(price, price, 50))?;
    s.ask(&ask(price, price + 1, 50))
}

/// Asks at a target of one's own, and expects the answer to another question.
fn at(s: &mut Session<'_>, query: &str, ask: &Ask) -> Outcome {
    let request = s.get(&format!("/async-db{query}"));
    let response = s.exchange(&request)?;
    s.judge(ask, &request, &response)
}

fn defaults(s: &mut Session<'_>) -> Outcome {
    at(s, "", &ask(10, 50, 50))?;
    let min = s.rng.between(11, 30);
    at(s, &format!("?min={min}"), &ask(min, 50, 50))?;
    let limit = s.rng.between(2, 9);
    at(s, &format!("?limit={limit}"), &ask(10, 50, limit))?;
    let over = s.rng.between(51, 9999);
    at(s, &format!("?min=10&max=50&limit={over}"), &ask(10, 50, 50))?;
    at(s, "?min=10&max=50&limit=0", &ask(10, 50, 1))?;
    at(s, "?max=60&limit=7&min=12", &ask(12, 60, 7))
}

fn empty(s: &mut Session<'_>) -> Outcome {
    let high = s.rng.between(3000, 99_999);
    s.ask(&ask(high, high, 50))?;
    // Backwards.
    let low = s.rng.between(1, 40);
    s.ask(&ask(low + 50, low, 20))
}

fn parameters(s: &mut Session<'_>) -> Outcome {
    for odd in ["10%20OR%201%3D1", "10%27%3B--", "10)%20OR%20(1%3D1"] {
        let request = s.get(&format!("/async-db?min={odd}&max=12&limit=50"));
        let response = s.exchange(&request)?;
        if matches!(response.status, 400 | 404 | 422) {
            continue;
        }
        s.judge(&ask(10, 12, 50), &request, &response)
            .or_else(|_| s.judge(&ask(0, 12, 50), &request, &response))
            .map_err(|mut miss| {
                miss.expected = "400, or the rows of the default".into();
                miss
            })?;
    }
    Ok(())
}

/// A row that nobody else sees: its id and price are beyond the table's.
pub(super) fn foreign(s: &mut Session<'_>, price: i32) -> Item {
    let n = s.rng.between(1, 999_999);
    Item {
        id: s.rng.between(300_000_000, 400_000_000) as i32,
        name: format!("Drawn Row {n}"),
        category: "drawn".into(),
        price,
        quantity: s.rng.between(1, 999) as i32,
        active: n % 2 == 0,
        tags: json!([format!("tag-{n}"), "new"]),
        score: s.rng.between(1, 50) as i32,
        count: s.rng.between(1, 500) as i32,
    }
}

fn changed(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let price = s.rng.between(1_000_000, 900_000_000) as i32;
    let mut all: Vec<Item> = (0..3).map(|_| foreign(s, price)).collect();
    let found = ask_changed(s, &mut db, price, &mut all);
    for item in &all {
        db.delete(item.id).map_err(|why| ours(&why))?;
    }
    found?;
    same_rows(s, &mut db, price)
}

fn ask_changed(
    s: &mut Session<'_>,
    db: &mut Database,
    price: i32,
    all: &mut [Item],
) -> Outcome {
    same_rows(s, db, price)?;
    for item in all.iter() {
        db.put(item).map_err(|why| ours(&why))?;
    }
    same_rows(s, db, price)?;
    all[0].quantity += 1;
    all[0].name.push_str(" again");
    db.put(&all[0]).map_err(|why| ours(&why))?;
    same_rows(s, db, price)
}

/// Asks for the rows of one price and compares them with our own query.
fn same_rows(s: &mut Session<'_>, db: &mut Database, price: i32) -> Outcome {
    let right = db.priced(price, price).map_err(|why| ours(&why))?;
    let request = s.get(&format!("/async-db?min={price}&max={price}&limit=50"));
    let response = s.exchange(&request)?;
    let right: Vec<Value> = right.iter().map(Item::json).collect();
    let expected = json!({ "items": right, "count": right.len() });
    let mut found = document(s, &request, &response)?;
    if let Some(items) = found["items"].as_array_mut() {
        items.sort_by_key(|item| item["id"].as_i64());
    }
    if found == expected {
        return Ok(());
    }
    let got = format!("{found}; {}", summary(&response));
    Err(s.miss(&request, format!("200 and {expected}"), got))
}

/// The JSON of an answer of 200.
pub(super) fn document(
    s: &Session<'_>,
    request: &Request,
    response: &Response,
) -> Result<Value, Box<Miss>> {
    let kind = response.header("content-type").unwrap_or("");
    let json = kind.split(';').next().unwrap_or("").trim();
    let wrong = |what: &str| {
        let got = format!("{what}; {}", summary(response));
        s.miss(request, "200 and a JSON document", got)
    };
    if response.status != 200 && response.status != 201 {
        return Err(wrong("another status"));
    }
    if !json.eq_ignore_ascii_case("application/json") {
        return Err(wrong("another content type"));
    }
    serde_json::from_slice(&response.body).map_err(|e| wrong(&e.to_string()))
}

fn role(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let roles = db.roles().map_err(|why| ours(&why))?;
    let asked = Request::raw("the roles that are connected");
    let odd = roles
        .iter()
        .find(|(role, all)| *all || role != profiles::data::schema::ENTRY_ROLE);
    match odd {
        None => Ok(()),
        Some((role, _)) => {
            let role = profiles::oracle::clip(role.as_bytes());
            let got = format!("a connection of `{role}`");
            Err(s.miss(&asked, "connections of bench alone", got))
        }
    }
}

fn schema(s: &mut Session<'_>) -> Outcome {
    let mut db = database(s)?;
    let found = db.objects().map_err(|why| ours(&why))?;
    let asked = Request::raw("what is in the database");
    let extra = found.iter().find(|o| !OBJECTS.contains(&&o[..]));
    let lost = OBJECTS.iter().find(|o| !found.iter().any(|f| f == *o));
    let got = match (extra, lost) {
        (None, None) => return Ok(()),
        (Some(extra), _) => {
            let extra = profiles::oracle::clip(extra.as_bytes());
            format!("`{extra}`, which the contract has not")
        }
        (None, Some(lost)) => format!("no `{lost}` any more"),
    };
    let miss = s.miss(&asked, "the schema as it was made", got);
    Err(miss.as_verdict(Verdict::Fail))
}
