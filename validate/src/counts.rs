//! The auth service's own count of what it was asked.

use std::net::SocketAddr;
use std::time::Instant;

use crate::http::{Conn, Request};
use crate::link::Exchange as _;
use crate::tape::Track;

/// How many times the auth service at `address` was asked since its start.
///
/// # Errors
///
/// Why it does not say.
pub(crate) fn asked(address: SocketAddr, by: Instant) -> Result<u64, String> {
    let request = Request::new("GET", "/_counts", "localhost:9090", "");
    let response = Conn::open(address, false, Track::default(), by)
        .and_then(|mut conn| conn.exchange(&request, by))
        .map_err(|fault| format!("the auth service's counts: {fault}"))?;
    let counts: serde_json::Value = serde_json::from_slice(&response.body)
        .map_err(|e| format!("the auth service's counts: {e}"))?;
    counts["asked"]
        .as_u64()
        .ok_or_else(|| "the auth service says no count".to_string())
}
