//! Frames from bytes, in whatever pieces they come.
//!
//! Data is handed on as it is read. Any other frame is handed on whole, from
//! where it was read if it came in one piece, else from where its pieces were
//! gathered.

use super::{flag, kind};
use crate::wire::Why;

/// The largest frame either side sends: we announce no other limit, and no
/// peer may have a smaller one.
pub const MAX_FRAME: usize = 16_384;
const HEAD: usize = 9;

/// The first nine bytes of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Head {
    /// The length of what follows.
    pub len: usize,
    /// One of [`kind`], or anything else.
    pub kind: u8,
    /// What it means depends on the kind.
    pub flags: u8,
    /// The stream, 0 for the connection.
    pub stream: u32,
}

impl Head {
    #[inline]
    fn read(bytes: &[u8; HEAD]) -> Head {
        let [a, b, c, kind, flags, s, t, u, v] = *bytes;
        Head {
            len: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes([s & 0x7f, t, u, v]),
        }
    }

    /// Whether it has `flag`.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A piece of a DATA frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Data<'a> {
    /// Its stream.
    pub stream: u32,
    /// The next bytes of the body, perhaps none.
    pub bytes: &'a [u8],
    /// What the whole frame takes from the windows; said once, with its
    /// first piece.
    pub flow: usize,
    /// Whether this is the end of the frame, and the frame the stream's.
    pub end: bool,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    /// A part of a body.
    Data(Data<'a>),
    /// A whole frame of any other kind.
    Frame(Head, &'a [u8]),
}

/// A DATA frame that is being read.
#[derive(Clone, Copy, Debug)]
struct Open {
    stream: u32,
    left: usize,
    padding: usize,
    end: bool,
}

/// Reads the frames of one connection.
#[derive(Debug, Default)]
pub struct Reader {
    open: Option<Open>,
    /// The first bytes of a frame of which more is to come.
    carry: Vec<u8>,
    /// Whether what is in `carry` was handed on.
    handed_on: bool,
    /// Whether the server's first frame came.
    greeted: bool,
}

impl Reader {
    /// Reads on and takes what it read off `input`. `None` when that is
    /// empty.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Piece<'a>>, Why> {
        if self.open.is_some() {
            return Ok(self.data(input, 0));
        }
        if self.handed_on {
            self.carry.clear();
            self.handed_on = false;
        }
        if !self.carry.is_empty() {
            return self.carried(input);
        }
        let Some((head, rest)) = input.split_first_chunk::<HEAD>() else {
            self.carry.extend_from_slice(input);
            *input = &[];
            return Ok(None);
        };
        let head = self.head(head)?;
        if head.kind == kind::DATA
            && (!head.has(flag::PADDED) || !rest.is_empty())
        {
            *input = rest;
            self.begin(head, rest.first().copied())?;
            if head.has(flag::PADDED) {
                *input = &rest[1..];
            }
            return Ok(self.data(input, head.len));
        }
        if head.kind != kind::DATA
            && let Some((payload, rest)) = rest.split_at_checked(head.len)
        {
            *input = rest;
            return Ok(Some(Piece::Frame(head, payload)));
        }
        self.carry.extend_from_slice(input);
        *input = &[];
        Ok(None)
    }

    /// A frame's head, of which something was read before.
    #[cold]
    fn carried<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Piece<'a>>, Why> {
        if !self.take(input, HEAD) {
            return Ok(None);
        }
        let Some(head) = self.carry.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let head = self.head(&head.clone())?;
        if head.kind == kind::DATA {
            if head.has(flag::PADDED) && !self.take(input, HEAD + 1) {
                return Ok(None);
            }
            let padding = self.carry.get(HEAD).copied();
            self.carry.clear();
            self.begin(head, padding)?;
            return Ok(self.data(input, head.len));
        }
        if !self.take(input, HEAD + head.len) {
            return Ok(None);
        }
        self.handed_on = true;
        Ok(Some(Piece::Frame(head, &self.carry[HEAD..])))
    }

    /// Gathers up to `len` bytes; whether they are all there.
    fn take(&mut self, input: &mut &[u8], len: usize) -> bool {
        let missing = len.saturating_sub(self.carry.len());
        let (piece, rest) = input.split_at(missing.min(input.len()));
        self.carry.extend_from_slice(piece);
        *input = rest;
        self.carry.len() >= len
    }

    #[inline]
    fn head(&mut self, bytes: &[u8; HEAD]) -> Result<Head, Why> {
        let head = Head::read(bytes);
        if !self.greeted {
            self.greet(bytes, head)?;
        }
        if head.len > MAX_FRAME {
            return Err(Why::Protocol("a frame is longer than was agreed"));
        }
        if head.len == 0 && head.kind == kind::DATA && head.has(flag::PADDED) {
            return Err(Why::Protocol("a frame is too short for its flags"));
        }
        Ok(head)
    }

    #[cold]
    fn greet(&mut self, bytes: &[u8; HEAD], head: Head) -> Result<(), Why> {
        if bytes.starts_with(b"HTTP/1") {
            return Err(Why::Protocol(
                "the server answered HTTP/1 to an HTTP/2 preface",
            ));
        }
        if head.kind != kind::SETTINGS || head.has(flag::ACK) {
            return Err(Why::Protocol("the first frame is not SETTINGS"));
        }
        self.greeted = true;
        Ok(())
    }

    /// A DATA frame begins. `first` is the first byte of its payload.
    #[inline]
    fn begin(&mut self, head: Head, first: Option<u8>) -> Result<(), Why> {
        if head.stream == 0 {
            return Err(Why::Protocol("DATA on stream 0"));
        }
        let (mut left, mut padding) = (head.len, 0);
        if head.has(flag::PADDED) {
            padding = usize::from(first.unwrap_or(0));
            left = left
                .checked_sub(padding + 1)
                .ok_or(Why::Protocol("a frame is all padding, and more"))?;
        }
        let end = head.has(flag::END_STREAM);
        self.open = Some(Open { stream: head.stream, left, padding, end });
        Ok(())
    }

    /// The next piece of the DATA frame that is open.
    #[inline]
    fn data<'a>(
        &mut self,
        input: &mut &'a [u8],
        flow: usize,
    ) -> Option<Piece<'a>> {
        let open = self.open.as_mut()?;
        if input.is_empty() && flow == 0 && open.left + open.padding > 0 {
            return None;
        }
        let (bytes, rest) = input.split_at(open.left.min(input.len()));
        open.left -= bytes.len();
        let skipped = match open.left {
            0 => open.padding.min(rest.len()),
            _ => 0,
        };
        open.padding -= skipped;
        *input = &rest[skipped..];
        let stream = open.stream;
        let done = open.left + open.padding == 0;
        let end = done && open.end;
        if done {
            self.open = None;
        }
        Some(Piece::Data(Data { stream, bytes, flow, end }))
    }
}

/// The payload of a HEADERS frame without its padding and priority.
#[inline]
pub fn unpadded(head: Head, payload: &[u8]) -> Result<&[u8], Why> {
    let mut rest = payload;
    let mut padding = 0;
    if head.has(flag::PADDED)
        && let Some((first, after)) = rest.split_first()
    {
        (padding, rest) = (usize::from(*first), after);
    } else if head.has(flag::PADDED) {
        return Err(Why::Protocol("a frame is too short for its flags"));
    }
    if head.has(flag::PRIORITY) {
        rest = rest
            .get(5..)
            .ok_or(Why::Protocol("a frame is too short for its flags"))?;
    }
    let len = rest
        .len()
        .checked_sub(padding)
        .ok_or(Why::Protocol("a frame is all padding, and more"))?;
    Ok(&rest[..len])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::http2::put_head;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_head(&mut out, payload.len(), kind, flags, stream);
        out.extend_from_slice(payload);
        out
    }

    fn settings() -> Vec<u8> {
        frame(kind::SETTINGS, 0, 0, &[])
    }

    /// What is read of `bytes` in pieces of `step`: the other frames, and the
    /// body, flow and ends of all data.
    type Seen = (Vec<(u8, Vec<u8>)>, Vec<u8>, usize, Vec<u32>);

    fn read(bytes: &[u8], step: usize) -> Result<Seen, Why> {
        let mut reader = Reader::default();
        let mut seen = Seen::default();
        for mut piece in bytes.chunks(step) {
            while let Some(piece) = reader.next(&mut piece)? {
                match piece {
                    Piece::Frame(head, payload) => {
                        seen.0.push((head.kind, payload.to_vec()));
                    }
                    Piece::Data(data) => {
                        seen.1.extend_from_slice(data.bytes);
                        seen.2 += data.flow;
                        seen.3.extend(data.end.then_some(data.stream));
                    }
                }
            }
        }
        Ok(seen)
    }

    #[test]
    fn frames_are_the_same_in_whatever_pieces_they_come() {
        let bytes = [
            settings(),
            frame(kind::HEADERS, 4, 1, b"block"),
            frame(kind::DATA, 0, 1, b"one"),
            frame(kind::DATA, flag::PADDED, 1, b"\x02two\0\0"),
            frame(99, 0xff, 7, &[9; 300]),
            frame(kind::DATA, 0, 1, b""),
            frame(kind::DATA, 9, 1, b"\x05three\0\0\0\0\0"),
            frame(kind::PING, 0, 0, &[1; 8]),
            frame(kind::DATA, 9, 3, b"\0"),
            frame(kind::DATA, 1, 5, b""),
        ]
        .concat();
        let whole = read(&bytes, bytes.len()).unwrap();
        assert_eq!(whole.1, b"onetwothree");
        assert_eq!(whole.2, 3 + 6 + 11 + 1);
        assert_eq!(whole.3, [1, 3, 5]);
        assert_eq!(whole.0[2], (99, vec![9; 300]));
        for step in 1..bytes.len() {
            assert_eq!(read(&bytes, step), Ok(whole.clone()), "{step}");
        }
    }

    #[test]
    fn a_frame_has_not_ended_before_its_padding() {
        let padded = frame(kind::DATA, 9, 1, b"\x03x\0\0\0");
        let bytes = [settings(), padded].concat();
        let most = read(&bytes[..bytes.len() - 1], 99).unwrap();
        assert_eq!((&most.1[..], most.3.len()), (&b"x"[..], 0));
    }

    #[test]
    fn what_is_no_frame_is_broken_at_once() {
        let long = &mut settings();
        put_head(long, MAX_FRAME + 1, 99, 0, 0);
        let padded = |payload| {
            let data = frame(kind::DATA, flag::PADDED, 1, payload);
            [settings(), data].concat()
        };
        for bad in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"SSH-2.0-OpenSSH",
            &frame(kind::SETTINGS, flag::ACK, 0, &[]),
            &frame(kind::PING, 0, 0, &[0; 8]),
            &long.clone(),
            &padded(b"\x01"),
            &padded(b"\x05abcd"),
            &padded(b""),
            &[settings(), frame(kind::DATA, 0, 0, b"x")].concat(),
        ] {
            for step in [1, 9, 100] {
                assert!(read(bad, step).is_err(), "{bad:?}");
            }
        }
    }

    #[test]
    fn padding_and_priority_are_taken_off_a_header_block() {
        let head =
            |flags| Head { len: 0, kind: kind::HEADERS, flags, stream: 1 };
        let both = flag::PADDED | flag::PRIORITY;
        assert_eq!(unpadded(head(0), b"x"), Ok(&b"x"[..]));
        assert_eq!(unpadded(head(both), b"\x02pppppx\0\0"), Ok(&b"x"[..]));
        assert_eq!(unpadded(head(flag::PADDED), b"\x01\0"), Ok(&b""[..]));
        for (flags, bad) in [
            (flag::PADDED, &b""[..]),
            (flag::PADDED, b"\x02x"),
            (flag::PRIORITY, b"pppp"),
            (both, b"\x01ppppp"),
        ] {
            assert!(unpadded(head(flags), bad).is_err(), "{bad:?}");
        }
    }
}
