//! Heads: the status line and the few headers that matter.

use memchr::memchr;

use super::{MAX_HEAD, Why};

/// Heads longer than this are not remembered.
const MEMO_BYTES: usize = 1024;

/// How the body of an answer is delimited (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Length {
    /// There is none, whatever the headers say.
    None,
    /// So many bytes.
    Fixed(u64),
    /// Chunks.
    Chunked,
    /// All bytes until the server closes.
    UntilClose,
}

/// A final or informational head, its values over the bytes they were read
/// from.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The status code.
    pub status: u16,
    /// How the body is delimited.
    pub length: Length,
    /// Whether the server will close after this answer.
    pub close: bool,
    /// The value of `Content-Type`.
    pub content_type: Option<&'a [u8]>,
    /// The value of `Content-Encoding`.
    pub content_encoding: Option<&'a [u8]>,
}

impl<'a> Head<'a> {
    #[inline]
    pub(super) fn over(parsed: Parsed, bytes: &'a [u8]) -> Head<'a> {
        let part = |at: Option<(u32, u32)>| {
            at.map(|(from, to)| &bytes[from as usize..to as usize])
        };
        Head {
            status: parsed.status,
            length: parsed.length,
            close: parsed.close,
            content_type: part(parsed.content_type),
            content_encoding: part(parsed.content_encoding),
        }
    }
}

/// What a head says, free of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsed {
    status: u16,
    length: Length,
    close: bool,
    content_type: Option<(u32, u32)>,
    content_encoding: Option<(u32, u32)>,
}

/// The last whole head of a thread. Servers repeat their heads byte for byte,
/// so most are known by one comparison and never read again.
#[derive(Debug, Default)]
pub struct Memo {
    bytes: Vec<u8>,
    parsed: Option<Parsed>,
}

impl Memo {
    /// Reads a head that begins at `input[0]`, and its length; the scan is where to go on
    /// when it is not all there.
    #[inline]
    pub(super) fn read<'a>(
        &mut self,
        input: &'a [u8],
    ) -> Result<Result<(Head<'a>, usize), Scan>, Why> {
        if let Some(parsed) = self.parsed
            && input.starts_with(&self.bytes)
        {
            let len = self.bytes.len();
            return Ok(Ok((Head::over(parsed, &input[..len]), len)));
        }
        let mut scan = Scan::default();
        let Some(parsed) = scan.run(input)? else {
            return Ok(Err(scan));
        };
        let bytes = &input[..scan.at];
        if bytes.len() <= MEMO_BYTES {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.parsed = Some(parsed);
        }
        Ok(Ok((Head::over(parsed, bytes), bytes.len())))
    }
}

/// Reads a head line by line and can be stopped between any two bytes.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Where the next unread line starts; in the end, the head's length.
    pub(super) at: usize,
    status: Option<u16>,
    old_version: bool,
    keep_alive: bool,
    close: bool,
    fixed: Option<u64>,
    chunked: bool,
    content_type: Option<(u32, u32)>,
    content_encoding: Option<(u32, u32)>,
}

impl Scan {
    /// Goes on over `bytes`, which begin where the head begins.
    pub(super) fn run(&mut self, bytes: &[u8]) -> Result<Option<Parsed>, Why> {
        loop {
            let rest = &bytes[self.at..];
            let Some(n) = memchr(b'\n', rest) else {
                let hopeless = self.status.is_none() && !may_be_status(rest);
                return if hopeless { Err(Why::StatusLine) } else { Ok(None) };
            };
            let from = self.at;
            self.at += n + 1;
            if self.at > MAX_HEAD {
                return Err(Why::HeadTooLong);
            }
            let line = &rest[..n];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(status) = self.status else {
                self.status_line(line)?;
                continue;
            };
            if line.is_empty() {
                return self.finish(status).map(Some);
            }
            self.field(line, from)?;
        }
    }

    fn status_line(&mut self, line: &[u8]) -> Result<(), Why> {
        let reason = line.get(12..).unwrap_or(b"");
        let whole = line.len() >= 12 && may_be_status(line);
        let ended = reason.first().is_none_or(|b| *b == b' ');
        if !whole || !ended || reason.iter().any(|b| is_control(*b)) {
            return Err(Why::StatusLine);
        }
        let digit = |i: usize| u16::from(line[i] - b'0');
        let status = digit(9) * 100 + digit(10) * 10 + digit(11);
        if status < 100 {
            return Err(Why::StatusLine);
        }
        self.old_version = line[7] == b'0';
        self.status = Some(status);
        Ok(())
    }

    fn field(&mut self, line: &[u8], from: usize) -> Result<(), Why> {
        let colon = memchr(b':', line).ok_or(Why::Field)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        // Also refuses folded lines and blanks before the colon.
        if name.is_empty() || !name.iter().all(|b| is_token(*b)) {
            return Err(Why::Field);
        }
        if value.iter().any(|b| is_control(*b)) {
            return Err(Why::Field);
        }
        let start = from + colon + 1 + blanks(value.iter());
        let value = value.trim_ascii();
        let range = (start as u32, (start + value.len()) as u32);
        // The length tells most names apart without reading them.
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.connection(value);
            }
            12 if name.eq_ignore_ascii_case(b"content-type") => {
                once(&mut self.content_type, range)?;
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                self.content_length(value)?;
            }
            16 if name.eq_ignore_ascii_case(b"content-encoding") => {
                once(&mut self.content_encoding, range)?;
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let known = value.eq_ignore_ascii_case(b"chunked");
                if !known || self.chunked {
                    return Err(Why::TransferCoding);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|b| *b == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9110 section 8.6 lets equal values be repeated.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Why> {
        for part in value.split(|b| *b == b',') {
            let n = number(part.trim_ascii()).ok_or(Why::Length)?;
            if self.fixed.is_some_and(|known| known != n) {
                return Err(Why::Length);
            }
            self.fixed = Some(n);
        }
        Ok(())
    }

    fn finish(&self, status: u16) -> Result<Parsed, Why> {
        if self.chunked && self.fixed.is_some() {
            return Err(Why::TwoFramings);
        }
        if self.chunked && self.old_version {
            return Err(Why::TransferCoding);
        }
        let length = match (status, self.chunked, self.fixed) {
            (100..200 | 204 | 304, ..) => Length::None,
            (_, true, _) => Length::Chunked,
            (_, _, Some(n)) => Length::Fixed(n),
            _ => Length::UntilClose,
        };
        Ok(Parsed {
            status,
            length,
            close: self.close || self.old_version && !self.keep_alive,
            content_type: self.content_type,
            content_encoding: self.content_encoding,
        })
    }
}

fn once(slot: &mut Option<(u32, u32)>, at: (u32, u32)) -> Result<(), Why> {
    match slot.replace(at) {
        None => Ok(()),
        Some(_) => Err(Why::Twice),
    }
}

/// Whether a status line may begin so.
pub(super) fn may_be_status(bytes: &[u8]) -> bool {
    const LIKE: &[u8; 12] = b"HTTP/1.x NNN";
    LIKE.iter().zip(bytes).all(|(like, found)| match like {
        b'x' | b'N' => found.is_ascii_digit(),
        _ => like == found,
    })
}

fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0u64, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0'))
    })
}

fn blanks<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    bytes.take_while(|b| b.is_ascii_whitespace()).count()
}

pub(super) fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

pub(super) fn is_token(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`'
        | b'|' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z')
}
