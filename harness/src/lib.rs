//! The rig: starts entries on pinned CPUs, fires the gun at them and writes
//! down what happened.
//!
//! Nothing here judges answers or ranks entries. The gun is another process;
//! the judge's verdicts come in as data.

pub mod host;
pub mod interrupt;
pub mod plan;
pub mod problem;
pub mod rig;
pub mod runner;
pub mod show;
pub mod sidecar;
pub mod store;
#[cfg(test)]
mod testing;
pub mod warn;
pub mod watch;
