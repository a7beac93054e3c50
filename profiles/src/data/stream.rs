//! The one source of chance in the data.
//!
//! Only the cipher's raw words are used, mapped to ranges here: the
//! distributions of `rand` may change between versions, the ChaCha20 stream
//! may not. So the digests survive an upgrade of either crate.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};

/// A named stream of choices. Every file has its own, so that a change to one
/// file never moves the bytes of another.
pub(crate) struct Stream(ChaCha20Rng);

impl Stream {
    /// The stream called `label`. The same label gives the same choices.
    pub(crate) fn named(label: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"arena data 1: ");
        hash.update(label.as_bytes());
        Self(ChaCha20Rng::from_seed(hash.finalize().into()))
    }

    /// A number in `0..bound`; 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        // Multiply and shift: the bias is below bound / 2^64.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u32
    }

    /// A number in `low..=high`.
    pub(crate) fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True `permille` times in a thousand.
    pub(crate) fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < permille
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u32) as usize]
    }

    /// Puts `items` into a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// `len` random bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// The cipher itself, for the one consumer that wants it: RSA.
    pub(crate) fn cipher(&mut self) -> &mut ChaCha20Rng {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_label_gives_the_same_choices() {
        let draw = |label| {
            let mut stream = Stream::named(label);
            (0..8).map(|_| stream.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw("x"), draw("x"));
        assert_ne!(draw("x"), draw("y"));
    }

    #[test]
    fn a_range_reaches_both_of_its_ends_and_nothing_else() {
        let mut stream = Stream::named("ends");
        let drawn: std::collections::BTreeSet<u32> =
            (0..200).map(|_| stream.range(3, 6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    }
}
