//! What a pool of processes used: exact CPU time and memory.

mod cgroup;
mod cpus;
mod group;
mod meter;
pub mod proc;

pub use cgroup::{Cgroup, Memory};
pub use cpus::{busy_ns, foreign_share};
pub use group::{Group, clean_abandoned};
pub use meter::{Meter, Reading};
