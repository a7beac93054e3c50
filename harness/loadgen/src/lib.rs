//! The gun of the arena: fires one profile at one server and keeps exact
//! books of what came back.
//!
//! # Layout
//!
//! Each part knows only those above it in this list.
//!
//! - [`clock`], [`digits`]: time and numbers.
//! - [`wire`]: answers from bytes, in whatever pieces they come.
//! - [`mod@write`], [`tokens`]: requests as bytes.
//! - [`check`]: is this the right answer?
//! - [`books`]: what a thread counts.
//! - [`plan`]: from the spec to all that a shot needs.
//! - [`pace`]: when requests may be sent.
//! - [`desk`]: one thread's own copy of it.
//! - [`trust`]: what is believed of a server's certificate.
//! - [`session`]: one connection without its socket.
//! - [`engine`]: sockets, threads and the moments of a shot.
//! - [`report`]: from the threads' books to the one document on stdout.
//! - [`life`], [`limits`]: the process and its system.
//!
//! # What counts
//!
//! - The moments of a shot (warm-up, gap, window, hard stop) are instants of
//!   the monotonic clock, decided once when every thread is connected.
//! - A request is *sent* when its first byte is handed to the kernel; the
//!   clock is read just before that call. Requests handed over in one call
//!   share that moment, and it is each one's own. A request that was drawn
//!   but never begun is not sent.
//! - A round trip ends when the read that held the answer's last byte
//!   returned. An answer read after the hard stop is no answer: its request
//!   is unanswered, with its age.
//! - An answer that took longer than the limit is a time-out even when it
//!   came and was right; in an open loop it is timed from the scheduled
//!   send. An answer is awaited for the limit from the send itself.
//! - The window's length is measured: from the first thread that opened it to
//!   the last that closed it.
//! - How requests end when their connection does is told in [`session`], and
//!   how answers are checked in [`check`].
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
pub mod pace;
pub mod plan;
pub mod report;
pub mod session;
pub mod tokens;
pub mod trust;
pub mod wire;
pub mod write;
