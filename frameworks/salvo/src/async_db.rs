//! `/async-db`: items of a range of prices.

use salvo::prelude::*;
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
struct Range {
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
struct Found {
    items: Vec<Item>,
    count: usize,
}

pub struct Search(pub Database);

#[handler]
impl Search {
    /// Without a database nothing is found, says the contract.
    async fn handle(
        &self,
        req: &mut Request,
    ) -> Result<Json<impl Serialize + Send + use<>>, StatusError> {
        let Range { min, max, limit } =
            req.parse_queries().map_err(|_| StatusError::bad_request())?;
        let limit = limit.clamp(1, 50);
        let found = self.0.items(BY_PRICE, &[&min, &max, &limit]).await;
        let items = found.unwrap_or_default();
        Ok(Json(Found { count: items.len(), items }))
    }
}
