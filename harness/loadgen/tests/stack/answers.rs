//! What the server answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use profiles::data::{Dataset, Row, Rows, StaticFile, User};
use serde_json::{Value, json};

/// The columns that change: name, price, quantity.
type Changed = (String, i64, i64);

/// The database, the tokens and the counts.
#[derive(Default)]
pub struct State {
    changed: HashMap<i64, Changed>,
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
        let id = || parts[parts.len() - 1].parse::<i64>().unwrap_or(0);
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
            (&Method::POST, ["crud", "items"]) => self.create(body),
            (_, ["crud", "items"]) => {
                let category = query.get("category").copied();
                self.list(
                    category.unwrap_or(""),
                    number("page"),
                    number("limit"),
                )
            }
            (&Method::PUT, ["crud", "items", _]) => {
                self.update(id(), body, 200)
            }
            (&Method::POST, ["api", "items", _]) => {
                self.update(id(), body, 204)
            }
            (_, ["crud" | "api", "items", _]) => match self.item(id()) {
                Some(item) => json_of(200, &item),
                None => status(404),
            },
            (_, ["api", "me"]) => match user.and_then(User::with_id) {
                Some(User { id, name, email, plan }) => json_of(
                    200,
                    &json!({"id": id, "name": name, "email": email,
                            "plan": plan}),
                ),
                None => status(404),
            },
            _ => status(404),
        }
    }

    fn item(&self, id: i64) -> Option<Value> {
        let row = Rows::get().row(id);
        let mut item = match (row, self.changed.get(&id)) {
            (Some(row), _) => of_row(&row),
            (None, Some(_)) => json!({
                "id": id, "category": "test", "active": true,
                "tags": ["bench"], "rating": {"score": 0, "count": 0}
            }),
            (None, None) => return None,
        };
        if let Some((name, price, quantity)) = self.changed.get(&id) {
            item["name"] = json!(name);
            item["price"] = json!(price);
            item["quantity"] = json!(quantity);
        }
        Some(item)
    }

    fn range(&self, min: i64, max: i64, limit: i64) -> Reply {
        let items: Vec<Value> = Rows::get()
            .iter()
            .filter(|row| (min..=max).contains(&row.price))
            .take(limit.clamp(1, 50) as usize)
            .map(|row| of_row(&row))
            .collect();
        let count = items.len();
        json_of(200, &json!({"items": items, "count": count}))
    }

    fn list(&self, category: &str, page: i64, limit: i64) -> Reply {
        let skip = (page - 1) * limit;
        let items: Vec<Value> = Rows::get()
            .iter()
            .filter(|row| row.category == category)
            .skip(skip as usize)
            .take(limit as usize)
            .filter_map(|row| self.item(row.id))
            .collect();
        let total = items.len();
        let page = json!({"items": items, "total": total, "page": page,
            "limit": limit});
        json_of(200, &page)
    }

    fn create(&mut self, body: &[u8]) -> Reply {
        let Ok(new) = serde_json::from_slice::<Value>(body) else {
            return status(400);
        };
        let id = new["id"].as_i64().unwrap_or(0);
        self.created.push(id);
        self.changed.insert(id, changed(&new));
        json_of(201, &new)
    }

    fn update(&mut self, id: i64, body: &[u8], code: u16) -> Reply {
        let Ok(new) = serde_json::from_slice::<Value>(body) else {
            return status(400);
        };
        if self.item(id).is_none() {
            return status(404);
        }
        self.changed.insert(id, changed(&new));
        if code == 204 {
            return status(204);
        }
        let (name, price, quantity) = changed(&new);
        let now = json!({"id": id, "name": name, "price": price,
            "quantity": quantity});
        json_of(code, &now)
    }
}

fn changed(new: &Value) -> Changed {
    let number = |key: &str| new[key].as_i64().unwrap_or(0);
    let name = new["name"].as_str().unwrap_or("").to_string();
    (name, number("price"), number("quantity"))
}

fn of_row(row: &Row) -> Value {
    let tags: Vec<&str> = row.tags.iter().collect();
    json!({
        "id": row.id, "name": row.name(), "category": row.category,
        "price": row.price, "quantity": row.quantity, "active": row.active,
        "tags": tags,
        "rating": {"score": row.rating_score, "count": row.rating_count}
    })
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
    json_of(200, &json!({"items": items, "count": count}))
}

fn json_of(code: u16, value: &Value) -> Reply {
    let mut reply =
        with("application/json", serde_json::to_vec(value).unwrap());
    *reply.status_mut() = StatusCode::from_u16(code).unwrap();
    reply
}

fn with(kind: &str, body: Vec<u8>) -> Reply {
    Response::builder().header("content-type", kind).body(body).unwrap()
}

fn status(code: u16) -> Reply {
    Response::builder().status(code).body(Vec::new()).unwrap()
}
