//! What the server answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use profiles::data::{Dataset, Rows, StaticFile};
use serde_json::{Value, json};

use crate::table::{Table, me, seed};

/// The database, the tokens and the counts.
#[derive(Default)]
pub struct State {
    table: Table,
    files: HashMap<&'static str, Vec<u8>>,
    pub created: Vec<i64>,
    pub tokens: HashMap<String, i64>,
    pub counts: BTreeMap<String, u64>,
}

type Reply = Response<Vec<u8>>;

impl State {
    pub fn answer(&mut self, head: &Parts, body: &[u8]) -> Reply {
        let path = head.uri.path();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let name = parts[..parts.len().min(2)].join("/");
        let name = match parts[0] {
            "static" | "json" => parts[0].to_string(),
            _ => name,
        };
        *self.counts.entry(format!("{} {name}", head.method)).or_default() += 1;
        let query: HashMap<&str, &str> = head
            .uri
            .query()
            .unwrap_or("")
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let number = |key: &str| -> i64 {
            query.get(key).and_then(|v| v.parse().ok()).unwrap_or(0)
        };
        let user = head
            .headers
            .get("authorization")
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
            .and_then(|token| self.tokens.get(token).copied());
        match (&head.method, parts.as_slice()) {
            (_, ["api", ..]) if user.is_none() => status(401),
            (_, ["baseline11" | "baseline2"] | ["public", "baseline"]) => {
                let third = std::str::from_utf8(body).unwrap_or("");
                let third: i64 = third.parse().unwrap_or(0);
                let sum = number("a") + number("b") + third;
                with("text/plain", sum.to_string().into_bytes())
            }
            (_, ["json", count]) => document(count, &query),
            (_, ["static", name]) => match StaticFile::named(name) {
                Some(file) => {
                    let bytes = self.files.entry(file.name);
                    let bytes = bytes.or_insert_with(|| file.contents());
                    with(file.content_types[0], bytes.clone())
                }
                None => status(404),
            },
            (_, ["async-db"]) => {
                self.range(number("min"), number("max"), number("limit"))
            }
            (_, ["api", "me"]) => match user {
                Some(user) => json_text(200, me(user)),
                None => status(404),
            },
            (method, ["crud" | "api", "items", ..]) => {
                let target = head.uri.path_and_query().unwrap().as_str();
                let (code, text) =
                    self.table.answer(method.as_str(), target, body);
                if code == 201 {
                    let row: Value = serde_json::from_str(&text).unwrap();
                    self.created.push(row["id"].as_i64().unwrap());
                }
                match code {
                    204 | 404 => status(code),
                    _ => json_text(code, text),
                }
            }
            _ => status(404),
        }
    }

    fn range(&self, min: i64, max: i64, limit: i64) -> Reply {
        let items: Vec<Value> = Rows::get()
            .iter()
            .filter(|row| (min..=max).contains(&row.price))
            .take(limit.clamp(1, 50) as usize)
            .map(|row| seed(&row))
            .collect();
        let count = items.len();
        json_text(200, json!({"items": items, "count": count}).to_string())
    }
}

fn document(count: &str, query: &HashMap<&str, &str>) -> Reply {
    let count: usize = count.parse().unwrap_or(0);
    let m: i64 = query.get("m").and_then(|m| m.parse().ok()).unwrap_or(1);
    static DATASET: OnceLock<Dataset> = OnceLock::new();
    let items: Vec<Value> = DATASET
        .get_or_init(Dataset::generate)
        .0
        .iter()
        .take(count)
        .map(|item| {
            let mut value = serde_json::to_value(item).unwrap();
            let total = i64::from(item.price) * i64::from(item.quantity) * m;
            value["total"] = json!(total);
            value
        })
        .collect();
    json_text(200, json!({"items": items, "count": count}).to_string())
}

fn json_text(code: u16, text: String) -> Reply {
    let mut reply = with("application/json", text.into_bytes());
    *reply.status_mut() = StatusCode::from_u16(code).unwrap();
    reply
}

fn with(kind: &str, body: Vec<u8>) -> Reply {
    Response::builder().header("content-type", kind).body(body).unwrap()
}

fn status(code: u16) -> Reply {
    Response::builder().status(code).body(Vec::new()).unwrap()
}
