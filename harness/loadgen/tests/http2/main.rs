//! HTTP/2: the real gun at the servers of others, and sessions without a
//! socket at servers that keep to a script.

#[path = "../peer/mod.rs"]
mod peer;
mod server;
mod talk;

mod grpc;
mod limits;
mod right;
mod rules;
mod torn;
