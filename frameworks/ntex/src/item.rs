//! A row of the table `items`.

use serde::{Deserialize, Serialize};
use tokio_postgres::{Error, Row, types::Json};

use crate::refused::Refused;

/// What a query selects for [`Item::of`], in its order.
macro_rules! select_items {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, category, price, quantity, active, tags, \
             rating_score, rating_count FROM items ",
            $rest
        )
    };
}
pub(crate) use select_items;

pub const BY_ID: &str = select_items!("WHERE id = $1");

#[derive(Deserialize, Serialize)]
pub struct Item {
    id: i32,
    name: String,
    category: String,
    price: i32,
    quantity: i32,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
}

#[derive(Deserialize, Serialize)]
struct Rating {
    score: i32,
    count: i32,
}

impl Item {
    pub fn of(row: &Row) -> Result<Self, Error> {
        let Json(tags) = row.try_get(6)?;
        let rating = Rating { score: row.try_get(7)?, count: row.try_get(8)? };
        Ok(Self {
            id: row.try_get(0)?,
            name: row.try_get(1)?,
            category: row.try_get(2)?,
            price: row.try_get(3)?,
            quantity: row.try_get(4)?,
            active: row.try_get(5)?,
            tags,
            rating,
        })
    }
}

/// What an update writes. Other members of the body are ignored.
#[derive(Deserialize)]
pub struct Change {
    pub name: String,
    pub price: i32,
    pub quantity: i32,
}

pub const UPDATE: &str =
    "UPDATE items SET name = $2, price = $3, quantity = $4 WHERE id = $1";

/// No row has an id beyond 32 bits.
pub fn row_id(id: i64) -> Result<i32, Refused> {
    id.try_into().map_err(|_| Refused::NotFound)
}
