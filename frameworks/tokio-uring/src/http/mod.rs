//! HTTP/1.1, read from bytes alone: nothing here knows of sockets.

pub mod chunked;
pub mod fields;
pub mod head;
pub mod scan;
mod status;

pub use status::Status;
