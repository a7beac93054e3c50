//! Variable-length integers and the heads of frames.

/// Frame types this client knows.
pub(super) mod kind {
    pub(crate) const DATA: u64 = 0x0;
    pub(crate) const HEADERS: u64 = 0x1;
    pub(crate) const CANCEL_PUSH: u64 = 0x3;
    pub(crate) const SETTINGS: u64 = 0x4;
    pub(crate) const PUSH_PROMISE: u64 = 0x5;
    pub(crate) const GOAWAY: u64 = 0x7;
    pub(crate) const MAX_PUSH_ID: u64 = 0xd;

    /// Types of HTTP/2 that have no meaning here and must not be sent.
    pub(crate) fn is_forbidden(kind: u64) -> bool {
        matches!(kind, 0x2 | 0x6 | 0x8 | 0x9)
    }
}

/// The integer that begins `bytes` and its length; `None` when it is cut.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let len = 1usize << (first >> 6);
    let mut value = u64::from(first & 0x3f);
    for byte in bytes.get(1..len)? {
        value = value << 8 | u64::from(*byte);
    }
    Some((value, len))
}

/// Appends `value` in the fewest bytes.
pub(super) fn put_varint(value: u64, out: &mut Vec<u8>) {
    let (len, mark) = match value {
        0..=0x3f => (1, 0x00),
        0x40..=0x3fff => (2, 0x40),
        0x4000..=0x3fff_ffff => (4, 0x80),
        _ => (8, 0xc0),
    };
    let start = out.len();
    out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
    out[start] |= mark;
}

/// An integer that may come in pieces.
#[derive(Debug, Default)]
pub(super) struct Varint {
    bytes: [u8; 8],
    len: u8,
}

impl Varint {
    /// Takes it from the front of `input`, once it is whole.
    #[inline]
    pub(super) fn take(&mut self, input: &mut &[u8]) -> Option<u64> {
        if self.len == 0
            && let Some((value, len)) = varint(input)
        {
            *input = &input[len..];
            return Some(value);
        }
        self.gather(input)
    }

    #[cold]
    fn gather(&mut self, input: &mut &[u8]) -> Option<u64> {
        while let Some((byte, rest)) = input.split_first() {
            self.bytes[usize::from(self.len)] = *byte;
            self.len += 1;
            *input = rest;
            let whole = varint(&self.bytes[..self.len.into()]);
            if let Some((value, _)) = whole {
                self.len = 0;
                return Some(value);
            }
        }
        None
    }

    /// Whether a part of one has come.
    pub(super) fn is_torn(&self) -> bool {
        self.len > 0
    }
}

/// A frame's type and length, which may come in pieces.
#[derive(Debug, Default)]
pub(super) struct FrameHead {
    kind: Option<u64>,
    varint: Varint,
}

impl FrameHead {
    /// Takes both from the front of `input`, once they are whole.
    #[inline]
    pub(super) fn take(&mut self, input: &mut &[u8]) -> Option<(u64, u64)> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => *self.kind.insert(self.varint.take(input)?),
        };
        let len = self.varint.take(input)?;
        self.kind = None;
        Some((kind, len))
    }

    /// Whether a part of one has come.
    pub(super) fn is_torn(&self) -> bool {
        self.kind.is_some() || self.varint.is_torn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_standard() {
        // RFC 9000 appendix A.1.
        for (bytes, value) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(varint(bytes), Some((value, bytes.len())));
            let mut out = Vec::new();
            put_varint(value, &mut out);
            assert_eq!(out, bytes);
            for cut in 0..bytes.len() {
                assert_eq!(varint(&bytes[..cut]), None);
            }
        }
        // A longer form than needed is legal.
        assert_eq!(varint(&[0x40, 0x25]), Some((37, 2)));
    }

    #[test]
    fn a_frame_head_may_come_byte_by_byte() {
        let mut head = FrameHead::default();
        for byte in [0x40, 0x01, 0x7b] {
            assert_eq!(head.take(&mut &[byte][..]), None);
            assert!(head.is_torn());
        }
        let mut input = &[0xbd, 7][..];
        assert_eq!(head.take(&mut input), Some((1, 15_293)));
        assert_eq!((input, head.is_torn()), (&[7][..], false));
    }
}
