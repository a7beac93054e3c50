//! The text of a WebSocket message: made from its salt, and compared with
//! what came back, eight letters at a time.

use super::Ask;

const ONES: u64 = 0x0101_0101_0101_0101;

/// A WebSocket message from some place on: lower case letters and the digits
/// 2 to 7, which need no escape anywhere. Long ones repeat after 64 letters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo {
    /// Five bits a letter, the next one lowest.
    bits: u64,
    left: u32,
}

impl Echo {
    /// Letters that are made at a time.
    pub const WORD: usize = 8;

    /// The message of `ask`; an empty one if it is no message.
    #[inline]
    pub fn of(ask: &Ask) -> Echo {
        match *ask {
            Ask::WsEcho { salt, len } => Echo { bits: salt, left: len },
            _ => Echo::default(),
        }
    }

    /// How many letters there still are.
    #[inline]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The next eight letters, the first one lowest; they go on beyond the
    /// end of the message.
    #[inline]
    pub fn word(&self) -> u64 {
        // Forty bits are spread out, five to a byte.
        let x = self.bits;
        let x = x & 0xf_ffff | (x & 0xff_fff0_0000) << 12;
        let x = x & 0x3ff_0000_03ff | (x & 0xf_fc00_000f_fc00) << 6;
        let x = x & 0x1f_001f_001f_001f | (x & 0x3e0_03e0_03e0_03e0) << 3;
        // 26 and more are digits: 2 is 73 below where the letters would go on.
        let digits = (x + (128 - 26) * ONES) >> 7 & ONES;
        x + u64::from(b'a') * ONES - digits * 73
    }

    /// Passes over `n` letters.
    #[inline]
    pub fn advance(&mut self, n: u32) {
        self.bits = self.bits.rotate_right(n % 64 * 5 % 64);
        self.left = self.left.saturating_sub(n);
    }

    /// Whether the message goes on with `bytes`; if so, passes over them.
    #[inline]
    pub fn goes_on_with(&mut self, bytes: &[u8]) -> bool {
        let mut rest = *self;
        if bytes.len() > rest.left as usize {
            return false;
        }
        for piece in bytes.chunks(Echo::WORD) {
            let differ = rest.word() ^ loaded(piece);
            if differ << (8 * (Echo::WORD - piece.len())) != 0 {
                return false;
            }
            rest.advance(piece.len() as u32);
        }
        *self = rest;
        true
    }

    /// Appends what is left.
    pub fn write(mut self, out: &mut Vec<u8>) {
        out.reserve(self.left as usize);
        while self.left > 0 {
            let n = (self.left as usize).min(Echo::WORD);
            out.extend_from_slice(&self.word().to_le_bytes()[..n]);
            self.advance(n as u32);
        }
    }
}

/// At most eight bytes, the first one lowest.
#[inline]
fn loaded(bytes: &[u8]) -> u64 {
    if let Ok(eight) = bytes.try_into() {
        return u64::from_le_bytes(eight);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two halves overlap in bytes that are the same.
        (Some(first), Some(last)) => {
            let shift = 8 * (bytes.len() - 4);
            let last = u64::from(u32::from_le_bytes(*last));
            u64::from(u32::from_le_bytes(*first)) | last << shift
        }
        _ => bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

    fn echo(salt: u64, len: u32) -> Echo {
        Echo::of(&Ask::WsEcho { salt, len })
    }

    /// The same text, letter by letter.
    fn spelled(salt: u64, len: u32) -> Vec<u8> {
        let letter = |i: u32| {
            let bits = salt.rotate_right(i % 64 * 5 % 64);
            LETTERS[(bits & 31) as usize]
        };
        (0..len).map(letter).collect()
    }

    #[test]
    fn every_letter_is_its_five_bits() {
        let mut salt = 0x0123_4567_89ab_cdef_u64;
        for len in (0..70).chain([200, 1000]) {
            let mut out = Vec::new();
            echo(salt, len).write(&mut out);
            assert_eq!(out, spelled(salt, len), "{salt:x}");
            salt = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt >> 7;
        }
    }

    #[test]
    fn a_message_is_known_in_pieces_and_every_change_is_seen() {
        let text = spelled(77, 100);
        for size in 1..40 {
            let mut echo = echo(77, 100);
            assert!(text.chunks(size).all(|piece| echo.goes_on_with(piece)));
            assert_eq!(echo.left(), 0);
            assert!(echo.goes_on_with(&[]) && !echo.goes_on_with(b"a"));
        }
        for at in 0..text.len() {
            let mut other = text.clone();
            other[at] ^= 1;
            let mut echo = echo(77, 100);
            assert!(!echo.goes_on_with(&other));
            assert_eq!(echo.left(), 100);
        }
    }
}
