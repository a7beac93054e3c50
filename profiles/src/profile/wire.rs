//! The shape of a definition file on disk.
//!
//! Unknown keys are refused at every depth, there is no flattening and there
//! are no untagged enums: so every error points at its line.

use serde::Deserialize;
use toml::Spanned;

use super::Writers;
use super::class::{Range, SizeRange};
use super::{Budget, Family, Framing, Lane, League, Metric, Protocol, Sidecar};
use crate::{
    cpuset::CpuSet,
    units::{Bytes, Span},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireProfile {
    pub title: String,
    pub summary: String,
    pub family: Family,
    pub scored: bool,
    pub leagues: Spanned<Vec<League>>,
    pub metric: Metric,
    pub protocol: Protocol,
    pub port: Spanned<u16>,
    pub endpoints: Spanned<Vec<String>>,
    pub load: WireLoad,
    pub server: WireServer,
    pub class: Spanned<Vec<Spanned<WireClass>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireLoad {
    pub levels: Spanned<Vec<u32>>,
    pub in_flight: Spanned<u32>,
    pub requests_per_connection: Option<Spanned<u32>>,
    pub window: Spanned<Span>,
    pub share_total: Spanned<u32>,
    pub writers: Option<Spanned<Writers>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireServer {
    pub cpus: Budget,
    pub reference_cpus: CpuSet,
    pub memory: Option<Bytes>,
    #[serde(default)]
    pub sidecars: Vec<Sidecar>,
    #[serde(default)]
    pub services: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ask {
    Sum,
    Pipeline,
    Json,
    Upload,
    Static,
    AsyncDb,
    CrudRead,
    CrudList,
    CrudCreate,
    CrudUpdate,
    ItemRead,
    ItemWrite,
    Me,
    GrpcSum,
    GrpcStream,
    WsEcho,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireClass {
    pub name: String,
    pub share: u32,
    #[serde(default)]
    pub lane: Lane,
    pub accept_encoding: Option<String>,
    #[serde(default)]
    pub bearer: bool,
    pub ask: Ask,
    pub path: Option<String>,
    pub operands: Option<Range>,
    pub body: Option<Framing>,
    pub counts: Option<Vec<Range>>,
    pub multiplier: Option<Range>,
    pub must_encode: Option<bool>,
    pub sizes: Option<Vec<SizeRange>>,
    pub files: Option<Vec<String>>,
    pub min: Option<Range>,
    pub max: Option<Range>,
    pub limits: Option<Vec<Range>>,
    pub ids: Option<Range>,
    pub categories: Option<Vec<String>>,
    pub pages: Option<Range>,
    pub limit: Option<u32>,
    pub from: Option<i64>,
    pub messages: Option<Range>,
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<Budget, D::Error> {
        let text = String::deserialize(from)?;
        match (text.as_str(), text.parse::<u16>()) {
            ("pool", _) => Ok(Budget::Pool),
            (_, Ok(n)) if n > 0 => Ok(Budget::Cpus(n)),
            _ => Err(serde::de::Error::custom(format!(
                "`{text}` is not a budget; write `pool` for the whole \
                 server pool or a count like `4`"
            ))),
        }
    }
}
