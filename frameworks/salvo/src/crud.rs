//! `/crud/items`: a REST API whose single items are cached for a moment.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;
use salvo::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
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
    let store = Arc::new(Store { database, cache });
    let one = Router::with_path("{id}")
        .get(Read(store.clone()))
        .put(Update(store.clone()));
    Router::with_path("crud/items")
        .get(List(store.clone()))
        .post(Create(store))
        .push(one)
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

struct List(Arc<Store>);

#[handler]
impl List {
    async fn handle(
        &self,
        req: &mut Request,
        res: &mut Response,
    ) -> Result<(), StatusError> {
        let Wanted { category, page, limit } =
            req.parse_queries().map_err(|_| StatusError::bad_request())?;
        let (page, limit) = (page.max(1), limit.clamp(1, 50));
        let offset = (page - 1).saturating_mul(limit);
        let page_of: &[Parameter<'_>] = &[&category, &limit, &offset];
        let items = self.0.database.items(BY_CATEGORY, page_of).await?;
        res.render(Json(Page { total: items.len(), items, page, limit }));
        Ok(())
    }
}

struct Read(Arc<Store>);

#[handler]
impl Read {
    async fn handle(
        &self,
        req: &mut Request,
        res: &mut Response,
    ) -> Result<(), StatusError> {
        let id = row_id(req)?;
        let Store { database, cache } = &*self.0;
        let (found, item) = match cache.get(&id) {
            Some(item) => ("HIT", item),
            None => {
                let item = database.item(id).await?;
                let item = item.ok_or_else(StatusError::not_found)?;
                let item = Arc::new(item);
                cache.insert(id, item.clone());
                ("MISS", item)
            }
        };
        res.headers_mut().insert("x-cache", found.parse().unwrap());
        res.render(Json(&*item));
        Ok(())
    }
}

#[derive(Deserialize, Serialize)]
struct Created {
    id: i32,
    name: String,
    category: String,
    price: i32,
    quantity: i32,
}

struct Create(Arc<Store>);

#[handler]
impl Create {
    async fn handle(
        &self,
        req: &mut Request,
        res: &mut Response,
    ) -> Result<(), StatusError> {
        let new: Created = body(req).await?;
        let Created { id, name, category, price, quantity } = &new;
        let row: &[Parameter<'_>] = &[id, name, category, price, quantity];
        self.0.database.write(UPSERT, row).await?;
        // It may have been there, and cached.
        self.0.cache.invalidate(id);
        res.render_with_status(StatusCode::CREATED, Json(&new));
        Ok(())
    }
}

#[derive(Serialize)]
struct Updated {
    id: i32,
    name: String,
    price: i32,
    quantity: i32,
}

struct Update(Arc<Store>);

#[handler]
impl Update {
    async fn handle(
        &self,
        req: &mut Request,
        res: &mut Response,
    ) -> Result<(), StatusError> {
        let id = row_id(req)?;
        let change: Change = body(req).await?;
        if !self.0.database.update(id, &change).await? {
            return Err(StatusError::not_found());
        }
        self.0.cache.invalidate(&id);
        let Change { name, price, quantity } = change;
        res.render(Json(Updated { id, name, price, quantity }));
        Ok(())
    }
}

async fn body<'de, T: Deserialize<'de>>(
    req: &'de mut Request,
) -> Result<T, StatusError> {
    req.parse_json().await.map_err(|_| StatusError::bad_request())
}

/// No row has an id beyond 32 bits.
fn row_id(req: &Request) -> Result<i32, StatusError> {
    let id: i64 = req.param("id").ok_or_else(StatusError::bad_request)?;
    id.try_into().map_err(|_| StatusError::not_found())
}
