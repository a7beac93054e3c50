//! The JSON contract: every field, length and type of the whole document.
//!
//! Member order and white space are free; everything else is not.

use std::fmt;

use super::found::{Found, ITEM, TOTAL};
use super::list;
use crate::data::{Dataset, Item};

/// Compares `body` with the right document, or says where they differ.
pub(super) fn compare(
    dataset: &Dataset,
    count: u32,
    multiplier: i64,
    body: &[u8],
) -> Result<(), String> {
    let right = dataset.0.len().min(count as usize);
    let right = &dataset.0[..right];
    let (items, [found, ..]) =
        list::read(body, &["items", "count"], |index, got| {
            // Too many are counted below.
            match right.get(index) {
                Some(want) => item(want, multiplier, got),
                None => Ok(()),
            }
        })?;
    number("items", right.len() as i64, items)?;
    number("count", right.len() as i64, found)
}

/// A number of the document itself.
pub(super) fn number(what: &str, want: i64, got: i64) -> Result<(), String> {
    if want == got {
        return Ok(());
    }
    Err(match what {
        "items" => format!("expected {want} items, found {got}"),
        _ => format!("expected {what} {want}, found {got}"),
    })
}

fn item(want: &Item, multiplier: i64, got: &Found<'_>) -> Result<(), String> {
    let total = i64::from(want.price)
        .wrapping_mul(i64::from(want.quantity))
        .wrapping_mul(multiplier);
    got.members(ITEM | TOTAL, 0)?;
    differ("id", &want.id.into(), &got.id)?;
    differ("name", want.name.as_str(), &got.name.0)?;
    differ("category", want.category.as_str(), &got.category.0)?;
    differ("price", &want.price.into(), &got.price)?;
    differ("quantity", &want.quantity.into(), &got.quantity)?;
    differ("active", &want.active, &got.active)?;
    tags(want.tags.iter().map(String::as_str), got)?;
    differ("rating.score", &want.rating.score.into(), &got.rating.score)?;
    differ("rating.count", &want.rating.count.into(), &got.rating.count)?;
    differ("total", &total, &got.total)
}

/// Tags must be the same in the same order.
pub(super) fn tags<'a>(
    want: impl Iterator<Item = &'a str> + Clone,
    got: &Found<'_>,
) -> Result<(), String> {
    if got.tags.iter().eq(want.clone()) {
        return Ok(());
    }
    let want: Vec<&str> = want.collect();
    let found: Vec<&str> = got.tags.iter().collect();
    differ("tags", &want, &found)
}

pub(super) fn differ<T: PartialEq + fmt::Debug + ?Sized>(
    what: &str,
    want: &T,
    got: &T,
) -> Result<(), String> {
    if want == got {
        return Ok(());
    }
    let found: String = format!("{got:?}").chars().take(80).collect();
    Err(format!("{what}: expected {want:?}, found {found}"))
}
