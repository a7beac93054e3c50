//! The chunked coding, undone piece by piece wherever it is cut.

use super::Status;

/// The longest line of a size with its extensions.
const LINE_LIMIT_BYTES: usize = 4096;

/// The most that sizes, extensions and trailers of one body may take.
const FRAMING_LIMIT_BYTES: usize = 1024 * 1024;

/// The most that trailers may take.
const TRAILER_LIMIT_BYTES: usize = 8192;

#[derive(Debug)]
pub struct Decoder {
    state: State,
    /// Of the chunk that is being read.
    left_bytes: u64,
    /// Of the line of a size, or of all trailers.
    line_bytes: usize,
    framing_bytes: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Before the first digit of a size.
    Start,
    Size,
    /// White space after the size: an extension must follow.
    Gap,
    Extension,
    SizeEnd,
    Data,
    DataEnd,
    DataLineEnd,
    /// At the start of a trailer or of the empty line.
    TrailerStart,
    Trailer,
    TrailerEnd,
    LastLineEnd,
    Done,
}

/// A piece of a chunk, or the body's end.
#[derive(Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    Data(&'a [u8]),
    /// All input is used up.
    More,
    End,
}

impl Decoder {
    pub fn new() -> Self {
        Self {
            state: State::Start,
            left_bytes: 0,
            line_bytes: 0,
            framing_bytes: 0,
        }
    }

    /// Takes the next piece off the input.
    pub fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Piece<'a>, Status> {
        loop {
            if self.state == State::Done {
                return Ok(Piece::End);
            }
            if self.state == State::Data {
                if input.is_empty() {
                    return Ok(Piece::More);
                }
                let left = usize::try_from(self.left_bytes);
                let taken = left.unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(taken);
                *input = rest;
                self.left_bytes -= taken as u64;
                if self.left_bytes == 0 {
                    self.state = State::DataEnd;
                }
                return Ok(Piece::Data(data));
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Piece::More);
            };
            *input = rest;
            self.line_bytes += 1;
            self.framing_bytes += 1;
            if self.framing_bytes > FRAMING_LIMIT_BYTES {
                return Err(Status::BAD_REQUEST);
            }
            self.state = self.step(byte)?;
        }
    }

    /// One byte that is not data.
    fn step(&mut self, byte: u8) -> Result<State, Status> {
        let next = match (self.state, byte) {
            (State::Start | State::Size, _) if byte.is_ascii_hexdigit() => {
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                // Also of nothing but zeros, and past 64 bits.
                let grown = self.left_bytes.checked_mul(16);
                let grown = grown.ok_or(Status::CONTENT_TOO_LARGE)?;
                self.left_bytes = grown | u64::from(digit);
                State::Size
            }
            (State::Size, b'\r') => State::SizeEnd,
            (State::Size | State::Gap, b';') => State::Extension,
            (State::Size | State::Gap, b' ' | b'\t') => State::Gap,
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, _) if in_text(byte) => State::Extension,
            (State::SizeEnd, b'\n') => {
                self.line_bytes = 0;
                match self.left_bytes {
                    0 => State::TrailerStart,
                    _ => State::Data,
                }
            }
            (State::DataEnd, b'\r') => State::DataLineEnd,
            (State::DataLineEnd, b'\n') => {
                self.line_bytes = 0;
                State::Start
            }
            (State::TrailerStart, b'\r') => State::LastLineEnd,
            (State::TrailerStart, _) if super::scan::in_token(byte) => {
                State::Trailer
            }
            (State::Trailer, b'\r') => State::TrailerEnd,
            (State::Trailer, _) if in_text(byte) => State::Trailer,
            (State::TrailerEnd, b'\n') => State::TrailerStart,
            (State::LastLineEnd, b'\n') => State::Done,
            _ => return Err(Status::BAD_REQUEST),
        };
        let limit = match next {
            State::TrailerStart
            | State::Trailer
            | State::TrailerEnd
            | State::LastLineEnd
            | State::Done => TRAILER_LIMIT_BYTES,
            _ => LINE_LIMIT_BYTES,
        };
        match self.line_bytes {
            long if long > limit => Err(Status::BAD_REQUEST),
            _ => Ok(next),
        }
    }
}

fn in_text(byte: u8) -> bool {
    !byte.is_ascii_control() || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body, or the status it is refused with, and what is left over.
    fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), Status> {
        let mut decoder = Decoder::new();
        let (mut body, mut rest, mut ended) = (vec![], vec![], false);
        for piece in pieces {
            let mut input = *piece;
            while !ended {
                match decoder.next(&mut input)? {
                    Piece::Data(data) => body.extend(data),
                    Piece::More => break,
                    Piece::End => ended = true,
                }
            }
            rest.extend(input);
        }
        if ended { Ok((body, rest)) } else { Err(Status::NOT_FOUND) }
    }

    const BODY: &[u8] = b"0005;a=b;c=\"d\"\r\nhello\r\n1 ;x\r\n!\r\nA\r\n\
        0123456789\r\n000\r\nName: value\r\nOther:\r\n\r\nGET";

    #[test]
    fn a_body_is_the_same_wherever_it_is_cut() {
        let whole = (b"hello!0123456789".to_vec(), b"GET".to_vec());
        for first in 0..=BODY.len() {
            for second in first..=BODY.len() {
                let pieces =
                    [&BODY[..first], &BODY[first..second], &BODY[second..]];
                assert_eq!(decode(&pieces).as_ref(), Ok(&whole));
            }
        }
    }

    #[test]
    fn a_body_without_its_end_is_not_ended() {
        for end in 0..BODY.len() - 3 {
            assert_eq!(
                decode(&[&BODY[..end]]),
                Err(Status::NOT_FOUND),
                "{end}"
            );
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for bad in [
            &b"\r\n"[..],
            b"g\r\n",
            b"-1\r\na",
            b"+1\r\na",
            b"0x1\r\na",
            b" 1\r\na",
            b"1\na\n0\n\n",
            b"1 \r\na\r\n0\r\n\r\n",
            b"1;a\nb\r\n",
            b"1\r\nab\r\n0\r\n\r\n",
            b"1\r\na\n0\r\n\r\n",
            b"1\r\na0\r\n\r\n",
            b"0\r\n: x\r\n\r\n",
            b"0\r\n\n",
            b"0\r\na\nb\r\n\r\n",
        ] {
            let got = decode(&[bad]);
            assert_eq!(got, Err(Status::BAD_REQUEST), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn sizes_are_never_cut_to_fit() {
        let zeros = format!("{}1\r\na\r\n0\r\n\r\n", "0".repeat(100));
        assert!(decode(&[zeros.as_bytes()]).is_ok());
        let got = decode(&[b"10000000000000001\r\n"]);
        assert_eq!(got, Err(Status::CONTENT_TOO_LARGE));
    }

    #[test]
    fn endless_lines_are_refused() {
        for start in ["1;", "0\r\na", "0"] {
            let endless = format!("{start}{}", "0".repeat(10_000));
            let got = decode(&[endless.as_bytes()]);
            assert_eq!(got, Err(Status::BAD_REQUEST));
        }
        let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(2_000));
        let got = decode(&[trailers.as_bytes()]);
        assert_eq!(got, Err(Status::BAD_REQUEST));
    }
}
