//! The judge's own HTTP/2 client: it sees and sends single frames, and holds
//! the server to RFC 9113.

mod conn;
pub(crate) mod fields;
pub(crate) mod frame;
mod stream;

pub(crate) use conn::{Conn, PREFACE, Settings, blocks};
