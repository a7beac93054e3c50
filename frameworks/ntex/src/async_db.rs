//! `/async-db`: items of a range of prices.

use ntex::web::types::{Json, Query, State};
use serde::{Deserialize, Serialize};

use crate::{
    database::Database,
    item::{Item, select_items},
};

// Bounds beyond 32 bits are bounds as well.
const BY_PRICE: &str =
    select_items!("WHERE price BETWEEN $1::bigint AND $2::bigint LIMIT $3");

#[derive(Deserialize)]
#[serde(default)]
pub struct Range {
    min: i64,
    max: i64,
    limit: i64,
}

impl Default for Range {
    fn default() -> Self {
        Self { min: 10, max: 50, limit: 50 }
    }
}

#[derive(Serialize)]
pub struct Found {
    items: Vec<Item>,
    count: usize,
}

/// Without a database nothing is found, says the contract.
pub async fn get(
    database: State<Database>,
    Query(Range { min, max, limit }): Query<Range>,
) -> Json<Found> {
    let limit = limit.clamp(1, 50);
    let found = database.items(BY_PRICE, &[&min, &max, &limit]).await;
    let items = found.unwrap_or_default();
    Json(Found { count: items.len(), items })
}
