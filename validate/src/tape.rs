//! The exchange of one probe, written down for a replay.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::http::show;

/// No replay shows more lines.
const LINES: usize = 4000;

/// Who said something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Said {
    /// The judge.
    Judge,
    /// The entry.
    Entry,
    /// Nobody: an event, such as a connection that ended.
    Event,
}

/// One thing that was said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    /// Which connection, from 1.
    pub connection: usize,
    /// Who.
    pub said: Said,
    /// What: bytes are escaped as `printf` reads them. An entry's text.
    pub text: String,
}

/// Takes down what is said; without one nothing costs anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape(Option<Arc<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    connections: AtomicUsize,
    lines: Mutex<Vec<Line>>,
}

/// One connection's part of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    tape: Tape,
    connection: usize,
}

impl Tape {
    /// One that runs.
    pub(crate) fn running() -> Tape {
        Tape(Some(Arc::default()))
    }

    /// A new connection's part.
    pub(crate) fn track(&self) -> Track {
        let connection = self.0.as_ref().map_or(0, |inner| {
            inner.connections.fetch_add(1, Ordering::Relaxed) + 1
        });
        Track { tape: self.clone(), connection }
    }

    /// Everything that was said.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.0.as_ref().map_or_else(Vec::new, |inner| {
            inner.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }
}

impl Track {
    /// Takes down bytes.
    pub(crate) fn bytes(&self, said: Said, bytes: &[u8]) {
        if self.tape.0.is_some() {
            self.text(said, &show(bytes));
        }
    }

    /// Takes down a text: a frame, an event.
    pub(crate) fn text(&self, said: Said, text: &str) {
        let Some(inner) = &self.tape.0 else { return };
        let mut lines =
            inner.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < LINES {
            let connection = self.connection;
            lines.push(Line { connection, said, text: text.into() });
        }
    }
}
