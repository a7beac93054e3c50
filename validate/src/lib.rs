//! The judge: asks a running entry questions and says whether it may be
//! measured.
//!
//! Every question has a rule with a stable id, is drawn from a printed seed
//! and asked through the judge's own, paranoid client. Right
//! answers come from [`profiles::oracle`], which the gun shares; no line of
//! protocol code is shared with it. A probe that fails is asked again with
//! the same inputs, so that a chance failure is called flaky and drops nothing.
//!
//! [`validate`] is the way in; [`rules`] lists what is asked, for the command
//! line and the site, out of the same definitions that are run.

mod counts;
mod database;
mod end;
mod greet;
mod grpc;
mod hello;
mod http;
mod http2;
mod http3;
mod jobs;
mod link;
mod lint;
mod probe;
mod probes;
mod run;
mod session;
mod stream;
mod tape;
mod target;
mod tls;
mod websocket;
mod witness;

pub use greet::greet;
pub use lint::lint;
pub use probe::{can_judge, rules};
pub use run::{Options, Progress, Replay, replay, validate};
pub use tape::{Line, Said};
pub use target::{Stack, Target, certificate};
pub use witness::witness;
