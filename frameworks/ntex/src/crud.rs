//! `/crud/items`: a REST API whose single items are cached for a moment.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;
use ntex::web::{
    HttpResponse,
    types::{Json, Path, Query, State},
};
use serde::{Deserialize, Serialize};

use crate::{
    database::{Database, Parameter},
    item::{Change, Item, row_id, select_items},
    refused::Refused,
};

const CAPACITY: u64 = 100_000;

/// Counted from when an item was stored, whatever it is used.
const TIME_TO_LIVE: Duration = Duration::from_millis(200);

const BY_CATEGORY: &str =
    select_items!("WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3");

const UPSERT: &str = "INSERT INTO items (id, name, category, price, quantity, \
    active, tags, rating_score, rating_count) \
    VALUES ($1, $2, $3, $4, $5, true, '[\"bench\"]', 0, 0) \
    ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, \
    price = EXCLUDED.price, quantity = EXCLUDED.quantity";

pub type Cached = Cache<i32, Arc<Item>>;

pub fn cached() -> Cached {
    Cache::builder().max_capacity(CAPACITY).time_to_live(TIME_TO_LIVE).build()
}

pub struct Store {
    database: Database,
    cache: Cached,
}

impl Store {
    pub fn new(database: Database, cache: Cached) -> Self {
        Self { database, cache }
    }
}

#[derive(Deserialize)]
#[serde(default)]
pub struct Wanted {
    category: String,
    page: i64,
    limit: i64,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { category: "electronics".to_owned(), page: 1, limit: 10 }
    }
}

#[derive(Serialize)]
pub struct Page {
    items: Vec<Item>,
    total: usize,
    page: i64,
    limit: i64,
}

pub async fn list(
    store: State<Store>,
    Query(Wanted { category, page, limit }): Query<Wanted>,
) -> Result<Json<Page>, Refused> {
    let (page, limit) = (page.max(1), limit.clamp(1, 50));
    let offset = (page - 1).saturating_mul(limit);
    let parameters: [Parameter<'_>; 3] = [&category, &limit, &offset];
    let items = store.database.items(BY_CATEGORY, &parameters).await?;
    Ok(Json(Page { total: items.len(), items, page, limit }))
}

pub async fn read(
    store: State<Store>,
    id: Path<i64>,
) -> Result<HttpResponse, Refused> {
    let id = row_id(*id)?;
    if let Some(item) = store.cache.get(&id) {
        return Ok(found("HIT", &item));
    }
    let item = store.database.item(id).await?;
    let item = Arc::new(item.ok_or(Refused::NotFound)?);
    store.cache.insert(id, Arc::clone(&item));
    Ok(found("MISS", &item))
}

fn found(word: &'static str, item: &Item) -> HttpResponse {
    HttpResponse::Ok().header("x-cache", word).json(item)
}

#[derive(Deserialize, Serialize)]
pub struct Created {
    id: i32,
    name: String,
    category: String,
    price: i32,
    quantity: i32,
}

pub async fn create(
    store: State<Store>,
    new: Json<Created>,
) -> Result<HttpResponse, Refused> {
    let Created { id, name, category, price, quantity } = &*new;
    let parameters: [Parameter<'_>; 5] = [id, name, category, price, quantity];
    store.database.write(UPSERT, &parameters).await?;
    // It may have been there, and cached.
    store.cache.invalidate(id);
    Ok(HttpResponse::Created().json(&*new))
}

#[derive(Serialize)]
pub struct Updated {
    id: i32,
    name: String,
    price: i32,
    quantity: i32,
}

pub async fn update(
    store: State<Store>,
    id: Path<i64>,
    Json(change): Json<Change>,
) -> Result<Json<Updated>, Refused> {
    let id = row_id(*id)?;
    if !store.database.update(id, &change).await? {
        return Err(Refused::NotFound);
    }
    store.cache.invalidate(&id);
    let Change { name, price, quantity } = change;
    Ok(Json(Updated { id, name, price, quantity }))
}
