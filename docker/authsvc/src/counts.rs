//! How many were asked, let in and refused since the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One worker's own numbers, on a cache line of their own: counting costs no
/// worker another's line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Own {
    accepted: AtomicU64,
    refused: AtomicU64,
}

/// All workers' numbers.
#[derive(Clone, Debug)]
pub struct Counts(Arc<[Own]>);

impl Counts {
    /// For so many workers.
    pub fn new(workers: usize) -> Counts {
        Counts((0..workers).map(|_| Own::default()).collect())
    }

    /// One more answer of the worker with this number.
    pub fn add(&self, worker: usize, let_in: bool) {
        let Some(own) = self.0.get(worker) else { return };
        let number = if let_in { &own.accepted } else { &own.refused };
        // Only this worker writes it, so nothing is lost between.
        number.store(number.load(Relaxed) + 1, Relaxed);
    }

    /// As the judge reads it.
    pub fn json(&self) -> String {
        let sum = |of: fn(&Own) -> &AtomicU64| {
            self.0.iter().map(|own| of(own).load(Relaxed)).sum::<u64>()
        };
        let (accepted, refused) = (sum(|o| &o.accepted), sum(|o| &o.refused));
        let asked = accepted + refused;
        format!(
            r#"{{"asked":{asked},"accepted":{accepted},"refused":{refused}}}"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_counts_for_itself_and_the_sum_is_told() {
        let counts = Counts::new(2);
        counts.add(0, true);
        counts.add(1, true);
        counts.add(1, false);
        assert_eq!(counts.json(), r#"{"asked":3,"accepted":2,"refused":1}"#);
        counts.add(2, true);
        assert!(counts.json().contains("\"asked\":3"));
    }
}
