//! Output of strangers' programs, made fit to keep and show: the end of it
//! only, without control characters.

use std::collections::VecDeque;

use super::super::clean;

/// Keeps the last bytes of a stream.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    cap: usize,
    dropped: u64,
}

impl Tail {
    /// Keeps at most `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self { bytes: VecDeque::new(), cap, dropped: 0 }
    }

    /// Takes the next piece, and forgets what no longer fits.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend(piece);
        let surplus = self.bytes.len().saturating_sub(self.cap);
        self.bytes.drain(..surplus);
        self.dropped += surplus as u64;
    }

    /// The kept end as plain text; says how much is missing before it.
    pub(super) fn text(&mut self) -> String {
        let text = clean(self.bytes.make_contiguous());
        if self.dropped == 0 {
            return text;
        }
        format!("[{} bytes before this left out]\n{text}", self.dropped)
    }
}

/// The last `count` lines.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept_and_the_loss_is_said() {
        let mut tail = Tail::new(4);
        tail.push(b"ab");
        tail.push(b"cdef");
        assert_eq!(tail.text(), "[2 bytes before this left out]\ncdef");
    }

    #[test]
    fn a_cut_character_does_not_break_the_text() {
        let mut tail = Tail::new(3);
        tail.push("éé".as_bytes());
        assert!(tail.text().ends_with("\u{fffd}é"));
    }

    #[test]
    fn last_lines_gives_what_there_is() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }
}
