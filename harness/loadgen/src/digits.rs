//! Decimal numbers without an allocation: both ends of the hot path write
//! many of them.

/// The text of one `i64`.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    bytes: [u8; 20],
    from: u8,
}

impl Digits {
    /// `value` in decimal.
    #[inline]
    pub fn new(value: i64) -> Digits {
        let mut bytes = [0; 20];
        let mut from = bytes.len();
        let mut left = value.unsigned_abs();
        loop {
            from -= 1;
            bytes[from] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if value < 0 {
            from -= 1;
            bytes[from] = b'-';
        }
        Digits { bytes, from: from as u8 }
    }

    /// The digits, with a sign if it is negative.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.from as usize..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for n in [0, 7, -7, 10, 99, -100, i64::MAX, i64::MIN] {
            assert_eq!(Digits::new(n).bytes(), n.to_string().as_bytes());
        }
    }
}
