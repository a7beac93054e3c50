//! The judge against servers whose faults are known: every cheat is caught
//! by the probe made for it, every probe catches a cheat, and the honest pass.

#[path = "../support/mod.rs"]
mod support;

mod gallery;
mod honest;
mod http1;
mod row;
mod verdicts;
