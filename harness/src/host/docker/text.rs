//! Output of strangers' programs, made fit to keep and show: the end of it
//! only, without control characters.

use std::collections::VecDeque;

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
        let text =
            plain(&String::from_utf8_lossy(self.bytes.make_contiguous()));
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

/// Drops terminal escape sequences and all control characters but line feeds
/// and tabs.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek() {
                // CSI: parameters, then one final byte from `@` to `~`.
                Some('[') => {
                    chars.next();
                    chars.find(|c| ('@'..='~').contains(c) || *c == '\n');
                }
                // OSC and the other strings end with BEL or ESC backslash.
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || c == '\n' {
                            break;
                        }
                        if c == '\u{1b}' {
                            chars.next_if_eq(&'\\');
                            break;
                        }
                    }
                }
                _ => {
                    chars.next_if(|c| c.is_ascii_graphic());
                }
            },
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(raw: &str, expected: &str) {
        assert_eq!(plain(raw), expected);
    }

    #[test]
    fn escape_sequences_and_control_characters_are_dropped() {
        becomes("plain é\tline\n", "plain é\tline\n");
        becomes("\u{1b}[1;31mred\u{1b}[0m", "red");
        becomes("a\r\nb\u{0}\u{8}c\u{9b}d", "a\nbcd");
        becomes("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y", "xy");
        becomes("\u{1b}(Bx", "Bx");
    }

    #[test]
    fn an_unfinished_sequence_ends_with_its_line() {
        becomes("\u{1b}[31", "");
        becomes("\u{1b}]title\nnext", "next");
        becomes("\u{1b}", "");
    }

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
