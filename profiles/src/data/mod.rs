//! The data every entry serves: dataset, static files, upload bodies, TLS
//! material. Made from a seed, byte for byte the same on every machine, and
//! pinned by the committed list of digests.

mod dataset;
mod dataset_search;

mod static_files;
mod stream;

pub use dataset::{
    CATEGORIES, Dataset, DatasetError, ITEMS, Item, NAMES, Rating, TAGS,
};
pub use static_files::{STATIC_FILES, StaticFile};
