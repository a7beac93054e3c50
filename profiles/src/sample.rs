//! What the gun answers: one window's books, as one JSON document on stdout.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::hist::Hist;
use crate::profile::Metric;

/// The schema of [`Shot`] this version reads and writes.
pub const SAMPLE_SCHEMA: u32 = 1;

/// How a request ended without a complete answer.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The connection was reset (ECONNRESET, EPIPE).
    Reset,
    /// The server closed before the first byte of the answer.
    Closed,
    /// The server closed in the middle of the answer.
    Torn,
    /// The answer was not HTTP, or its framing was broken.
    Malformed,
    /// Bytes came on its connection that no request had asked for.
    Surplus,
    /// The server refused it unprocessed, again and again.
    Refused,
    /// The system refused an operation on the connection.
    System,
}

/// One firing of the gun.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Shot {
    /// The window was opened and closed.
    Measured(Box<Sample>),
    /// No window was opened.
    Failed(Failure),
}

/// Why no window was opened.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// [`SAMPLE_SCHEMA`].
    pub schema: u32,
    /// `data`, `pin`, `connect`, `warm-up` or `interrupted`.
    pub stage: String,
    /// What went wrong and what to do.
    pub why: String,
    /// Connections asked for.
    pub connections_asked: u32,
    /// Connections made.
    pub connections_made: u32,
    /// Failed connects by errno name, e.g. `ECONNREFUSED`.
    pub connect_errors: BTreeMap<String, u64>,
}

/// Requests of one class in the window.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize,
)]
#[serde(deny_unknown_fields)]
pub struct ClassCount {
    /// Requests sent.
    pub sent: u64,
    /// Right answers.
    pub right: u64,
}

/// What one thread of the gun cost.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize,
)]
#[serde(deny_unknown_fields)]
pub struct ThreadUse {
    /// CPU time of the thread within the window.
    pub cpu_ns: u64,
    /// The thread's own window.
    pub wall_ns: u64,
}

/// Answers per connection over the window, to see the starved ones.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize,
)]
#[serde(deny_unknown_fields)]
pub struct PerConnection {
    /// The fewest right answers any connection got.
    pub min: u64,
    /// The median.
    pub median: u64,
    /// The most.
    pub max: u64,
    /// Connections that got none.
    pub silent: u32,
}

/// The books of one window.
///
/// Every request counted in `sent` was sent inside the window and ends in
/// exactly one of right, wrong, faults, timed out, unanswered.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// [`SAMPLE_SCHEMA`].
    pub schema: u32,
    /// The gun's version and revision.
    pub loadgen: String,
    /// The seed that was used.
    pub seed: u64,
    /// Connections asked for.
    pub connections_asked: u32,
    /// Connections made before the window opened.
    pub connections_made: u32,
    /// Requests in flight per connection.
    pub in_flight: u32,
    /// The client closes after so many answers; `None` keeps alive.
    pub requests_per_connection: Option<u32>,
    /// The window asked for.
    pub window_asked_ns: u64,
    /// The window measured, on a monotonic clock.
    pub window_ns: u64,
    /// Right answers of the warm-up.
    pub warmup_right: u64,
    /// Warm-up requests still unanswered when the gap ended.
    pub warmup_unanswered: u64,
    /// Requests sent in the window.
    pub sent: u64,
    /// Complete right answers in the window.
    pub right: u64,
    /// Complete answers that were not right.
    pub wrong: u64,
    /// The wrong ones by the oracle's word: status, body, ...
    pub wrong_by: BTreeMap<String, u64>,
    /// Requests that ended without a complete answer, by kind.
    pub faults: BTreeMap<Fault, u64>,
    /// Requests whose answer took longer than the limit.
    pub timed_out: u64,
    /// Requests without an answer at the hard stop.
    pub unanswered: u64,
    /// How old those were, ns.
    pub unanswered_age: Hist,
    /// Answers that no request had asked for.
    pub surplus: u64,
    /// Complete answers by status code; sums to right + wrong.
    #[serde(deserialize_with = "status_codes")]
    pub statuses: BTreeMap<u16, u64>,
    /// Requests by class name.
    pub classes: BTreeMap<String, ClassCount>,
    /// Encoded body bytes of the right answers, headers excluded.
    pub right_body_bytes: u64,
    /// Bytes written in the window, heads and framing included.
    pub sent_bytes: u64,
    /// Bytes read in the window, heads and framing included.
    pub received_bytes: u64,
    /// Time from send to last byte of right answers, ns.
    pub latency: Hist,
    /// The same for wrong answers.
    pub latency_wrong: Hist,
    /// Connections opened again in the window.
    pub reconnects: u64,
    /// Failed connects in the window by errno name.
    pub connect_errors: BTreeMap<String, u64>,
    /// Right answers per connection.
    pub per_connection: PerConnection,
    /// Each thread's own cost.
    pub threads: Vec<ThreadUse>,
    /// The first few wrong answers and faults in words, capped.
    pub examples: Vec<String>,
    /// The queue the gun waited on, and why that one.
    #[serde(default)]
    pub engine: String,
    /// Requests sent again because the server had left them unprocessed. They
    /// count once as sent, from their first send.
    #[serde(default)]
    pub retried: u64,
    /// How often a slot had to stay empty since the server granted fewer
    /// streams than there are slots.
    #[serde(default)]
    pub withheld: u64,
    /// Messages of the right answers, where an answer is a stream of them.
    #[serde(default)]
    pub messages: u64,
    /// What an open loop adds; `None` in a closed one.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
}

/// How well an open loop kept its schedule. Its latencies count from the
/// scheduled send.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// The rate asked for.
    pub rate_per_s: f64,
    /// Requests that were due in the window.
    pub offered: u64,
    /// Those that were never sent, since no connection was free.
    pub unsent: u64,
    /// From the scheduled moment to the send, ns, of all that were sent.
    pub pacing: Hist,
}

/// A sample whose books do not close. Always the gun's fault.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the books do not close: {what}: expected {expected}, found {found}")]
pub struct OpenBooks {
    /// Which identity.
    pub what: &'static str,
    /// Its left side.
    pub expected: u64,
    /// Its right side.
    pub found: u64,
}

impl Sample {
    /// Requests that ended in a fault of any kind.
    pub fn faulted(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Right answers per second of the measured window.
    pub fn rate(&self) -> f64 {
        self.per_second(self.right)
    }

    /// What a ranking by `metric` counts, per second of the measured window:
    /// the messages of right streams, else right answers. An echo is one
    /// answer.
    pub fn rate_of(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Messages => self.per_second(self.messages),
            Metric::Answers | Metric::AnswersBySize | Metric::Echoes => {
                self.rate()
            }
        }
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.window_ns == 0 {
            return 0.0;
        }
        count as f64 * 1e9 / self.window_ns as f64
    }

    /// Mean encoded body bytes of a right answer.
    pub fn mean_body_bytes(&self) -> Option<f64> {
        (self.right > 0)
            .then(|| self.right_body_bytes as f64 / self.right as f64)
    }

    /// Every accounting identity of the method, or the first that fails.
    pub fn check_books(&self) -> Result<(), OpenBooks> {
        let ended = self.right
            + self.wrong
            + self.faulted()
            + self.timed_out
            + self.unanswered;
        let classes = self.classes.values();
        let sent_by_class = classes.clone().map(|c| c.sent).sum();
        let right_by_class = classes.map(|c| c.right).sum();
        let by_word: u64 = self.wrong_by.values().sum();
        let by_status: u64 = self.statuses.values().sum();
        let (offered, sent_or_not) = match &self.open_loop {
            Some(open) => (open.offered, open.pacing.count() + open.unsent),
            None => (0, 0),
        };
        for (what, expected, found) in [
            (
                "sent = right + wrong + faults + timed out + unanswered",
                self.sent,
                ended,
            ),
            ("statuses sum to answers", self.right + self.wrong, by_status),
            ("wrong answers by word", self.wrong, by_word),
            ("histogram count = right", self.right, self.latency.count()),
            ("wrong histogram", self.wrong, self.latency_wrong.count()),
            ("unanswered ages", self.unanswered, self.unanswered_age.count()),
            ("sent by class", self.sent, sent_by_class),
            ("right by class", self.right, right_by_class),
            ("offered = sent + unsent", offered, sent_or_not),
        ] {
            if expected != found {
                return Err(OpenBooks { what, expected, found });
            }
        }
        Ok(())
    }
}

/// JSON keys are texts. Inside a tagged enum serde has forgotten that they
/// may be read as numbers, so they are parsed here.
fn status_codes<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<u16, u64>, D::Error> {
    BTreeMap::<String, u64>::deserialize(from)?
        .into_iter()
        .map(|(code, count)| {
            let code = code.parse().map_err(serde::de::Error::custom)?;
            Ok((code, count))
        })
        .collect()
}
