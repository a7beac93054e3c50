//! The judge against servers whose faults are known: every cheat is caught
//! by the probe made for it, every probe catches a cheat, and the honest pass.

#[path = "../support/folder.rs"]
mod folder;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tls.rs"]
mod tls_front;
#[path = "../support/tls_identity.rs"]
mod tls_identity;

mod database;
mod gallery;
mod grpc;
mod honest;
mod http1;
mod http2;
mod http3;
mod real;
mod replaced;
mod row;
mod stack;
mod tls;
mod verdicts;
mod websocket;
