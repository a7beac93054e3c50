//! The dataset, read once at start-up, and the listing that every JSON request
//! builds from it.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
pub struct Item {
    id: i64,
    name: String,
    category: String,
    price: i64,
    quantity: i64,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
struct Rating {
    score: i64,
    count: i64,
}

/// An item as it is answered: its own eight fields, then `total`.
#[derive(Serialize)]
pub struct ListedItem<'a> {
    id: i64,
    name: &'a str,
    category: &'a str,
    price: i64,
    quantity: i64,
    active: bool,
    tags: &'a [String],
    rating: Rating,
    total: i64,
}

#[derive(Serialize)]
pub struct Listing<'a> {
    items: Vec<ListedItem<'a>>,
    count: usize,
}

pub struct Dataset {
    items: Vec<Item>,
}

impl Dataset {
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| {
            format!(
                "cannot read the dataset {}; mount it there or set DATASET_PATH",
                path.display()
            )
        })?;
        Self::parse(&text)
            .with_context(|| format!("{} is not a dataset", path.display()))
    }

    pub fn parse(text: &[u8]) -> serde_json::Result<Self> {
        Ok(Self { items: serde_json::from_slice(text)? })
    }

    /// The first `count` items, or all where there are fewer. `None` when a
    /// total does not fit 64 bits.
    pub fn listing(&self, count: u64, multiplier: i64) -> Option<Listing<'_>> {
        let count =
            self.items.len().min(count.try_into().unwrap_or(usize::MAX));
        let items = self.items[..count]
            .iter()
            .map(|item| item.listed(multiplier))
            .collect::<Option<Vec<_>>>()?;
        Some(Listing { items, count })
    }
}

impl Item {
    fn listed(&self, multiplier: i64) -> Option<ListedItem<'_>> {
        let total =
            self.price.checked_mul(self.quantity)?.checked_mul(multiplier)?;
        Some(ListedItem {
            id: self.id,
            name: &self.name,
            category: &self.category,
            price: self.price,
            quantity: self.quantity,
            active: self.active,
            tags: &self.tags,
            rating: self.rating,
            total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"[
        {"id":1,"name":"A","category":"c","price":328,"quantity":15,
         "active":true,"tags":["sale"],"rating":{"score":48,"count":53}},
        {"id":2,"name":"B","category":"d","price":2,"quantity":3,
         "active":false,"tags":["eco","new"],"rating":{"score":1,"count":2}}]"#;

    #[track_caller]
    fn check(count: u64, multiplier: i64, expected: Option<&str>) {
        let dataset = Dataset::parse(TWO.as_bytes()).unwrap();
        let listing = dataset
            .listing(count, multiplier)
            .map(|listing| serde_json::to_string(&listing).unwrap());
        assert_eq!(listing.as_deref(), expected);
    }

    #[test]
    fn an_item_keeps_its_fields_and_gains_a_total() {
        check(
            1,
            3,
            Some(
                r#"{"items":[{"id":1,"name":"A","category":"c","price":328,"quantity":15,"active":true,"tags":["sale"],"rating":{"score":48,"count":53},"total":14760}],"count":1}"#,
            ),
        );
    }

    #[test]
    fn no_items_are_a_listing_too() {
        check(0, 1, Some(r#"{"items":[],"count":0}"#));
    }

    #[test]
    fn a_count_above_the_dataset_lists_all_of_it() {
        let dataset = Dataset::parse(TWO.as_bytes()).unwrap();
        let listing = dataset.listing(u64::MAX, -1).unwrap();
        assert_eq!((listing.count, listing.items.len()), (2, 2));
        assert_eq!(listing.items[1].total, -6);
    }

    #[test]
    fn a_total_beyond_64_bits_is_refused() {
        check(2, i64::MAX, None);
    }
}
