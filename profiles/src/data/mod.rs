//! The data every entry serves: dataset, static files, upload bodies, TLS
//! material. Made from a seed, byte for byte the same on every machine, and
//! pinned by the committed list of digests.
//!
//! The tables of the database profiles are [`Rows`] and [`USERS`].
//! [`generate`] makes all files in memory, [`write()`] puts them into a folder,
//! [`digests`] is the committed list. Upload bodies are never files: see
//! [`UploadBlock`].

mod assets;
mod binary;
mod cert;
mod compress;
mod css;
mod dataset;
mod dataset_search;
mod dataset_varied;
mod digests;
mod error;
mod folder;
mod generate;
mod html;
mod js;
mod manifest;
mod rows;
pub mod schema;
mod static_files;
mod stream;
mod svg;
mod text;
mod upload;
mod words;

pub use cert::{Identity, identity};
pub use dataset::{
    CATEGORIES, Dataset, DatasetError, ITEMS, Item, NAMES, Rating, TAGS,
};
pub use digests::{FileDigest, check_digests, digest_list, digests, sha256};
pub use error::DataError;
pub use folder::{Written, write};
pub use generate::{DataFile, generate};
pub use rows::{MAX_PRICE, MOST_TAGS, ROWS, Row, Rows, Tags, USERS, User};
pub use static_files::{STATIC_FILES, StaticFile};
pub use upload::{
    UPLOAD_BLOCK_BYTES, UPLOAD_BODY_BYTES, UPLOAD_MAX_BYTES, UploadBlock,
};
