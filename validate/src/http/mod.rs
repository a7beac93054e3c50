//! The judge's own HTTP/1.1 client: blocking sockets with absolute deadlines,
//! a strict reader, and full control over every byte that is sent.

mod chunked;
mod conn;
mod peer;
mod request;
mod response;

pub(crate) use chunked::{Style, encode};
pub(crate) use conn::{Conn, Ending, Fault};
pub(crate) use peer::{Ends, wait_read};
pub(crate) use request::{Request, show};
pub(crate) use response::{Delimited, Response};
