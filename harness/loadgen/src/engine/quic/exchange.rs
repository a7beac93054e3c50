//! Requests on their streams.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use profiles::ask::Ask;
use quinn_proto::StreamId;

use crate::check::{Checker, Watch};
use crate::session::Flight;
use crate::wire::http3::{Reader, Upload};
use crate::wire::{Head, Sink, Why};

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) stream: StreamId,
    pub(super) flight: Flight,
    pub(super) reader: Reader,
    pub(super) watch: Watch,
    /// What the transport has not taken yet.
    pub(super) rest: Option<Rest>,
}

/// The unsent part of a request.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) text: Vec<u8>,
    /// How much of the text is sent.
    pub(super) done: usize,
    pub(super) upload: Option<Upload>,
}

/// A connection's exchanges by the index of their stream.
pub(super) type Exchanges =
    HashMap<u64, Box<Exchange>, BuildHasherDefault<Spread>>;

/// Indexes are counters: one multiplication spreads them enough.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Exchanges that are over, kept for their buffers. They are boxed, so that
/// they need not be copied to and from the maps.
#[expect(clippy::vec_box)]
#[derive(Debug, Default)]
pub(super) struct Pool(Vec<Box<Exchange>>);

/// More are not kept.
const POOL: usize = 4096;

impl Pool {
    /// An exchange that begins.
    #[inline]
    pub(super) fn take(
        &mut self,
        stream: StreamId,
        flight: Flight,
    ) -> Box<Exchange> {
        match self.0.pop() {
            Some(mut exchange) => {
                exchange.stream = stream;
                exchange.flight = flight;
                exchange.reader.reset();
                exchange.rest = None;
                exchange
            }
            None => Box::new(Exchange {
                stream,
                flight,
                reader: Reader::default(),
                watch: Watch::default(),
                rest: None,
            }),
        }
    }

    /// One that is over.
    #[inline]
    pub(super) fn put(&mut self, exchange: Box<Exchange>) {
        if self.0.len() < POOL {
            self.0.push(exchange);
        }
    }
}

/// Lends the reader what it needs to check an answer as it comes.
pub(super) struct Ear<'a> {
    /// The request is not sent in full.
    pub(super) early: bool,
    pub(super) class: usize,
    pub(super) ask: &'a Ask,
    pub(super) check: &'a Checker,
    pub(super) watch: &'a mut Watch,
}

impl Sink for Ear<'_> {
    #[inline]
    fn head(&mut self, head: &Head<'_>) -> Result<(), Why> {
        if self.early {
            return Err(Why::Early);
        }
        self.check.head(self.watch, self.class, self.ask, head)
    }

    #[inline]
    fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        self.watch.body(bytes)
    }
}
