//! A profile: one workload that entries are scored on.
//!
//! The files under `profiles/defs/` are the definitions. `wire` holds their
//! shape on disk, this module the shape in memory; past the loader there are
//! no raw strings for protocols, sizes or CPUs.

mod class;
mod load;
mod wire;

pub use class::{Class, Framing, Kind, Lane, Range};
pub use load::DefError;

use std::{fmt, net::Ipv4Addr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{cpuset::CpuSet, name::ProfileName, units::Bytes};

/// The pool an entry is ranked in.
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Hash,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum League {
    /// Web frameworks: the types production and tuned.
    Framework,
    /// Bare HTTP implementations.
    Engine,
    /// Reverse proxies and static servers.
    Infrastructure,
}

impl League {
    /// Every league, in the order of the board.
    pub const ALL: [League; 3] =
        [League::Framework, League::Engine, League::Infrastructure];

    /// The league's word, as in files and on pages.
    pub fn as_str(self) -> &'static str {
        match self {
            League::Framework => "framework",
            League::Engine => "engine",
            League::Infrastructure => "infrastructure",
        }
    }
}

impl fmt::Display for League {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is spoken on the profile's port.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.1 in cleartext.
    Http1,
    /// HTTP/1.1 over TLS, ALPN `http/1.1`.
    Http1Tls,
    /// HTTP/2 over TLS, ALPN `h2`.
    Http2Tls,
    /// HTTP/2 in cleartext with prior knowledge.
    Http2Cleartext,
    /// HTTP/3 over QUIC, ALPN `h3`.
    Http3,
    /// gRPC over cleartext HTTP/2 with prior knowledge.
    Grpc,
    /// gRPC over HTTP/2 over TLS.
    GrpcTls,
    /// WebSocket on an upgraded HTTP/1.1 connection.
    Websocket,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Protocol; 8] = [
        Protocol::Http1,
        Protocol::Http1Tls,
        Protocol::Http2Tls,
        Protocol::Http2Cleartext,
        Protocol::Http3,
        Protocol::Grpc,
        Protocol::GrpcTls,
        Protocol::Websocket,
    ];

    /// The protocol's word, as in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Http1 => "http1",
            Protocol::Http1Tls => "http1-tls",
            Protocol::Http2Tls => "http2-tls",
            Protocol::Http2Cleartext => "http2-cleartext",
            Protocol::Http3 => "http3",
            Protocol::Grpc => "grpc",
            Protocol::GrpcTls => "grpc-tls",
            Protocol::Websocket => "websocket",
        }
    }
}

/// The family board a profile belongs to.
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Hash,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// HTTP/1.1 without a database.
    H1Core,
    /// HTTP/1.1 with a database or a CPU budget.
    H1Data,
    /// HTTP/2 over TLS and in cleartext.
    H2,
    /// HTTP/3.
    H3,
    /// gRPC.
    Grpc,
    /// WebSocket.
    Websocket,
    /// Gateways and the production stack.
    Gateway,
}

/// What is counted per second.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Right answers.
    Answers,
    /// Right answers × (smallest mean body of the league / own mean body)².
    AnswersBySize,
    /// gRPC messages of right streams.
    Messages,
    /// WebSocket echoes.
    Echoes,
}

/// A service started beside the entry.
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Hash,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Sidecar {
    /// The seeded PostgreSQL of the contract.
    Postgres,
    /// An empty Redis.
    Redis,
}

/// How many CPUs of the server pool a profile gives the entry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Budget {
    /// The whole pool.
    Pool,
    /// This many logical CPUs.
    Cpus(u16),
}

/// The load side of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Connection counts; one case each.
    pub levels: Vec<u32>,
    /// Requests (or streams, or messages) in flight per connection.
    pub in_flight: u32,
    /// After so many answers the client closes and connects again.
    pub requests_per_connection: Option<u32>,
    /// The measured interval in the `full` preset.
    pub window: Duration,
    /// The sum of the shares of each lane.
    pub share_total: u32,
    /// A second lane of connections for writes.
    pub writers: Option<Writers>,
}

/// Connections that only write, beside those that read.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Writers {
    /// One write connection for this many of the level.
    pub per_level: u32,
    /// But at least so many.
    pub at_least: u32,
    /// Streams in flight on each.
    pub in_flight: u32,
}

impl Writers {
    /// Write connections beside `level` reading ones.
    pub fn connections(self, level: u32) -> u32 {
        (level / self.per_level.max(1)).max(self.at_least)
    }
}

/// The server side of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// CPUs the entry may use.
    pub cpus: Budget,
    /// The CPU set this is on the reference rig of 64 cores, 128 threads.
    pub reference_cpus: CpuSet,
    /// Hard memory cap without swap; `None` is no cap.
    pub memory: Option<Bytes>,
    /// Services started beside the entry.
    pub sidecars: Vec<Sidecar>,
    /// The services of a stack, in start order; empty for a single server.
    pub services: Vec<String>,
}

/// One workload with everything the rig, the gun and the judge need.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The file stem, e.g. `limited-conn`.
    pub name: ProfileName,
    /// A short title for pages.
    pub title: String,
    /// One or two sentences: what it measures.
    pub summary: String,
    /// The family board.
    pub family: Family,
    /// Whether it counts in the main score.
    pub scored: bool,
    /// The leagues it is scored for.
    pub leagues: Vec<League>,
    /// What is counted.
    pub metric: Metric,
    /// What is spoken.
    pub protocol: Protocol,
    /// The contract's port.
    pub port: u16,
    /// The paths an entry must serve.
    pub endpoints: Vec<String>,
    /// The load side.
    pub load: Load,
    /// The server side.
    pub server: Server,
    /// The request classes of the mix.
    pub classes: Vec<Class>,
    /// SHA-256 of the definition file, hex: goes into every record.
    pub digest: String,
    /// The definition file's text; the gun is handed this.
    pub source: String,
}

impl Profile {
    /// The file in an entry's directory that describes its stack; `None` for
    /// a single server.
    pub fn stack_file(&self) -> Option<&'static str> {
        match self.name.as_str() {
            _ if self.server.services.is_empty() => None,
            "gateway-64" => Some("compose.gateway.yml"),
            "gateway-h3" => Some("compose.gateway-h3.yml"),
            _ => Some("compose.production-stack.yml"),
        }
    }

    /// The value of the `Host` header, the same for the judge and the gun.
    pub fn host(&self) -> String {
        format!("{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Whether the profile is scored for `league`.
    pub fn scored_for(&self, league: League) -> bool {
        self.scored && self.leagues.contains(&league)
    }
}
