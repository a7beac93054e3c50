//! Chunked bodies (RFC 9112 section 7.1).

use super::{MAX_HEAD, Why};

/// A chunk extension longer than this is an attack, not an extension.
const MAX_EXTENSION: u16 = 4096;
/// No honest chunk is larger; it also keeps the size from overflowing.
const MAX_CHUNK: u64 = 1 << 40;
/// Leading zeros are legal, but not without end.
const MAX_DIGITS: u8 = 32;

#[derive(Debug)]
enum At {
    /// Before the first hexadecimal digit of a size.
    SizeStart,
    /// The value so far and how many digits it took.
    Size(u64, u8),
    Extension(u64, u16),
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    /// At the start of a trailer line or of the last, empty one.
    Line,
    /// Within one; whether its colon has come.
    Trailer(bool),
    TrailerLf,
    LastLf,
}

/// Where in a chunked body the stream is.
#[derive(Debug)]
pub(super) struct Chunks {
    at: At,
    trailer_bytes: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Chunks { at: At::SizeStart, trailer_bytes: 0 }
    }
}

impl Chunks {
    /// Reads on. Returns the bytes used and whether the body is over.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        body: &mut impl FnMut(&[u8]) -> Result<(), Why>,
    ) -> (usize, Result<bool, Why>) {
        let mut used = 0;
        while let Some(&byte) = input.get(used) {
            if let At::Data(left) = self.at {
                let n = (input.len() - used).min(left as usize);
                if let Err(why) = body(&input[used..used + n]) {
                    return (used, Err(why));
                }
                used += n;
                let left = left - n as u64;
                self.at = if left == 0 { At::DataCr } else { At::Data(left) };
                continue;
            }
            used += 1;
            match self.byte(byte) {
                Ok(true) => return (used, Ok(true)),
                Ok(false) => {}
                Err(why) => return (used, Err(why)),
            }
        }
        (used, Ok(false))
    }

    /// One byte of framing; whether it was the last.
    fn byte(&mut self, byte: u8) -> Result<bool, Why> {
        self.at = match (&self.at, byte) {
            (At::SizeStart, _) => At::Size(hex(byte).ok_or(Why::Chunk)?, 1),
            (At::Size(n, _), b'\r') => At::SizeLf(*n),
            (At::Size(n, _), b';' | b' ' | b'\t') => At::Extension(*n, 0),
            (At::Size(n, digits), _) => {
                let n = n << 4 | hex(byte).ok_or(Why::Chunk)?;
                if n > MAX_CHUNK || *digits == MAX_DIGITS {
                    return Err(Why::Chunk);
                }
                At::Size(n, digits + 1)
            }
            (At::Extension(n, _), b'\r') => At::SizeLf(*n),
            (At::Extension(n, len), _) => {
                if byte == b'\n' || *len == MAX_EXTENSION {
                    return Err(Why::Chunk);
                }
                At::Extension(*n, len + 1)
            }
            (At::SizeLf(0), b'\n') => At::Line,
            (At::SizeLf(n), b'\n') => At::Data(*n),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::SizeStart,
            (At::Line, b'\r') => At::LastLf,
            (At::LastLf, b'\n') => return Ok(true),
            (At::Line | At::Trailer(_) | At::TrailerLf, _) => {
                self.trailer(byte)?
            }
            (At::LastLf, _) => return Err(Why::Trailer),
            _ => return Err(Why::Chunk),
        };
        Ok(false)
    }

    fn trailer(&mut self, byte: u8) -> Result<At, Why> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > MAX_HEAD {
            return Err(Why::Trailer);
        }
        match (&self.at, byte) {
            (At::Trailer(true), b'\r') => Ok(At::TrailerLf),
            (At::TrailerLf, b'\n') => Ok(At::Line),
            (At::TrailerLf, _) | (_, b'\r' | b'\n' | 0) => Err(Why::Trailer),
            (At::Line, b':' | b' ' | b'\t') => Err(Why::Trailer),
            (At::Trailer(colon), _) => Ok(At::Trailer(*colon || byte == b':')),
            _ => Ok(At::Trailer(false)),
        }
    }
}

fn hex(byte: u8) -> Option<u64> {
    (byte as char).to_digit(16).map(u64::from)
}
