//! The judge's own HTTP/3 client.

use std::net::SocketAddr;
use std::time::Instant;

use crate::http::{Fault, Request, Response};
use crate::link::Exchange;
use crate::tape::Track;

/// A connection to the entry.
pub(crate) struct Conn {}

impl Conn {
    /// Connects and greets.
    pub(crate) fn open(
        _address: SocketAddr,
        _track: Track,
        _by: Instant,
    ) -> Result<Conn, Fault> {
        Err(Fault::Connect("HTTP/3 is not spoken yet".into()))
    }
}

impl Exchange for Conn {
    fn exchange(
        &mut self,
        _request: &Request,
        _by: Instant,
    ) -> Result<Response, Fault> {
        Err(Fault::Connect("HTTP/3 is not spoken yet".into()))
    }

    fn surplus(&mut self, _until: Instant) -> Option<String> {
        None
    }
}
