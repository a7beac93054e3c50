//! The one source of randomness: seeded, splittable, stable by specification.
//!
//! ChaCha8 is specified byte for byte, so a seed printed today gives the same
//! requests in every later version. The range mapping is our own for the same
//! reason: library distributions may change between releases.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};

/// A seeded stream of numbers.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream `lane` of `seed`. Different lanes never overlap.
    pub fn new(seed: u64, lane: u64) -> Rng {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut inner = ChaCha8Rng::from_seed(key);
        inner.set_stream(lane);
        Rng(inner)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..n`; 0 when `n` is 0. The bias is below `n / 2^64`.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `low..=high`, whichever way round they are given.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let (low, high) = (low.min(high), low.max(high));
        let width = high.wrapping_sub(low) as u64;
        if width == u64::MAX {
            return self.bits() as i64;
        }
        low.wrapping_add(self.below(width + 1) as i64)
    }

    /// One of `items`, each equally likely. `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    /// Puts `items` in a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_stream_and_lanes_differ() {
        let draw = |seed, lane| {
            let mut rng = Rng::new(seed, lane);
            (0..4).map(|_| rng.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert_ne!(draw(7, 0), draw(8, 0));
    }

    #[test]
    fn ranges_hold_their_ends_and_nothing_else() {
        let mut rng = Rng::new(1, 0);
        let seen: std::collections::BTreeSet<i64> =
            (0..200).map(|_| rng.between(-1, 2)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [-1, 0, 1, 2]);
        assert_eq!(rng.between(5, 5), 5);
        rng.between(i64::MIN, i64::MAX);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.pick::<u8>(&[]), None);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Rng::new(3, 0).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
