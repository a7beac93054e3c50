//! A server of rows, without its sockets: `crud` and the items and users of
//! the production stack. It remembers what is written to it.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::collections::HashMap;

use profiles::data::{Row, Rows, User};
use serde_json::{Value, json};

pub const CRUD: &str = include_str!("../../../../profiles/defs/crud.toml");

/// The items of the production stack on plain HTTP/1.1.
pub const STACK: &str = r#"
title = "Items"
summary = "Rows and users of the stack."
family = "h1-data"
scored = false
leagues = ["framework"]
metric = "answers"
protocol = "http1"
port = 8080
endpoints = ["/api/items/{id}", "/api/me"]

[load]
levels = [8]
in_flight = 1
window = "1s"
share_total = 4

[server]
cpus = "pool"
reference_cpus = "0-1"

[[class]]
name = "read"
share = 2
ask = "item-read"
ids = "1-20"

[[class]]
name = "write"
share = 1
ask = "item-write"
ids = "1-20"

[[class]]
name = "me"
share = 1
ask = "me"
ids = "42-42"
"#;

/// The definition without a limit of requests per connection.
pub fn endless(definition: &str) -> String {
    definition.replace("requests_per_connection = 200\n", "")
}

/// What was written, by id: name, price and quantity.
#[derive(Debug, Default)]
pub struct Table {
    written: HashMap<i64, (String, i64, i64)>,
}

impl Table {
    /// The whole reply to one request.
    pub fn reply(&mut self, head: &str, body: &[u8]) -> String {
        let mut words = head.split(' ');
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default();
        let (status, body) = self.answer(method, target, body);
        let n = body.len();
        if status == 204 {
            return "HTTP/1.1 204 No Content\r\n\r\n".into();
        }
        format!(
            "HTTP/1.1 {status} Yes\r\nContent-Type: application/json\r\n\
             X-Cache: MISS\r\nContent-Length: {n}\r\n\r\n{body}"
        )
    }

    /// The status and body of the answer to one request.
    pub fn answer(
        &mut self,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> (u16, String) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let id = path.rsplit('/').next().and_then(|id| id.parse().ok());
        let said: Value = serde_json::from_slice(body).unwrap_or_default();
        let id: Option<i64> = id.or_else(|| said["id"].as_i64());
        match (method, id) {
            ("GET", None) if path == "/api/me" => (200, me(42)),
            ("GET", None) => (200, self.page(query)),
            ("GET" | "PUT", Some(id)) if self.item(id).is_none() => {
                (404, String::new())
            }
            ("GET", Some(id)) => (200, self.item(id).unwrap().to_string()),
            (_, Some(id)) => {
                let name = said["name"].as_str().unwrap_or_default();
                let number = |key: &str| said[key].as_i64().unwrap_or(-1);
                let row =
                    (name.to_owned(), number("price"), number("quantity"));
                self.written.insert(id, row);
                let mut said = said;
                said["id"] = id.into();
                let status = match path {
                    "/crud/items" => 201,
                    path if path.starts_with("/api/") => 204,
                    _ => 200,
                };
                (status, said.to_string())
            }
            _ => (404, String::new()),
        }
    }

    fn item(&self, id: i64) -> Option<Value> {
        let written = self.written.get(&id);
        let mut item = match Rows::get().row(id) {
            Some(row) => seed(&row),
            None if written.is_none() => return None,
            None => json!({
                "id": id, "category": "test", "active": true,
                "tags": ["bench"], "rating": {"score": 0, "count": 0},
            }),
        };
        if let Some((name, price, quantity)) = written {
            item["name"] = name.as_str().into();
            item["price"] = (*price).into();
            item["quantity"] = (*quantity).into();
        }
        Some(item)
    }

    fn page(&self, query: &str) -> String {
        let value = |key: &str| {
            let pairs = query.split('&').filter_map(|p| p.split_once('='));
            pairs.filter(|(k, _)| *k == key).map(|(_, v)| v).next()
        };
        let number = |key| value(key).and_then(|v| v.parse::<usize>().ok());
        let (page, limit) =
            (number("page").unwrap_or(1), number("limit").unwrap_or(10));
        let ids = Rows::get().ids_of(value("category").unwrap_or_default());
        let ids = ids.unwrap_or_default().iter();
        let items: Vec<Value> = ids
            .skip((page - 1) * limit)
            .take(limit)
            .filter_map(|id| self.item((*id).into()))
            .collect();
        let total = items.len();
        json!({"items": items, "total": total, "page": page, "limit": limit})
            .to_string()
    }
}

/// A row as it was before anything was written.
pub fn seed(row: &Row) -> Value {
    json!({
        "id": row.id, "name": row.name(), "category": row.category,
        "price": row.price, "quantity": row.quantity, "active": row.active,
        "tags": row.tags.iter().collect::<Vec<_>>(),
        "rating": {"score": row.rating_score, "count": row.rating_count},
    })
}

/// What a user is told of himself.
pub fn me(id: i64) -> String {
    let User { id, name, email, plan } = User::with_id(id).unwrap();
    json!({"id": id, "name": name, "email": email, "plan": plan}).to_string()
}
