//! `/api`: the server's part of the production stack. Who asks is in
//! `X-User-Id`, which the edge sets: no token is seen here.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse, Result,
    error::{ErrorNotFound, ErrorUnauthorized},
    web::{Data, Json, Path},
};
use redis::aio::ConnectionManager;
use serde::{Deserialize, Serialize};
use tokio_postgres::{Error, Row};

use crate::{
    cache::{Answer, Near, Tiers, Times, hit, miss},
    database::Database,
    item::{Change, Item, row_id},
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
pub struct User {
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

/// The tiers that all workers share.
#[derive(Clone)]
pub struct Cached {
    items: Near<Item>,
    users: Near<User>,
}

impl Cached {
    pub fn new() -> Self {
        Self { items: ITEM_TIMES.near(), users: USER_TIMES.near() }
    }
}

pub struct Stack {
    database: Database,
    items: Tiers<Item>,
    users: Tiers<User>,
}

impl Stack {
    pub fn new(
        database: Database,
        cached: &Cached,
        redis: Option<ConnectionManager>,
    ) -> Self {
        let Cached { items, users } = cached.clone();
        let items = Tiers::new("item", &ITEM_TIMES, items, redis.clone());
        let users = Tiers::new("user", &USER_TIMES, users, redis);
        Self { database, items, users }
    }
}

pub async fn read(stack: Data<Stack>, id: Path<i64>) -> Result<Answer<Item>> {
    let id = row_id(*id)?;
    if let Some(item) = stack.items.get(id).await {
        return Ok(hit(item));
    }
    let item = stack.database.item(id).await?;
    let item = item.ok_or_else(|| ErrorNotFound("no such item"))?;
    Ok(miss(stack.items.put(id, item).await))
}

pub async fn write(
    stack: Data<Stack>,
    id: Path<i64>,
    Json(change): Json<Change>,
) -> Result<HttpResponse> {
    let id = row_id(*id)?;
    if !stack.database.update(id, &change).await? {
        return Err(ErrorNotFound("no such item"));
    }
    stack.items.remove(id).await;
    Ok(HttpResponse::NoContent().finish())
}

pub async fn me(
    stack: Data<Stack>,
    request: HttpRequest,
) -> Result<Answer<User>> {
    let id = asking(&request).ok_or_else(|| ErrorUnauthorized("who asks?"))?;
    if let Some(user) = stack.users.get(id).await {
        return Ok(hit(user));
    }
    let rows = stack.database.rows(USER, &[&id]).await?;
    let row = rows.first().ok_or_else(|| ErrorNotFound("no such user"))?;
    let user = stack.database.told(User::of(row))?;
    Ok(miss(stack.users.put(id, user).await))
}

fn asking(request: &HttpRequest) -> Option<i32> {
    request.headers().get("x-user-id")?.to_str().ok()?.parse().ok()
}
