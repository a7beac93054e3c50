//! `/api`: the server's part of the production stack. Who asks is in
//! `X-User-Id`, which the edge sets: no token is seen here.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::get,
};
use redis::aio::ConnectionManager;
use serde::{Deserialize, Serialize};
use tokio_postgres::{Error, Row};

use crate::{
    cache::{HIT, MISS, Tiers, Times, XCache},
    database::Database,
    item::{Change, Item},
};

/// Together the second that an item may be cached at most.
const ITEM_TIMES: Times = Times {
    process: Duration::from_millis(300),
    redis: Duration::from_millis(650),
};

/// Together within the 30 s of a user.
const USER_TIMES: Times =
    Times { process: Duration::from_secs(10), redis: Duration::from_secs(19) };

const USER: &str = "SELECT id, name, email, plan FROM users WHERE id = $1";

#[derive(Deserialize, Serialize)]
struct User {
    id: i32,
    name: String,
    email: String,
    plan: String,
}

impl User {
    fn of(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.try_get(0)?,
            name: row.try_get(1)?,
            email: row.try_get(2)?,
            plan: row.try_get(3)?,
        })
    }
}

struct Stack {
    database: Database,
    items: Tiers<Item>,
    users: Tiers<User>,
}

pub fn router(database: Database, redis: Option<ConnectionManager>) -> Router {
    let items = Tiers::new("item", &ITEM_TIMES, redis.clone());
    let users = Tiers::new("user", &USER_TIMES, redis);
    Router::new()
        .route("/api/items/{id}", get(read).post(write))
        .route("/api/me", get(me))
        .with_state(Arc::new(Stack { database, items, users }))
}

type Answer<T> = Result<(XCache, Json<Arc<T>>), StatusCode>;

async fn read(
    State(stack): State<Arc<Stack>>,
    Path(id): Path<i64>,
) -> Answer<Item> {
    let id = row_id(id)?;
    if let Some(item) = stack.items.get(id).await {
        return Ok((HIT, Json(item)));
    }
    let item = stack.database.item(id).await?;
    let item = item.ok_or(StatusCode::NOT_FOUND)?;
    Ok((MISS, Json(stack.items.put(id, item).await)))
}

async fn write(
    State(stack): State<Arc<Stack>>,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Result<StatusCode, StatusCode> {
    let id = row_id(id)?;
    if !stack.database.update(id, &change).await? {
        return Err(StatusCode::NOT_FOUND);
    }
    stack.items.remove(id).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn me(
    State(stack): State<Arc<Stack>>,
    headers: HeaderMap,
) -> Answer<User> {
    let id = asking(&headers).ok_or(StatusCode::UNAUTHORIZED)?;
    if let Some(user) = stack.users.get(id).await {
        return Ok((HIT, Json(user)));
    }
    let rows = stack.database.rows(USER, &[&id]).await?;
    let row = rows.first().ok_or(StatusCode::NOT_FOUND)?;
    let user = stack.database.told(User::of(row))?;
    Ok((MISS, Json(stack.users.put(id, user).await)))
}

fn asking(headers: &HeaderMap) -> Option<i32> {
    headers.get("x-user-id")?.to_str().ok()?.parse().ok()
}

/// No row has an id beyond 32 bits.
fn row_id(id: i64) -> Result<i32, StatusCode> {
    id.try_into().map_err(|_| StatusCode::NOT_FOUND)
}
