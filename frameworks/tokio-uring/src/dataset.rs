//! The dataset, read once at start-up, and the listing that every JSON request
//! builds from it.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::json;

#[derive(Deserialize)]
struct Item {
    id: i64,
    name: String,
    category: String,
    price: i64,
    quantity: i64,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
}

#[derive(Deserialize)]
struct Rating {
    score: i64,
    count: i64,
}

#[derive(Default)]
pub struct Dataset {
    items: Vec<Item>,
}

/// The first items, each with its total.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    count: usize,
    multiplier: i64,
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
    pub fn listing(&self, count: i64, multiplier: i64) -> Option<Listing> {
        let count = usize::try_from(count).ok()?.min(self.items.len());
        for item in &self.items[..count] {
            item.total(multiplier)?;
        }
        Some(Listing { count, multiplier })
    }

    /// Writes the listing as JSON, field by field.
    pub fn write(&self, listing: Listing, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"items\":[");
        let items = self.items.iter().take(listing.count);
        for (number, item) in items.enumerate() {
            if number > 0 {
                out.push(b',');
            }
            item.write(listing.multiplier, out);
        }
        out.extend_from_slice(b"],\"count\":");
        json::number(out, listing.count as i64);
        out.push(b'}');
    }
}

impl Item {
    fn total(&self, multiplier: i64) -> Option<i64> {
        self.price.checked_mul(self.quantity)?.checked_mul(multiplier)
    }

    fn write(&self, multiplier: i64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        json::number(out, self.id);
        out.extend_from_slice(b",\"name\":");
        json::string(out, &self.name);
        out.extend_from_slice(b",\"category\":");
        json::string(out, &self.category);
        out.extend_from_slice(b",\"price\":");
        json::number(out, self.price);
        out.extend_from_slice(b",\"quantity\":");
        json::number(out, self.quantity);
        out.extend_from_slice(if self.active {
            &b",\"active\":true,\"tags\":["[..]
        } else {
            b",\"active\":false,\"tags\":["
        });
        for (number, tag) in self.tags.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            json::string(out, tag);
        }
        out.extend_from_slice(b"],\"rating\":{\"score\":");
        json::number(out, self.rating.score);
        out.extend_from_slice(b",\"count\":");
        json::number(out, self.rating.count);
        out.extend_from_slice(b"},\"total\":");
        // `Dataset::listing` has seen that it fits.
        json::number(out, self.total(multiplier).unwrap_or_default());
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"[
        {"id":1,"name":"A\n","category":"c","price":328,"quantity":15,
         "active":true,"tags":["sale"],"rating":{"score":48,"count":53}},
        {"id":2,"name":"B","category":"d","price":2,"quantity":3,
         "active":false,"tags":["eco","new"],"rating":{"score":1,"count":2}}]"#;

    #[track_caller]
    fn write(count: i64, multiplier: i64) -> Option<String> {
        let dataset = Dataset::parse(TWO.as_bytes()).unwrap();
        let listing = dataset.listing(count, multiplier)?;
        let mut out = Vec::new();
        dataset.write(listing, &mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn an_item_keeps_its_fields_and_gains_a_total() {
        assert_eq!(
            write(1, 3).unwrap(),
            r#"{"items":[{"id":1,"name":"A\n","category":"c","price":328,"quantity":15,"active":true,"tags":["sale"],"rating":{"score":48,"count":53},"total":14760}],"count":1}"#
        );
    }

    #[test]
    fn a_listing_is_json_of_as_many_items_as_there_are() {
        for (count, expected) in [(0, 0), (1, 1), (2, 2), (i64::MAX, 2)] {
            let text = write(count, -1).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["count"], expected);
            assert_eq!(value["items"].as_array().unwrap().len(), expected);
        }
        assert!(write(2, -1).unwrap().contains(r#""total":-6}"#));
    }

    #[test]
    fn no_total_is_cut_and_no_count_is_negative() {
        assert_eq!(write(2, i64::MAX), None);
        assert_eq!(write(-1, 1), None);
    }
}
