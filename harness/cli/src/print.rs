//! What goes to stdout: results, and nothing else.

use std::io::{self, Write as _};

use anyhow::Context as _;
use profiles::oracle::is_hidden;
use serde::Serialize;

/// One JSON document and a line end.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    text_out(&text)
}

/// One JSON document on one line.
pub fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    text_out(&text)
}

/// Text as it is. A reader that has gone away ends us quietly, as it ends
/// any other tool in a pipe.
pub fn text_out(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
            std::process::exit(0)
        }
        done => done.context("writing to stdout"),
    }
}

/// Columns of equal width, left-aligned, two spaces apart. The first row is
/// the head.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        rows.iter()
            .filter_map(|r| r.get(i))
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// A stranger's text for a terminal: no control characters.
pub fn safe(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_end_without_blanks() {
        let rows = [["a", "bb", "c"], ["aaa", "b", ""]]
            .map(|r| r.map(String::from).to_vec());
        assert_eq!(columns(&rows), "a    bb  c\naaa  b\n");
    }

    #[test]
    fn a_strangers_escape_codes_do_not_reach_the_terminal() {
        assert_eq!(safe("\u{1b}[2Jx\u{7}"), "[2Jx");
    }
}
