//! The gun of the arena: fires one profile at one server and keeps exact
//! books of what came back.
//!
//! # Layout
//!
//! Each part knows only those above it in this list.
//!
//! - [`wire`]: answers from bytes, in whatever pieces they come.
//!
//! It knows the right answers from the contract crate but shares no protocol
//! code with the judge, so that a blind spot in one is not one in both.

pub mod check;
pub mod clock;
pub mod digits;
pub mod wire;
pub mod write;
