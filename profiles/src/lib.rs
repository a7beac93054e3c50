//! The contract of the arena: what is asked, what is right, what is written
//! down and how it is scored.
//!
//! Everything here is pure. There are no sockets, no processes and no clock,
//! so the rig, the judge, the gun and the board can all share it and can never
//! disagree. The exceptions read or write plain files and say so: [`catalog`]
//! loads definitions, [`data`] writes the generated data,
//! [`oracle::Oracle::from_dir`] reads it back.

pub mod ask;
pub mod board;
pub mod catalog;
pub mod cpuset;
pub mod data;
pub mod entry;
pub mod hist;
pub mod name;
pub mod oracle;
pub mod profile;
pub mod record;
pub mod rng;
pub mod rule;
pub mod sample;
pub mod score;
pub mod spec;
pub mod stack;
pub mod stat;
pub mod token;
pub mod units;
pub mod verdict;
