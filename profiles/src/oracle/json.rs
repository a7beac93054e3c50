//! The JSON contract: every field, length and type of the whole document.
//!
//! Member order and white space are free; everything else is not. Duplicate
//! members are refused, since readers disagree on which one counts.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::data::{Dataset, Item, Rating};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    items: Vec<Answered>,
    count: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    id: u32,
    name: String,
    category: String,
    price: Int,
    quantity: Int,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
    total: Int,
}

/// A whole number, written without a fraction or an exponent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Int(i64);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Int, D::Error> {
        struct Whole;
        impl<'de> Visitor<'de> for Whole {
            type Value = Int;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Int, E> {
                Ok(Int(v))
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Int, E> {
                i64::try_from(v).map(Int).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                _: A,
            ) -> Result<Int, A::Error> {
                Err(A::Error::custom("a map where a whole number belongs"))
            }
        }
        from.deserialize_i64(Whole)
    }
}

/// Compares `body` with the right document, or says where they differ.
pub(super) fn compare(
    dataset: &Dataset,
    count: u32,
    multiplier: i64,
    body: &[u8],
) -> Result<(), String> {
    let right: Vec<&Item> = dataset.0.iter().take(count as usize).collect();
    let found: Document = serde_json::from_slice(body)
        .map_err(|e| format!("not the document of the contract: {e}"))?;
    if found.items.len() != right.len() {
        return Err(format!(
            "expected {} items, found {}",
            right.len(),
            found.items.len()
        ));
    }
    if found.count as usize != right.len() {
        return Err(format!(
            "expected count {}, found {}",
            right.len(),
            found.count
        ));
    }
    for (i, (want, got)) in right.iter().zip(&found.items).enumerate() {
        item(want, multiplier, got)
            .map_err(|why| format!("item {}: {why}", i + 1))?;
    }
    Ok(())
}

fn item(want: &Item, multiplier: i64, got: &Answered) -> Result<(), String> {
    let total = i64::from(want.price)
        .wrapping_mul(i64::from(want.quantity))
        .wrapping_mul(multiplier);
    differ("id", &want.id, &got.id)?;
    differ("name", &want.name, &got.name)?;
    differ("category", &want.category, &got.category)?;
    differ("price", &i64::from(want.price), &got.price.0)?;
    differ("quantity", &i64::from(want.quantity), &got.quantity.0)?;
    differ("active", &want.active, &got.active)?;
    differ("tags", &want.tags, &got.tags)?;
    differ("rating.score", &want.rating.score, &got.rating.score)?;
    differ("rating.count", &want.rating.count, &got.rating.count)?;
    differ("total", &total, &got.total.0)
}

fn differ<T: PartialEq + fmt::Debug>(
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
