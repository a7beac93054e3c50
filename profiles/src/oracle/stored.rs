//! Rows of the database under concurrent writes.
//!
//! A read may meet any write of this shot, or none. It is judged without
//! remembering the writes: a row is right when it is the row of the table, or
//! carries the name of an update and a price and quantity that agree by their
//! key, see [`keyed_quantity`](super::keyed_quantity). What no write touches
//! (category, activity, tags, rating) must be the table's in either case.
//!
//! What may be said of an item: reads of `crud` and lists say all eight
//! members of an item and nothing else. The items of the production stack may
//! leave `tags` out, as the reference does. An answer to a write says the
//! submitted members; it may add the others of an item, and then they must be
//! right too. Any other member is refused everywhere: an answer that carries
//! more than asked is another amount of work.

use super::found::{
    ACTIVE, CATEGORY, Found, ID, ITEM, NAME, PRICE, QUANTITY, RATING, Rating,
    TAGS,
};
use super::json::{differ, number, tags};
use super::{keyed_quantity, list};
use crate::data::{MAX_PRICE, Row, Rows, User};

const UPDATED: &str = "Updated Product";
const CREATED: &str = "New Product";
const STACK_UPDATED: &str = "bench-updated";
/// The category of created rows; updates name it too, to no effect.
const CREATED_CATEGORY: &str = "test";
const CREATED_TAG: &str = "bench";

/// One item of `GET /crud/items/<id>`.
pub(super) fn crud_read(run: u64, id: i64, body: &[u8]) -> Result<(), String> {
    let found = one(body)?;
    found.members(ITEM, 0)?;
    stored(run, id, UPDATED, &found)
}

/// A page of `GET /crud/items`: the rows of a category in order of their ids.
pub(super) fn crud_list(
    run: u64,
    category: &str,
    page: u32,
    limit: u32,
    body: &[u8],
) -> Result<(), String> {
    let rows = Rows::get();
    let ids = rows.ids_of(category).unwrap_or_default();
    let skip = u64::from(page.saturating_sub(1)) * u64::from(limit);
    let ids = ids.get(skip as usize..).unwrap_or_default();
    let ids = &ids[..ids.len().min(limit as usize)];
    let names = &["items", "total", "page", "limit"];
    let (items, numbers) = list::read(body, names, |index, found| {
        found.members(ITEM, 0)?;
        match ids.get(index) {
            Some(id) => stored(run, (*id).into(), UPDATED, found),
            // Too many are counted below.
            None => Ok(()),
        }
    })?;
    number("items", ids.len() as i64, items)?;
    number("total", ids.len() as i64, numbers[0])?;
    number("page", page.into(), numbers[1])?;
    number("limit", limit.into(), numbers[2])
}

/// The answer to `POST /crud/items`.
pub(super) fn crud_create(
    (id, price, quantity): (i64, i64, i64),
    body: &[u8],
) -> Result<(), String> {
    let found = one(body)?;
    let required = ID | NAME | CATEGORY | PRICE | QUANTITY;
    found.members(required, ITEM)?;
    submitted(id, CREATED, price, quantity, &found)?;
    created(&found)
}

/// The answer to `PUT /crud/items/<id>`.
pub(super) fn crud_update(
    (id, price, quantity): (i64, i64, i64),
    body: &[u8],
) -> Result<(), String> {
    let found = one(body)?;
    found.members(ID | NAME | PRICE | QUANTITY, ITEM)?;
    submitted(id, UPDATED, price, quantity, &found)?;
    let Some(row) = Rows::get().row(id) else { return created(&found) };
    // It may say the category that was submitted or the one that is kept.
    if found.has(CATEGORY) && found.category.0 != CREATED_CATEGORY {
        differ("category", row.category, &found.category.0)?;
    }
    kept(&row, &found)
}

/// One item of `GET /api/items/<id>`.
pub(super) fn item_read(run: u64, id: i64, body: &[u8]) -> Result<(), String> {
    let found = one(body)?;
    found.members(ITEM & !TAGS, TAGS)?;
    stored(run, id, STACK_UPDATED, &found)
}

/// Rows of `GET /async-db`: as many as asked for or as there are, distinct,
/// each within the prices and as the table has it; nothing writes here. Which
/// rows, and in what order, is the database's choice.
pub(super) fn async_db(
    min: i64,
    max: i64,
    limit: u32,
    body: &[u8],
) -> Result<(), String> {
    let rows = Rows::get();
    let right = rows.count_priced(min, max).min(limit.clamp(1, 50));
    let mut ids = Vec::with_capacity(right as usize);
    let (items, [count, ..]) =
        list::read(body, &["items", "count"], |_, found| {
            found.members(ITEM, 0)?;
            let row = rows.row(found.id).ok_or("no row has this id")?;
            if !(min..=max).contains(&found.price) {
                let price = found.price;
                return Err(format!(
                    "price: expected {min} to {max}, found {price}"
                ));
            }
            untouched(&row, found)?;
            if ids.len() >= right as usize {
                return Err(format!("expected no more than {right} items"));
            }
            if ids.contains(&found.id) {
                return Err(format!("id {} is there twice", found.id));
            }
            ids.push(found.id);
            Ok(())
        })?;
    number("items", right.into(), items)?;
    number("count", right.into(), count)
}

/// The row of `GET /api/me`.
pub(super) fn me(id: i64, body: &[u8]) -> Result<(), String> {
    let user = User::with_id(id).ok_or("the oracle has no such user")?;
    super::me::compare(user, body)
}

fn one(body: &[u8]) -> Result<Found<'_>, String> {
    serde_json::from_slice(body).map_err(list::not_right)
}

/// A row that may have been updated under the name `updated`.
fn stored(
    run: u64,
    id: i64,
    updated: &str,
    found: &Found<'_>,
) -> Result<(), String> {
    differ("id", &id, &found.id)?;
    let Some(row) = Rows::get().row(id) else {
        if found.name.0 != updated {
            differ("name", CREATED, &found.name.0)?;
        }
        created(found)?;
        return keyed(run, found);
    };
    if found.name.0 != updated {
        return untouched(&row, found);
    }
    differ("category", row.category, &found.category.0)?;
    kept(&row, found)?;
    keyed(run, found)
}

/// Price and quantity come from one write of this shot to this row.
fn keyed(run: u64, found: &Found<'_>) -> Result<(), String> {
    let Found { id, price, quantity, .. } = *found;
    if !(1..=MAX_PRICE).contains(&price) {
        return Err(format!("price: nothing wrote {price}"));
    }
    if quantity != keyed_quantity(run, id, price) {
        return Err(format!(
            "quantity: nothing wrote {quantity} beside the price {price}"
        ));
    }
    Ok(())
}

/// The row as the table has it.
fn untouched(row: &Row, found: &Found<'_>) -> Result<(), String> {
    if !row.is_named(&found.name.0) {
        return differ("name", row.name().as_str(), &found.name.0);
    }
    differ("price", &row.price, &found.price)?;
    differ("quantity", &row.quantity, &found.quantity)?;
    differ("category", row.category, &found.category.0)?;
    kept(row, found)
}

/// The members no write touches, where they are said.
fn kept(row: &Row, found: &Found<'_>) -> Result<(), String> {
    let rating = Rating { score: row.rating_score, count: row.rating_count };
    rest(row.active, row.tags.iter(), rating, found)
}

/// The members of a created row that its creator does not say.
fn created(found: &Found<'_>) -> Result<(), String> {
    if found.has(CATEGORY) {
        differ("category", CREATED_CATEGORY, &found.category.0)?;
    }
    let rating = Rating { score: 0, count: 0 };
    rest(true, [CREATED_TAG].into_iter(), rating, found)
}

fn rest<'a>(
    active: bool,
    labels: impl Iterator<Item = &'a str> + Clone,
    rating: Rating,
    found: &Found<'_>,
) -> Result<(), String> {
    if found.has(ACTIVE) {
        differ("active", &active, &found.active)?;
    }
    if found.has(TAGS) {
        tags(labels, found)?;
    }
    if found.has(RATING) {
        differ("rating", &rating, &found.rating)?;
    }
    Ok(())
}

/// The members that the request said.
fn submitted(
    id: i64,
    name: &str,
    price: i64,
    quantity: i64,
    found: &Found<'_>,
) -> Result<(), String> {
    differ("id", &id, &found.id)?;
    differ("name", name, &found.name.0)?;
    differ("price", &price, &found.price)?;
    differ("quantity", &quantity, &found.quantity)
}

#[cfg(test)]
mod tests;
