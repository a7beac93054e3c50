//! What happens in a run, for whoever shows it.

use std::{path::Path, time::Duration};

use profiles::{name::EntryName, record::Record, verdict::Verdicts};

use super::Lost;
use crate::plan::PlannedShot;

/// What happens, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something to be warned of.
    Note(&'a str),
    /// The run has a folder.
    Run {
        /// Its id.
        run: &'a str,
        /// Its folder.
        dir: &'a Path,
    },
    /// An entry is being built.
    Building {
        /// Which.
        entry: &'a EntryName,
    },
    /// A line of its build. A stranger's text, control characters taken out.
    BuildLine {
        /// Whose.
        entry: &'a EntryName,
        /// The line.
        line: &'a str,
    },
    /// An entry is being judged.
    Judging {
        /// Which.
        entry: &'a EntryName,
    },
    /// The judge has spoken.
    Judged {
        /// What it found.
        verdicts: &'a Verdicts,
    },
    /// An entry goes no further; the others do.
    Lost {
        /// Which.
        entry: &'a EntryName,
        /// Where and why.
        lost: &'a Lost,
    },
    /// A shot begins.
    Firing {
        /// Which.
        shot: &'a PlannedShot,
        /// Shots before it.
        done: usize,
        /// Shots in all.
        of: usize,
    },
    /// A shot is stored.
    Stored {
        /// What was stored.
        record: &'a Record,
        /// Shots so far.
        done: usize,
        /// Shots in all.
        of: usize,
        /// Time left, by those so far.
        left: Duration,
    },
}

/// Whoever shows what happens.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _event: &Event<'_>) {}
}
