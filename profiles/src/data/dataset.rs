//! `dataset.json`: the 50 items behind the JSON endpoints.

use serde::{Deserialize, Serialize};

use super::dataset_search;

/// How many items the dataset holds.
pub const ITEMS: usize = 50;

/// The ten names, in the order items cycle through them.
pub const NAMES: [&str; 10] = [
    "Alpha Widget",
    "Pro Valve",
    "Core Relay",
    "Edge Link",
    "Nano Gadget",
    "Ultra Driver",
    "Swift Switch",
    "Prime Gear",
    "Flex Module",
    "Hyper Node",
];

/// The ten categories; they cycle together with [`NAMES`].
pub const CATEGORIES: [&str; 10] = [
    "electronics",
    "tools",
    "books",
    "clothing",
    "sports",
    "toys",
    "home",
    "garden",
    "office",
    "auto",
];

/// The ten tags, sorted.
pub const TAGS: [&str; 10] = [
    "compact",
    "eco",
    "fast",
    "heavy-duty",
    "limited",
    "new",
    "popular",
    "premium",
    "sale",
    "wireless",
];

/// One item. The order of the fields is the order of the keys in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// 1 for the first item, one more for each that follows.
    pub id: u32,
    /// One of [`NAMES`].
    pub name: String,
    /// One of [`CATEGORIES`].
    pub category: String,
    /// Price, 2 to 496.
    pub price: u32,
    /// Quantity, 4 to 97.
    pub quantity: u32,
    /// Whether the item is on sale at all.
    pub active: bool,
    /// One to four different [`TAGS`].
    pub tags: Vec<String>,
    /// What buyers said.
    pub rating: Rating,
}

/// The rating of an [`Item`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rating {
    /// Score, 1 to 50.
    pub score: u32,
    /// Number of votes, 5 to 489.
    pub count: u32,
}

/// All items, in file order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dataset(pub Vec<Item>);

/// Why bytes are not a dataset.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The bytes are not a JSON array of items.
    #[error(
        "dataset.json: expected a JSON array of items, found: {0}; \
         write the data folder again"
    )]
    Json(#[from] serde_json::Error),
    /// The array has another length.
    #[error(
        "dataset.json: expected {ITEMS} items, found {found}; \
         write the data folder again"
    )]
    Count {
        /// How many items there are.
        found: usize,
    },
    /// The ids do not run from 1 upwards.
    #[error(
        "dataset.json: expected id {expected} at index {index}, found {found}; \
         write the data folder again"
    )]
    Id {
        /// Position in the array, from 0.
        index: usize,
        /// The id that belongs there.
        expected: u32,
        /// The id that stands there.
        found: u32,
    },
}

impl Dataset {
    /// Builds the one dataset; always the same.
    #[must_use]
    pub fn generate() -> Self {
        Self(dataset_search::items())
    }

    /// A dataset of the same shape and size that nobody knows beforehand: the
    /// same names, keys and number of digits everywhere, and every value
    /// beside the ids drawn from `seed`. For validations; the load is fired
    /// over [`Dataset::generate`].
    #[must_use]
    pub fn varied(seed: u64) -> Self {
        super::dataset_varied::varied(seed)
    }

    /// Reads a dataset file.
    ///
    /// # Errors
    ///
    /// If the bytes are not 50 complete items whose ids run from 1 to 50.
    pub fn parse(bytes: &[u8]) -> Result<Self, DatasetError> {
        let dataset: Self = serde_json::from_slice(bytes)?;
        if dataset.0.len() != ITEMS {
            return Err(DatasetError::Count { found: dataset.0.len() });
        }
        for (index, item) in dataset.0.iter().enumerate() {
            let expected = index as u32 + 1;
            if item.id != expected {
                let found = item.id;
                return Err(DatasetError::Id { index, expected, found });
            }
        }
        Ok(dataset)
    }

    /// The file: pretty-printed with two spaces, no newline at its end.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self)
            .expect("plain structs with string keys always serialise")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let dataset = Dataset::generate();
        assert_eq!(Dataset::parse(&dataset.to_bytes()).unwrap(), dataset);
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut serde_json::Value), says: &str) {
        let mut json =
            serde_json::to_value(Dataset::generate()).expect("serialises");
        change(&mut json);
        let bytes = serde_json::to_vec(&json).expect("serialises");
        let error = Dataset::parse(&bytes).expect_err("must be refused");
        assert!(error.to_string().contains(says), "{error}");
    }

    #[test]
    fn a_file_that_is_not_the_dataset_is_refused_with_the_reason() {
        refused(|json| json[3]["colour"] = "red".into(), "unknown field");
        refused(|json| json[3]["rating"]["x"] = 1.into(), "unknown field");
        refused(|json| json[3]["price"] = (-1).into(), "invalid value");
        refused(|json| json[3]["id"] = 9.into(), "expected id 4 at index 3");
        refused(|json| *json = serde_json::json!([]), "found 0");
        refused(|json| *json = serde_json::json!({}), "JSON array");
    }
}
