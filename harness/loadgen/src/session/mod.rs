//! One connection without its socket: what to send next, and what the bytes
//! that came mean for the requests in flight.
//!
//! A session is handed bytes and moments and does no I/O, so that any engine
//! can drive it, and a test can without one.

mod flight;
mod http1;
mod http2;
mod line;
mod out;
mod over;
mod tls;
mod websocket;

use std::fmt;

pub use flight::Flight;
pub use http1::Http1;
pub use http2::Http2;
pub use out::{Out, SLICES};
pub use over::Over;
pub use tls::Tls;
pub use websocket::{ECHO, WebSocket};

use crate::clock::Ns;
use crate::desk::Desk;
use crate::plan::Plan;

/// The protocol of a connection over a stream of bytes.
///
/// A session belongs to a slot and outlives its connections: [`Session::open`]
/// begins each, [`Session::end`] ends it. Every request that was sent ends in
/// exactly one call to the desk: answered, fault, timed out or unanswered.
pub trait Session: fmt::Debug + Sized {
    /// What the sessions of one thread share.
    type Kit;

    /// That, for one thread.
    fn kit(plan: &Plan) -> anyhow::Result<Self::Kit>;

    /// A session of the desk's lane `lane`, not connected.
    fn new(lane: usize) -> Self;

    /// The socket is connected: queues what a connection begins with.
    fn open(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Self::Kit,
    ) -> Result<(), Over>;

    /// Whether the handshake is done, so that requests may be drawn. Until
    /// then a connection does not count as made.
    fn is_ready(&self) -> bool;

    /// Whether no request is in flight or half sent.
    fn is_idle(&self) -> bool;

    /// Whether any answer came on this connection.
    fn has_answered(&self) -> bool;

    /// Right answers in the window, over all connections of the slot.
    fn right(&self) -> u64;

    /// Whether another request may be drawn now.
    fn has_room(&self, desk: &Desk) -> bool;

    /// Draws requests while there is room and the desk has leave, and queues
    /// their bytes. Only called once ready.
    fn fill(&mut self, now: Ns, desk: &mut Desk, kit: &mut Self::Kit);

    /// What there is to send: requests, but also the protocol's own words.
    fn out(&self) -> &Out;

    /// `n` bytes of [`Session::out`] were handed to the kernel at `now`.
    fn wrote(&mut self, n: usize, now: Ns, desk: &mut Desk);

    /// Bytes came; they may be changed in place. `Some` when the connection
    /// is over.
    fn received(
        &mut self,
        input: &mut [u8],
        now: Ns,
        desk: &mut Desk,
        kit: &mut Self::Kit,
    ) -> Option<Over>;

    /// The server closed. That may be the end of an answer.
    fn closed(&mut self, now: Ns, desk: &mut Desk, kit: &mut Self::Kit)
    -> Over;

    /// What the server said of its leaving, if it did: for a connection that
    /// closed in its handshake.
    fn parting(&self) -> Option<String> {
        None
    }

    /// Finds requests that waited too long since they were sent
    /// ([`Flight::waited`]), and gives them up; `Some` when that takes the
    /// connection with it. One that was sent late is awaited as long as any:
    /// that its answer is a time-out is told when it comes.
    fn expire(
        &mut self,
        now: Ns,
        desk: &mut Desk,
        kit: &mut Self::Kit,
    ) -> Option<Over>;

    /// The connection is over: books what was in flight and forgets it, so
    /// that the session can begin anew. Requests of which nothing was sent
    /// are dropped; they were never asked.
    fn end(&mut self, over: Over, now: Ns, desk: &mut Desk);
}
