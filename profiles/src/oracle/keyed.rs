//! Written values that prove themselves.

/// The quantity to write beside `price` into row `id`: 1 to 1000, and a
/// function of the seed of the shot.
///
/// Reads run beside writes, so nobody can say which price a row has now. But
/// whoever reads a row can tell a pair that was written in this shot from any
/// other: of a thousand quantities only one fits its id and price. A row that
/// mixes two writes, belongs to another id or was made up does not.
#[inline]
pub fn keyed_quantity(seed: u64, id: i64, price: i64) -> i64 {
    let mixed = mix(mix(mix(seed) ^ id as u64) ^ price as u64);
    1 + ((u128::from(mixed) * 1000) >> 64) as i64
}

/// The finalizer of SplitMix64 over the next step of its counter: every bit
/// of `z` moves every bit of the result.
#[inline]
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_pinned_and_every_part_of_its_key_counts() {
        assert_eq!(keyed_quantity(7, 42, 250), 617);
        assert_eq!(keyed_quantity(0, 1, 1), 275);
        assert_eq!(keyed_quantity(u64::MAX, 100_001, 500), 321);
        // Of 1000 neighbours about one agrees by chance.
        let same = |f: fn(i64) -> i64| {
            (1..=1000).filter(|n| f(*n) == keyed_quantity(7, 42, 250)).count()
        };
        assert!(same(|n| keyed_quantity(7 + n as u64, 42, 250)) < 8);
        assert!(same(|n| keyed_quantity(7, 42 + n, 250)) < 8);
        assert!(same(|n| keyed_quantity(7, 42, 250 + n)) < 8);
    }

    #[test]
    fn quantities_fill_their_range_evenly() {
        let mut seen = [0u32; 1001];
        for id in 0..1000 {
            for price in 1..=100 {
                seen[keyed_quantity(1, id, price) as usize] += 1;
            }
        }
        assert_eq!(seen[0], 0);
        // 100 each; six standard deviations are 60.
        assert!(seen[1..].iter().all(|n| n.abs_diff(100) < 60));
    }
}
