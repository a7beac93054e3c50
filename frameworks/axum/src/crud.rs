//! `/crud/items`: a REST API whose single items are cached for a moment.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::get,
};
use moka::sync::Cache;
use serde::{Deserialize, Serialize};

use crate::{
    cache::{HIT, MISS, XCache},
    database::{Database, Parameter},
    item::{Change, Item, select_items},
};

/// Counted from when an item was stored, whatever it is used.
const TIME_TO_LIVE: Duration = Duration::from_millis(200);
const CAPACITY: u64 = 100_000;

const BY_CATEGORY: &str =
    select_items!("WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3");

const UPSERT: &str = "INSERT INTO items (id, name, category, price, quantity, \
    active, tags, rating_score, rating_count) \
    VALUES ($1, $2, $3, $4, $5, true, '[\"bench\"]', 0, 0) \
    ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, \
    price = EXCLUDED.price, quantity = EXCLUDED.quantity";

struct Store {
    database: Database,
    cache: Cache<i32, Arc<Item>>,
}

pub fn router(database: Database) -> Router {
    let cache = Cache::builder()
        .max_capacity(CAPACITY)
        .time_to_live(TIME_TO_LIVE)
        .build();
    Router::new()
        .route("/crud/items", get(list).post(create))
        .route("/crud/items/{id}", get(read).put(update))
        .with_state(Arc::new(Store { database, cache }))
}

#[derive(Deserialize)]
#[serde(default)]
struct Wanted {
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
struct Page {
    items: Vec<Item>,
    total: usize,
    page: i64,
    limit: i64,
}

async fn list(
    State(store): State<Arc<Store>>,
    Query(Wanted { category, page, limit }): Query<Wanted>,
) -> Result<Json<Page>, StatusCode> {
    let (page, limit) = (page.max(1), limit.clamp(1, 50));
    let offset = (page - 1).saturating_mul(limit);
    let page_of: &[Parameter<'_>] = &[&category, &limit, &offset];
    let items = store.database.items(BY_CATEGORY, page_of).await?;
    Ok(Json(Page { total: items.len(), items, page, limit }))
}

async fn read(
    State(store): State<Arc<Store>>,
    Path(id): Path<i64>,
) -> Result<(XCache, Json<Arc<Item>>), StatusCode> {
    let id = row_id(id)?;
    if let Some(item) = store.cache.get(&id) {
        return Ok((HIT, Json(item)));
    }
    let item = store.database.item(id).await?;
    let item = Arc::new(item.ok_or(StatusCode::NOT_FOUND)?);
    store.cache.insert(id, item.clone());
    Ok((MISS, Json(item)))
}

#[derive(Deserialize, Serialize)]
struct Created {
    id: i32,
    name: String,
    category: String,
    price: i32,
    quantity: i32,
}

async fn create(
    State(store): State<Arc<Store>>,
    Json(new): Json<Created>,
) -> Result<(StatusCode, Json<Created>), StatusCode> {
    let Created { id, name, category, price, quantity } = &new;
    let row: &[Parameter<'_>] = &[id, name, category, price, quantity];
    store.database.write(UPSERT, row).await?;
    // It may have been there, and cached.
    store.cache.invalidate(id);
    Ok((StatusCode::CREATED, Json(new)))
}

#[derive(Serialize)]
struct Updated {
    id: i32,
    name: String,
    price: i32,
    quantity: i32,
}

async fn update(
    State(store): State<Arc<Store>>,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Result<Json<Updated>, StatusCode> {
    let id = row_id(id)?;
    if !store.database.update(id, &change).await? {
        return Err(StatusCode::NOT_FOUND);
    }
    store.cache.invalidate(&id);
    let Change { name, price, quantity } = change;
    Ok(Json(Updated { id, name, price, quantity }))
}

/// No row has an id beyond 32 bits.
fn row_id(id: i64) -> Result<i32, StatusCode> {
    id.try_into().map_err(|_| StatusCode::NOT_FOUND)
}
