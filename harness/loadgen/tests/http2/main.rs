//! The real gun fired over HTTP/2, at the servers of others and at servers
//! that keep to a script.

#[path = "../peer/mod.rs"]
mod peer;
mod server;

mod right;
