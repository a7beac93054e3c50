//! The endpoints themselves.

use std::time::{Duration, Instant};

use postgres::{Client, Row};
use profiles::data::CATEGORIES;
use serde_json::{Value, json};

use super::super::reply::Reply;
use super::super::wire::{Body, Request};
use super::{DbCheat as D, Shared, json as reply};

const TTL: Duration = Duration::from_millis(200);
const COLUMNS: &str = "id, name, category, price, quantity, active, \
                       tags::text, rating_score, rating_count";

fn item(row: &Row) -> Value {
    let tags: String = row.get(6);
    let tags: Value = serde_json::from_str(&tags).unwrap();
    json!({
        "id": row.get::<_, i32>(0),
        "name": row.get::<_, String>(1),
        "category": row.get::<_, String>(2),
        "price": row.get::<_, i32>(3),
        "quantity": row.get::<_, i32>(4),
        "active": row.get::<_, bool>(5),
        "tags": tags,
        "rating": {
            "score": row.get::<_, i32>(7),
            "count": row.get::<_, i32>(8),
        },
    })
}

/// Keeps a copy of the table.
pub fn copy(shared: &Shared) {
    let text = format!("SELECT {COLUMNS} FROM items");
    let rows = shared.with(|db| db.query(&text, &[]).unwrap());
    *shared.table.lock().unwrap() = rows.iter().map(item).collect();
}

fn get<'r>(r: &'r Request, name: &str) -> Option<&'r str> {
    let mut pairs = r.query.split('&').filter_map(|p| p.split_once('='));
    pairs.find(|(n, _)| *n == name).map(|(_, v)| v)
}

/// The answer, where the path is one of ours.
pub fn answer(shared: &Shared, r: &Request, b: &Body) -> Option<Reply> {
    let rest = r.path.strip_prefix("/crud/items");
    match (&r.method[..], &r.path[..], rest) {
        ("GET", "/async-db", _) => Some(rows(shared, r)),
        ("GET", _, Some("")) => Some(list(shared, r)),
        ("POST", _, Some("")) => Some(create(shared, b)),
        (method, _, Some(id)) => {
            let text = id.strip_prefix('/')?;
            let padded = shared.cheat == D::PaddedIs404 && text.len() == 7;
            let Some(id) = text.parse::<i32>().ok().filter(|_| !padded) else {
                return Some(Reply::status(404));
            };
            match method {
                "GET" => Some(read(shared, id)),
                "PUT" => Some(update(shared, id, b)),
                _ => Some(Reply::status(405)),
            }
        }
        _ => None,
    }
}

fn rows(shared: &Shared, r: &Request) -> Reply {
    let cheat = shared.cheat;
    if cheat == D::CacheByUrl
        && let Some(kept) = shared.kept.lock().unwrap().get(&r.query)
    {
        return Reply::new(200, "application/json", kept.clone());
    }
    if cheat == D::Pasted {
        return pasted(shared, r);
    }
    let number = |name: &str, default: i32| match get(r, name) {
        None => Some(default),
        Some(text) => text.parse::<i32>().ok(),
    };
    let first = if cheat == D::MinIsZero { 0 } else { 10 };
    let (min, max) = (number("min", first), number("max", 50));
    let (Some(min), Some(max), Some(limit)) = (min, max, number("limit", 50))
    else {
        return match cheat {
            D::InjectionIs500 => Reply::status(500),
            D::Unusual => found(shared, r, 10, 12, 50),
            _ => Reply::status(400),
        };
    };
    if cheat == D::BackwardsIs500 && min > max {
        return Reply::status(500);
    }
    let limit = match cheat {
        D::LimitNotClamped => limit.max(1),
        D::ZeroLimitIsAll if limit == 0 => 50,
        _ => limit.clamp(1, 50),
    };
    found(shared, r, min, max, limit)
}

fn found(
    shared: &Shared,
    r: &Request,
    min: i32,
    max: i32,
    limit: i32,
) -> Reply {
    let cheat = shared.cheat;
    let (min, max) = match cheat {
        D::PricesExclusive => (min + 1, max - 1),
        _ => (min, max),
    };
    let limit = i64::from(limit);
    let order = if cheat == D::Unusual { "ORDER BY price, id" } else { "" };
    let text = format!(
        "SELECT {COLUMNS} FROM items WHERE price BETWEEN $1 AND $2 {order} \
         LIMIT $3"
    );
    let mut items: Vec<Value> = match cheat {
        D::ConstantRows => shared.with(|db| {
            let text = format!("SELECT {COLUMNS} FROM items LIMIT $1");
            db.query(&text, &[&limit]).unwrap().iter().map(item).collect()
        }),
        D::CopiedTable | D::InsertedOnly => {
            let mut table = shared.table.lock().unwrap();
            let within = |i: &&Value| {
                let price = i["price"].as_i64().unwrap();
                price >= i64::from(min) && price <= i64::from(max)
            };
            let mut found: Vec<Value> = table
                .iter()
                .filter(within)
                .take(limit as usize)
                .cloned()
                .collect();
            // It looks again only for what it has nothing of.
            if found.is_empty() && cheat == D::InsertedOnly {
                found = shared.with(|db| {
                    let rows = db.query(&text, &[&min, &max, &limit]);
                    rows.unwrap().iter().map(item).collect()
                });
                table.extend(found.iter().cloned());
            }
            found
        }
        _ => shared.with(|db| {
            let rows = db.query(&text, &[&min, &max, &limit]);
            rows.unwrap().iter().map(item).collect()
        }),
    };
    if cheat == D::NeverForgets {
        let mut table = shared.table.lock().unwrap();
        for item in &items {
            if min > 500 && !table.iter().any(|i| i["id"] == item["id"]) {
                table.push(item.clone());
            }
        }
        if items.is_empty() {
            let within =
                |i: &&Value| i["price"].as_i64() == Some(i64::from(min));
            items = table.iter().filter(within).cloned().collect();
        }
    }
    if cheat == D::OneRowShort && items.len() > 1 {
        items.pop();
    }
    if cheat == D::ExtraField {
        for item in &mut items {
            item["extra"] = json!(1);
        }
    }
    if items.is_empty() && cheat == D::EmptyIs404 {
        return Reply::status(404);
    }
    let count = items.len();
    let body = json!({ "items": items, "count": count });
    if cheat == D::CacheByUrl {
        let bytes = body.to_string().into_bytes();
        shared.kept.lock().unwrap().insert(r.query.clone(), bytes);
    }
    reply(200, &body)
}

/// The query with the parameters pasted into it.
fn pasted(shared: &Shared, r: &Request) -> Reply {
    let decoded = |name: &str, default: &str| {
        let text = get(r, name).unwrap_or(default);
        text.replace("%20", " ")
            .replace("%27", "'")
            .replace("%3D", "=")
            .replace("%3B", ";")
    };
    let (min, max) = (decoded("min", "10"), decoded("max", "50"));
    let limit = get(r, "limit").and_then(|l| l.parse::<i32>().ok());
    let limit = limit.unwrap_or(50).clamp(1, 50);
    let text = format!(
        "SELECT {COLUMNS} FROM items WHERE (price >= {min}) AND \
         (price <= {max}) LIMIT {limit}"
    );
    match shared.with(|db| db.query(&text, &[])) {
        Ok(rows) => {
            let items: Vec<Value> = rows.iter().map(item).collect();
            let count = items.len();
            reply(200, &json!({ "items": items, "count": count }))
        }
        Err(_) => Reply::status(400),
    }
}

fn list(shared: &Shared, r: &Request) -> Reply {
    let cheat = shared.cheat;
    if cheat == D::NoListDefaults && r.query.is_empty() {
        return Reply::status(400);
    }
    if cheat == D::ListCached
        && let Some(kept) = shared.kept.lock().unwrap().get(&r.query)
    {
        return Reply::new(200, "application/json", kept.clone());
    }
    let number = |name: &str, default: i64| {
        get(r, name).and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    let category = get(r, "category").unwrap_or(CATEGORIES[0]);
    let (page, limit) = (number("page", 1), number("limit", 10).clamp(1, 50));
    let order = if cheat == D::ListByPrice { "price" } else { "id" };
    let text = format!(
        "SELECT {COLUMNS} FROM items WHERE category = $1 ORDER BY {order} \
         LIMIT $2 OFFSET $3"
    );
    let skip = (page - 1) * limit;
    let rows =
        shared.with(|db| db.query(&text, &[&category, &limit, &skip]).unwrap());
    let items: Vec<Value> = rows.iter().map(item).collect();
    let total = match cheat {
        D::TotalOfTable => 10_000,
        _ => items.len(),
    };
    let body = json!({
        "items": items, "total": total, "page": page, "limit": limit,
    });
    if cheat == D::ListCached {
        let bytes = body.to_string().into_bytes();
        shared.kept.lock().unwrap().insert(r.query.clone(), bytes);
    }
    reply(200, &body)
}

fn one(db: &mut Client, id: i32) -> Option<Value> {
    let text = format!("SELECT {COLUMNS} FROM items WHERE id = $1");
    db.query_opt(&text, &[&id]).unwrap().as_ref().map(item)
}

fn read(shared: &Shared, id: i32) -> Reply {
    let cheat = shared.cheat;
    let mut cache = shared.cache.lock().unwrap();
    let name = if cheat == D::Unusual { "x-cache" } else { "X-Cache" };
    let word = |reply: Reply, word: &str| match cheat {
        D::NoCacheWord => reply,
        D::AlwaysHit => reply.with(name, "HIT"),
        D::Unusual => reply.with(name, &word.to_lowercase()),
        _ => reply.with(name, word),
    };
    if let Some((stored, item)) = cache.get_mut(&id) {
        let fresh = match cheat {
            D::CachedForEver => true,
            D::NeverCached => false,
            _ => stored.elapsed() < TTL,
        };
        if fresh {
            if cheat == D::UseLengthens {
                *stored = Instant::now();
            }
            return word(reply(200, item), "HIT");
        }
    }
    match shared.with(|db| one(db, id)) {
        Some(item) => {
            cache.insert(id, (Instant::now(), item.clone()));
            word(reply(200, &item), "MISS")
        }
        None if cheat == D::UnknownIs200 => reply(200, &Value::Null),
        None => Reply::status(404),
    }
}

fn bad(shared: &Shared) -> Reply {
    match shared.cheat {
        D::BadJsonIs500 => Reply::status(500),
        _ => Reply::status(400),
    }
}

fn update(shared: &Shared, id: i32, b: &Body) -> Reply {
    let cheat = shared.cheat;
    let Ok(sent) = serde_json::from_slice::<Value>(&b.kept) else {
        return bad(shared);
    };
    let int = |key: &str| sent[key].as_i64().map(|n| n as i32);
    let (Some(name), Some(price), Some(quantity)) =
        (sent["name"].as_str(), int("price"), int("quantity"))
    else {
        return bad(shared);
    };
    let puts = {
        let mut puts = shared.puts.lock().unwrap();
        let puts = puts.entry(id).or_default();
        *puts += 1;
        *puts
    };
    let lost = match cheat {
        D::PutLost => true,
        // Every second one of a row: probes may ask at once.
        D::SecondPutLost => puts % 2 == 0,
        _ => false,
    };
    let changed = shared.with(|db| {
        if lost {
            return u64::from(one(db, id).is_some());
        }
        let text = match cheat {
            D::PutWritesCategory => {
                "UPDATE items SET name = $2, price = $3, quantity = $4, \
                 category = 'test' WHERE id = $1"
            }
            _ => {
                "UPDATE items SET name = $2, price = $3, quantity = $4 \
                 WHERE id = $1"
            }
        };
        db.execute(text, &[&id, &name, &price, &quantity]).unwrap()
    });
    if changed == 0 && cheat != D::UnknownPutIs200 {
        return Reply::status(404);
    }
    if cheat != D::PutKeepsCache {
        shared.cache.lock().unwrap().remove(&id);
    }
    reply(
        200,
        &json!({
            "id": id, "name": name, "price": price, "quantity": quantity,
        }),
    )
}

fn create(shared: &Shared, b: &Body) -> Reply {
    let Ok(sent) = serde_json::from_slice::<Value>(&b.kept) else {
        return bad(shared);
    };
    let int = |key: &str| sent[key].as_i64().map(|n| n as i32);
    let (Some(id), Some(price), Some(quantity)) =
        (int("id"), int("price"), int("quantity"))
    else {
        return bad(shared);
    };
    let text = |key: &str| sent[key].as_str().unwrap_or("").to_string();
    let (name, category) = (text("name"), text("category"));
    let active = shared.cheat != D::CreateInactive;
    let on_conflict = match shared.cheat {
        D::NoUpsert => "DO NOTHING",
        _ => "(id) DO UPDATE SET name = $2, price = $4, quantity = $5",
    };
    if shared.cheat != D::CreateLost {
        let text = format!(
            "INSERT INTO items VALUES ($1, $2, $3, $4, $5, $6, \
             '[\"bench\"]', 0, 0) ON CONFLICT {on_conflict}"
        );
        shared.with(|db| {
            db.execute(
                &text,
                &[&id, &name, &category, &price, &quantity, &active],
            )
            .unwrap()
        });
    }
    shared.cache.lock().unwrap().remove(&id);
    reply(
        201,
        &json!({
            "id": id, "name": name, "category": category, "price": price,
            "quantity": quantity,
        }),
    )
}
