//! One thread's books. Nothing is shared: they are added up once, at the end.

use std::collections::BTreeMap;

use profiles::hist::Hist;
use profiles::oracle::{Wrong, clip, is_hidden};
use profiles::sample::{ClassCount, Fault};

use crate::clock::Ns;
use crate::wire::Answer;

/// Wrong answers and faults kept in words, per thread and in a sample.
pub const MAX_EXAMPLES: usize = 5;

/// What a thread counted. Until [`Books::open`] only the warm-up's own
/// counters move.
#[derive(Debug, Default)]
pub struct Books {
    counting: bool,
    /// Right answers of the warm-up.
    pub warmup_right: u64,
    /// Requests of the warm-up that were given up at the end of the gap.
    pub warmup_unanswered: u64,
    /// Requests sent.
    pub sent: u64,
    /// Right answers.
    pub right: u64,
    /// Wrong answers by the oracle's word.
    pub wrong_by: BTreeMap<&'static str, u64>,
    /// Requests that ended without a complete answer.
    pub faults: BTreeMap<Fault, u64>,
    /// Requests whose answer came too late or not at all.
    pub timed_out: u64,
    /// How old the requests without an answer were at the end.
    pub unanswered_age: Hist,
    /// Answers that no request had asked for.
    pub surplus: u64,
    /// Complete answers by status code; three digits each.
    pub statuses: Vec<u64>,
    /// By the class's index in the profile.
    pub classes: Vec<ClassCount>,
    /// Encoded body bytes of the right answers.
    pub right_body_bytes: u64,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
    /// Round trips of the right answers.
    pub latency: Hist,
    /// Round trips of the wrong ones.
    pub latency_wrong: Hist,
    /// Connections opened again.
    pub reconnects: u64,
    /// Failed connects by errno name.
    pub connect_errors: BTreeMap<String, u64>,
    /// Requests sent again that the server had given back.
    pub retried: u64,
    /// Slots that stayed empty for want of a stream.
    pub withheld: u64,
    /// Messages of the right answers.
    pub messages: u64,
    /// From the scheduled moment to the send.
    pub pacing: Hist,
    /// The first few wrong answers and faults in words.
    pub examples: Vec<String>,
}

impl Books {
    /// Empty books for `classes` classes.
    pub fn new(classes: usize) -> Books {
        Books {
            statuses: vec![0; 1000],
            classes: vec![ClassCount::default(); classes],
            ..Books::default()
        }
    }

    /// The window opens: from now on everything counts.
    pub fn open(&mut self) {
        self.counting = true;
    }

    /// Whether the window is open.
    pub fn is_open(&self) -> bool {
        self.counting
    }

    /// A request was handed to the kernel.
    #[inline]
    pub fn sent(&mut self, class: usize) {
        if self.counting {
            self.sent += 1;
            self.classes[class].sent += 1;
        }
    }

    /// A request of an open loop was sent so long after it was due.
    #[inline]
    pub fn paced(&mut self, late: Ns) {
        if self.counting {
            self.pacing.record(late);
        }
    }

    /// A request was given back and goes out again.
    #[cold]
    pub fn retried(&mut self) {
        if self.counting {
            self.retried += 1;
        }
    }

    /// The server grants no stream for a slot that is free.
    #[cold]
    pub fn withheld(&mut self) {
        if self.counting {
            self.withheld += 1;
        }
    }

    /// A right answer, in time. Says whether it counted.
    #[inline]
    pub fn right(&mut self, class: usize, answer: &Answer, took: Ns) -> bool {
        if !self.counting {
            self.warmup_right += 1;
            return false;
        }
        self.right += 1;
        self.statuses[usize::from(answer.status)] += 1;
        self.classes[class].right += 1;
        self.right_body_bytes += answer.body_bytes;
        self.messages += answer.messages;
        self.latency.record(took);
        true
    }

    /// A wrong answer, in time. `target` is what was asked.
    #[cold]
    pub fn wrong(
        &mut self,
        answer: &Answer,
        took: Ns,
        wrong: &Wrong,
        target: impl FnOnce() -> String,
    ) {
        if !self.counting {
            return;
        }
        *self.wrong_by.entry(wrong.word()).or_default() += 1;
        self.statuses[usize::from(answer.status)] += 1;
        self.latency_wrong.record(took);
        self.example(|| format!("{}: {wrong}", target()));
    }

    /// A request ended without a complete answer.
    #[cold]
    pub fn fault(&mut self, fault: Fault, words: impl FnOnce() -> String) {
        if self.counting {
            *self.faults.entry(fault).or_default() += 1;
            self.example(words);
        }
    }

    /// A request was not answered in time.
    #[cold]
    pub fn timed_out(&mut self) {
        if self.counting {
            self.timed_out += 1;
        }
    }

    /// A request had no answer when its time was over: at the hard stop, or
    /// at the end of the gap.
    #[cold]
    pub fn unanswered(&mut self, age: Ns) {
        if self.counting {
            self.unanswered_age.record(age);
        } else {
            self.warmup_unanswered += 1;
        }
    }

    /// An answer came that no request had asked for.
    #[cold]
    pub fn surplus(&mut self, words: impl FnOnce() -> String) {
        if self.counting {
            self.surplus += 1;
            self.example(words);
        }
    }

    /// A connect was refused.
    #[cold]
    pub fn connect_error(&mut self, errno: String) {
        if self.counting {
            *self.connect_errors.entry(errno).or_default() += 1;
        }
    }

    /// Bytes written and read.
    #[inline]
    pub fn bytes(&mut self, sent: usize, received: usize) {
        if self.counting {
            self.sent_bytes += sent as u64;
            self.received_bytes += received as u64;
        }
    }

    /// A word on a connection of which the counts alone say nothing.
    #[cold]
    pub fn note(&mut self, words: &str) {
        if self.counting {
            self.example(|| words.into());
        }
    }

    fn example(&mut self, words: impl FnOnce() -> String) {
        if self.examples.len() < MAX_EXAMPLES {
            // A stranger's bytes may be among the words.
            let words: String = words().chars().take(300).collect();
            let clean = words.replace(is_hidden, "\u{fffd}");
            self.examples.push(clean);
        }
    }
}

/// A stranger's bytes in an example.
pub fn shown(bytes: &[u8]) -> String {
    format!("`{}`", clip(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_hides_text_does_not_reach_the_examples() {
        let mut books = Books::new(1);
        books.open();
        let bytes = "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\nf";
        books.surplus(|| bytes.into());
        assert_eq!(
            books.examples,
            ["a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f"]
        );
        assert_eq!(clip(bytes.as_bytes()), books.examples[0]);
    }
}
