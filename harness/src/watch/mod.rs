//! What a pool of processes used: exact CPU time and memory.

mod cgroup;

pub use cgroup::Cgroup;
