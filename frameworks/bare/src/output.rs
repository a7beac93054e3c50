//! What is to be sent on a connection.

use std::io::IoSlice;

/// Bodies of this size and more are not copied.
const LENT_BYTES: usize = 8 * 1024;

/// How much may wait to be sent before a connection's requests have to wait.
pub const LIMIT_BYTES: usize = 256 * 1024;

/// The most parts sent at once.
pub const PARTS: usize = 32;

/// Room that is kept for the next answers.
const KEPT_BYTES: usize = 512 * 1024;

/// Bytes of its own, and bodies lent by the site that stand between them.
#[derive(Debug, Default)]
pub struct Output {
    pub bytes: Vec<u8>,
    /// Where in `bytes` a body is to be put in, and that body.
    lent: Vec<(usize, &'static [u8])>,
    lent_bytes: usize,
    sent_bytes: usize,
}

impl Output {
    /// All that has been put in and not been sent.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.lent_bytes - self.sent_bytes
    }

    pub fn is_full(&self) -> bool {
        self.len() >= LIMIT_BYTES
    }

    pub fn lend(&mut self, body: &'static [u8]) {
        if body.len() < LENT_BYTES {
            self.bytes.extend_from_slice(body);
        } else {
            self.lent.push((self.bytes.len(), body));
            self.lent_bytes += body.len();
        }
    }

    /// Whether all that is to be sent lies in one piece.
    pub fn single(&self) -> Option<&[u8]> {
        self.lent.is_empty().then(|| &self.bytes[self.sent_bytes..])
    }

    /// Fills in the next parts to send and returns how many they are.
    pub fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>; PARTS]) -> usize {
        let mut skip = self.sent_bytes;
        let mut count = 0;
        let mut put = |part: &'a [u8]| {
            let skipped = skip.min(part.len());
            skip -= skipped;
            if skipped < part.len() && count < PARTS {
                parts[count] = IoSlice::new(&part[skipped..]);
                count += 1;
            }
        };
        let mut from = 0;
        for (at, body) in &self.lent {
            put(&self.bytes[from..*at]);
            put(body);
            from = *at;
        }
        put(&self.bytes[from..]);
        count
    }

    /// Notes that so much more is sent; whether that was all.
    pub fn sent(&mut self, bytes: usize) -> bool {
        self.sent_bytes += bytes;
        self.len() == 0
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.lent.clear();
        self.lent_bytes = 0;
        self.sent_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BODY: [u8; LENT_BYTES] = [b'x'; LENT_BYTES];

    #[test]
    fn lent_bodies_stand_where_they_were_put_whatever_was_sent() {
        let mut output = Output::default();
        output.bytes.extend(b"one");
        output.lend(&BODY);
        output.bytes.extend(b"two");
        output.lend(&BODY);
        output.lend(b"three");
        let whole = [b"one", &BODY[..], b"two", &BODY, b"three"].concat();
        assert_eq!(output.len(), whole.len());

        for step in 0..=whole.len() {
            let mut parts = [IoSlice::new(&[]); PARTS];
            let count = output.parts(&mut parts);
            let parts: Vec<u8> =
                parts[..count].iter().flat_map(|part| part.to_vec()).collect();
            assert_eq!(parts, whole[step..]);
            assert_eq!(output.len(), whole.len() - step);
            if step < whole.len() {
                output.sent(1);
            }
        }
        output.clear();
        assert_eq!(output.single(), Some(&b""[..]));
    }

    #[test]
    fn what_was_sent_of_one_piece_is_not_sent_again() {
        let mut output = Output::default();
        output.bytes.extend(b"four");
        assert!(!output.sent(3));
        assert_eq!(output.single(), Some(&b"r"[..]));
        assert!(output.sent(1));
    }
}
