//! The chunked coding, RFC 9112 section 7.1: read strictly, written freely.

use std::fmt::Write as _;

/// A chunk-size line or a trailer line may be at most so long.
const LINE_LIMIT: usize = 4096;
const TRAILER_LINES: usize = 32;

/// What the bytes after a head amount to.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Chunks {
    /// More bytes are needed.
    More,
    /// The decoded body, and how many bytes it took.
    Done(Vec<u8>, usize),
    /// No further byte can mend it.
    Broken(String),
}

/// Reads a whole chunked body of at most `limit` decoded bytes.
pub(super) fn parse(bytes: &[u8], limit: usize) -> Chunks {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let line = match line(&bytes[at..]) {
            Ok(Some(line)) => line,
            Ok(None) => return Chunks::More,
            Err(why) => return Chunks::Broken(why),
        };
        at += line.len() + 2;
        let Some(size) = size(line) else {
            let shown = profiles::oracle::clip(line);
            return Chunks::Broken(format!("chunk size line `{shown}`"));
        };
        if size == 0 {
            return trailers(bytes, at, body);
        }
        if body.len() + size > limit {
            return Chunks::Broken(format!(
                "a body of more than {limit} bytes"
            ));
        }
        let Some(data) = bytes.get(at..at + size) else {
            return Chunks::More;
        };
        body.extend_from_slice(data);
        at += size;
        match bytes.get(at..bytes.len().min(at + 2)) {
            Some(b"\r\n") => at += 2,
            Some(b"" | b"\r") => return Chunks::More,
            _ => {
                let why = format!("no CR LF after a chunk of {size} bytes");
                return Chunks::Broken(why);
            }
        }
    }
}

fn trailers(bytes: &[u8], mut at: usize, body: Vec<u8>) -> Chunks {
    for _ in 0..TRAILER_LINES {
        match line(&bytes[at..]) {
            Ok(Some(b"")) => return Chunks::Done(body, at + 2),
            Ok(Some(line)) if line.contains(&b':') => at += line.len() + 2,
            Ok(Some(line)) => {
                let shown = profiles::oracle::clip(line);
                let why = format!("after the last chunk: `{shown}`");
                return Chunks::Broken(why);
            }
            Ok(None) => return Chunks::More,
            Err(why) => return Chunks::Broken(why),
        }
    }
    Chunks::Broken(format!("more than {TRAILER_LINES} trailers"))
}

/// The bytes before the first CR LF; `None` while there is none yet.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, String> {
    let end = bytes.iter().take(LINE_LIMIT).position(|b| *b == b'\n');
    match end {
        Some(end) if end > 0 && bytes[end - 1] == b'\r' => {
            Ok(Some(&bytes[..end - 1]))
        }
        Some(_) => Err("a line of the chunked body ends with LF alone".into()),
        None if bytes.len() >= LINE_LIMIT => {
            Err(format!("a chunked line of more than {LINE_LIMIT} bytes"))
        }
        None => Ok(None),
    }
}

fn size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|b| *b == b';').next()?;
    let digits = digits.trim_ascii_end();
    // from_str_radix would take a sign.
    let hex = digits.iter().all(u8::is_ascii_hexdigit);
    if !hex || digits.len() > 12 {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// How the size of a chunk is written; all are the same to a parser.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(crate) upper: bool,
    pub(crate) zeros: usize,
    pub(crate) extension: &'static str,
    pub(crate) trailer: &'static str,
}

/// Encodes `body` in chunks of the given sizes, repeated as needed.
pub(crate) fn encode(body: &[u8], sizes: &[usize], style: Style) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 64);
    let mut sizes = sizes.iter().copied().filter(|s| *s > 0).cycle();
    let mut rest = body;
    while !rest.is_empty() {
        let want = sizes.next().unwrap_or(rest.len());
        let (chunk, after) = rest.split_at(want.min(rest.len()));
        size_line(&mut out, chunk.len(), style);
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
        rest = after;
    }
    size_line(&mut out, 0, style);
    out.extend_from_slice(style.trailer.as_bytes());
    out.extend_from_slice(b"\r\n");
    out
}

fn size_line(out: &mut Vec<u8>, size: usize, style: Style) {
    let mut text = "0".repeat(style.zeros);
    // Writing to a String cannot fail.
    let _ = match style.upper {
        true => write!(text, "{size:X}"),
        false => write!(text, "{size:x}"),
    };
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(style.extension.as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_any_style_is_read_back() {
        let body: Vec<u8> = (0..=255).cycle().take(700).collect();
        let style = Style {
            upper: true,
            zeros: 3,
            extension: ";a=\"b\"",
            trailer: "X-T: 1\r\n",
        };
        for sizes in [&[][..], &[1], &[7, 300, 2]] {
            let wire = encode(&body, sizes, style);
            let used = wire.len();
            assert_eq!(parse(&wire, 700), Chunks::Done(body.clone(), used));
            assert_eq!(parse(&wire[..used - 1], 700), Chunks::More);
        }
        assert_eq!(
            encode(b"20", &[], Style::default()),
            b"2\r\n20\r\n0\r\n\r\n"
        );
    }

    #[test]
    fn broken_chunks_are_told_from_short_ones() {
        let broken = [
            &b"zz\r\n"[..],
            b"+2\r\nab\r\n",
            b"\r\n",
            b"2\nab",
            b"2\r\nabc\r\n",
            b"0\r\njunk\r\n\r\n",
            b"9\r\n",
        ];
        for bytes in broken {
            let found = parse(bytes, 8);
            assert!(matches!(found, Chunks::Broken(_)), "{bytes:?} {found:?}");
        }
        assert_eq!(parse(b"2\r\nab", 8), Chunks::More);
        assert_eq!(parse(b"2\r\nab\r", 8), Chunks::More);
    }
}
