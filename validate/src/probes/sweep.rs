//! One request, cut in two at every offset, on a connection for each.

use std::time::{Duration, Instant};

use profiles::verdict::Verdict;

use crate::http::{Conn, Ends, Request, show, wait_read};
use crate::probe::{Miss, Outcome};
use crate::session::Session;

/// Connections at a time: enough to be quick, few enough for any backlog.
const BATCH: usize = 64;
/// Between the parts: long enough for a server to read the first one.
const PAUSE: Duration = Duration::from_millis(30);
/// For all longer pauses of a sweep together: a server with fewer workers
/// than connections never reads them all.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many separate ranges of offsets are listed.
const RANGES: usize = 8;

/// Reads what must come back on a connection.
pub(super) type Read<'r> =
    dyn Fn(&Session<'_>, &mut Conn, Instant) -> Outcome + 'r;

/// What went wrong over all shapes of a probe.
pub(super) struct Sweep {
    first: Option<Box<Miss>>,
    ranges: Vec<String>,
    /// Whether a whole batch had no answer: then no more is tried.
    silent: bool,
    /// What is left for longer pauses.
    patience: Duration,
}

impl Sweep {
    /// Nothing swept yet.
    pub(super) fn new() -> Sweep {
        Sweep {
            first: None,
            ranges: Vec::new(),
            silent: false,
            patience: PATIENCE,
        }
    }

    /// Sends `request` cut at every offset and reads with `read`.
    pub(super) fn every_cut(
        &mut self,
        s: &mut Session<'_>,
        shape: &str,
        request: &Request,
        read: &Read<'_>,
    ) -> Outcome {
        s.asked.get_or_insert_with(|| {
            format!("{} cut at every byte", request.shown())
        });
        if self.silent {
            return Ok(());
        }
        let offsets: Vec<usize> = (1..request.bytes.len()).collect();
        let mut failed = Vec::new();
        for batch in offsets.chunks(BATCH) {
            // One slow batch shows the fault; the rest only maps it.
            let patient = self.first.is_none();
            let open = self.halves(s, request, batch)?;
            let misses = answers(s, request, open, patient, read);
            let silent = misses.len() == batch.len()
                && misses.iter().all(|(_, m)| m.verdict == Verdict::NoAnswer);
            for (cut, miss) in misses {
                failed.push(cut);
                let blame = miss.verdict == Verdict::Fail;
                let first = self.first.get_or_insert(miss);
                if blame {
                    first.verdict = Verdict::Fail;
                }
            }
            if silent {
                self.silent = true;
                break;
            }
        }
        if !failed.is_empty() {
            let stop = if self.silent { ", then not tried" } else { "" };
            let found = ranges(&failed, &request.bytes);
            self.ranges.push(format!("{shape}: {found}{stop}"));
        }
        Ok(())
    }

    /// A connection for each cut, with both parts sent on it.
    fn halves(
        &mut self,
        s: &Session<'_>,
        request: &Request,
        batch: &[usize],
    ) -> Result<Vec<(usize, Conn)>, Box<Miss>> {
        let mut open = Vec::with_capacity(batch.len());
        for cut in batch {
            let mut conn = s.open()?;
            conn.send(&request.bytes[..*cut], s.deadline());
            open.push((*cut, conn));
        }
        std::thread::sleep(PAUSE);
        let ends: Vec<Ends> =
            open.iter().filter_map(|(_, c)| c.ends()).collect();
        let more = Instant::now();
        wait_read(&ends, s.within(self.patience));
        self.patience = self.patience.saturating_sub(more.elapsed());
        for (cut, conn) in &mut open {
            conn.send(&request.bytes[*cut..], s.deadline());
        }
        Ok(open)
    }

    /// The outcome over everything swept.
    pub(super) fn outcome(self) -> Outcome {
        let Some(mut miss) = self.first else { return Ok(()) };
        miss.got =
            format!("{}; failing cuts: {}", miss.got, self.ranges.join("; "));
        Err(miss)
    }
}

fn answers(
    s: &Session<'_>,
    request: &Request,
    open: Vec<(usize, Conn)>,
    patient: bool,
    read: &Read<'_>,
) -> Vec<(usize, Box<Miss>)> {
    let by = if patient { s.deadline() } else { s.short() };
    let mut failed = Vec::new();
    // A connection is dropped once it is read: a server of few workers
    // takes the next one only then.
    for (cut, mut conn) in open {
        if let Err(mut miss) = read(s, &mut conn, by) {
            miss.asked = format!(
                "{}, a pause of {} ms, {}",
                show(&request.bytes[..cut]),
                PAUSE.as_millis(),
                show(&request.bytes[cut..]),
            );
            failed.push((cut, miss));
        }
    }
    failed
}

/// Offsets in ranges; a lone one with the bytes around it.
fn ranges(offsets: &[usize], bytes: &[u8]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &at in offsets {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == at => *end = at,
            _ => runs.push((at, at)),
        }
    }
    let shown = |(start, end): &(usize, usize)| {
        if start != end {
            return format!("{start}-{end}");
        }
        let before = show(&bytes[start.saturating_sub(4)..*start]);
        let after = show(&bytes[*start..bytes.len().min(start + 4)]);
        format!("{start} (`{before}` | `{after}`)")
    };
    let mut parts: Vec<String> = runs.iter().take(RANGES).map(shown).collect();
    if runs.len() > RANGES {
        parts.push(format!("and {} more", runs.len() - RANGES));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_offsets_are_told_in_ranges_and_lone_ones_with_their_bytes() {
        let bytes = b"GET / HTTP/1.1\r\n\r\n";
        assert_eq!(ranges(&[1, 2, 3, 7, 8], bytes), "1-3, 7-8");
        assert_eq!(ranges(&[17], bytes), "17 (`1\\r\\n\\r` | `\\n`)");
        let many: Vec<usize> = (1..40).step_by(2).collect();
        let text = ranges(&many, &[b'x'; 64]);
        assert!(text.ends_with("and 12 more"), "{text}");
    }
}
