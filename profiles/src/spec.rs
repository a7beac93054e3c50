//! What the gun is told: one shot, complete, as one JSON document on stdin.

use std::{net::SocketAddr, path::PathBuf};

use serde::de::{Error as _, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{cpuset::CpuSet, name::ProfileName};

/// The schema of [`Spec`] this version reads and writes.
pub const SPEC_SCHEMA: u32 = 1;

/// One shot. Times are in nanoseconds and count from the phase before.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// [`SPEC_SCHEMA`]; another number is refused by name.
    pub schema: u32,
    /// The profile to fire.
    pub profile: ProfileName,
    /// The text of its definition file, so that the gun needs no catalog.
    pub definition: String,
    /// Where the server listens.
    pub target: SocketAddr,
    /// The level: connections to hold open.
    pub connections: u32,
    /// Event loops; connections are split evenly over them.
    pub threads: u32,
    /// CPUs the threads are pinned to, in turn. `None` leaves them free.
    pub cpus: Option<CpuSet>,
    /// All randomness comes from here; each thread draws from streams of its own.
    pub seed: u64,
    /// All connections must be made within this time.
    pub connect_timeout_ns: u64,
    /// Load that is thrown away.
    pub warmup_ns: u64,
    /// So long nothing new is sent, and what the warm-up left in flight drains.
    pub gap_ns: u64,
    /// The measured interval.
    pub window_ns: u64,
    /// An answer that takes longer is a time-out. Counted from its send.
    pub timeout_ns: u64,
    /// The folder of the generated data (dataset, static files).
    pub data_dir: PathBuf,
    /// Requests per second of an open loop, over all connections; `None` is
    /// a closed loop. The schedule is fixed when a phase begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The queue to wait on: `auto` takes the best the system allows.
    #[serde(default, deserialize_with = "engine")]
    pub engine: Engine,
    /// Bearer tokens, for the classes that send one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Token>,
}

/// How the gun waits for its sockets.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// What the system allows and the protocol is served best by.
    #[default]
    Auto,
    /// Readiness by epoll.
    Epoll,
    /// Completions by io_uring; a shot fails where it is not allowed.
    IoUring,
}

/// The parser would not say whose value it is that it does not like.
fn engine<'de, D: Deserializer<'de>>(from: D) -> Result<Engine, D::Error> {
    let named = |why: D::Error| D::Error::custom(format!("`engine`: {why}"));
    let word = String::deserialize(from).map_err(named)?;
    Engine::deserialize(word.into_deserializer()).map_err(named)
}

/// A bearer token and whose it is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The user.
    pub user: i64,
    /// What follows `Bearer `.
    pub token: String,
}

/// The line the gun writes to stderr, flushed, when its window opens; the rig
/// reads the server's meters at that moment. Nothing else marks it.
pub const WINDOW_OPEN: &str = "loadgen: window open";
/// The same for the moment the window closes, before anything is torn down.
pub const WINDOW_CLOSED: &str = "loadgen: window closed";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Part {
        #[serde(default, deserialize_with = "engine")]
        engine: Engine,
    }

    #[test]
    fn an_engine_that_is_none_is_named() {
        for (json, words) in [
            ("{\"engine\": null}", "`engine`: invalid type: null"),
            ("{\"engine\": \"kqueue\"}", "`engine`: unknown variant `kqueue`"),
        ] {
            let why = serde_json::from_str::<Part>(json).unwrap_err();
            assert!(why.to_string().starts_with(words), "{why}");
        }
        let read = |json| serde_json::from_str::<Part>(json).unwrap().engine;
        assert_eq!(read("{}"), Engine::Auto);
        assert_eq!(read("{\"engine\": \"io-uring\"}"), Engine::IoUring);
    }
}
