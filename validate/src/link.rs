//! One way to ask and be answered, whatever is spoken on a profile's port.

use std::time::Instant;

use crate::http::{Conn, Fault, Request, Response};
use crate::{http2, http3};

/// A connection on which one request after the other is answered.
pub(crate) trait Exchange {
    /// Sends `request` and reads its answer, complete, by the deadline.
    fn exchange(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Result<Response, Fault>;

    /// Bytes that nobody asked for and that came by `until`, as a text.
    fn surplus(&mut self, until: Instant) -> Option<String>;
}

/// A connection of the profile's protocol.
pub(crate) enum Link {
    Http1(Box<Conn>),
    Http2(Box<http2::Conn>),
    Http3(Box<http3::Conn>),
}

impl Exchange for Link {
    fn exchange(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Result<Response, Fault> {
        match self {
            Link::Http1(conn) => conn.exchange(request, by),
            Link::Http2(conn) => conn.exchange(request, by),
            Link::Http3(conn) => conn.exchange(request, by),
        }
    }

    fn surplus(&mut self, until: Instant) -> Option<String> {
        match self {
            Link::Http1(conn) => conn.surplus(until),
            Link::Http2(conn) => conn.surplus(until),
            Link::Http3(conn) => conn.surplus(until),
        }
    }
}
