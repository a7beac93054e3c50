//! The gun of the arena: fires one profile at one server and keeps exact
//! books of what came back.
//!
//! # Layout
//!
//! Each part knows only those above it in this list.
//!
//! - [`clock`], [`digits`]: time and numbers.
//! - [`wire`]: answers from bytes, in whatever pieces they come.
//! - [`write`]: requests as bytes.
//! - [`check`]: is this the right answer?
//! - [`books`]: what a thread counts.
//! - [`plan`]: from the spec to all that a shot needs.
//! - [`desk`]: one thread's own copy of it.
//! - [`session`]: one connection without its socket.
//! - [`engine`]: sockets, threads and the moments of a shot.
//! - [`report`]: from the threads' books to the one document on stdout.
//! - [`life`], [`limits`]: the process and its system.
//!
//! It knows the right answers from the contract crate but shares no protocol
//! code with the judge, so that a blind spot in one is not one in both.

pub mod books;
pub mod check;
pub mod clock;
pub mod desk;
pub mod digits;
pub mod engine;
pub mod life;
pub mod limits;
pub mod plan;
pub mod report;
pub mod session;
pub mod wire;
pub mod write;
