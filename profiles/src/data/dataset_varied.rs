//! A dataset for one validation: as large as the reference one, with values
//! that were never published.

use super::dataset::{Dataset, Item, TAGS};
use crate::rng::Rng;

/// The stream of chance; no probe has this number.
const LANE: u64 = 0x6461_7461_7365_7400;

pub(crate) fn varied(seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, LANE);
    let Dataset(mut items) = Dataset::generate();
    // Tags keep their number, so that the file keeps its length within a few
    // bytes; who has how many is drawn.
    let mut counts: Vec<usize> = items.iter().map(|i| i.tags.len()).collect();
    rng.shuffle(&mut counts);
    let mut active: Vec<bool> = items.iter().map(|i| i.active).collect();
    rng.shuffle(&mut active);
    for ((item, count), active) in items.iter_mut().zip(counts).zip(active) {
        vary(item, count, active, &mut rng);
    }
    Dataset(items)
}

fn vary(item: &mut Item, tags: usize, active: bool, rng: &mut Rng) {
    item.price = alike(item.price, 2, 496, rng);
    item.quantity = alike(item.quantity, 4, 97, rng);
    item.rating.score = alike(item.rating.score, 1, 50, rng);
    item.rating.count = alike(item.rating.count, 5, 489, rng);
    item.active = active;
    let mut all = TAGS;
    rng.shuffle(&mut all);
    item.tags = all[..tags].iter().map(|&tag| tag.to_owned()).collect();
}

/// Another number from `low..=high` with as many digits.
fn alike(value: u32, low: u32, high: u32, rng: &mut Rng) -> u32 {
    let power = 10u32.pow(value.checked_ilog10().unwrap_or(0));
    let (from, to) = (power.max(low), (power * 10 - 1).min(high));
    let others = to.saturating_sub(from);
    if others == 0 {
        return value;
    }
    let drawn = from + rng.below(u64::from(others)) as u32;
    // Never the one that is known.
    if drawn >= value { drawn + 1 } else { drawn }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Bytes of the file and of the whole document for a multiplier.
    fn sizes(data: &Dataset) -> [usize; 3] {
        let document = |m: u32| -> usize {
            let item = |i: &Item| {
                let plain = serde_json::to_string(i).unwrap().len();
                plain + (i.price * i.quantity * m).to_string().len()
            };
            data.0.iter().map(item).sum()
        };
        [serde_json::to_vec(data).unwrap().len(), document(1), document(8)]
    }

    #[test]
    fn one_seed_gives_one_dataset_and_others_differ() {
        assert_eq!(Dataset::varied(7), Dataset::varied(7));
        let texts: BTreeSet<String> = (0..20)
            .map(|seed| serde_json::to_string(&Dataset::varied(seed)).unwrap())
            .collect();
        assert_eq!(texts.len(), 20);
    }

    #[test]
    fn nothing_of_an_item_is_as_published_but_what_names_it() {
        let known = Dataset::generate();
        for seed in 0..20 {
            for (new, old) in Dataset::varied(seed).0.iter().zip(&known.0) {
                assert_eq!((new.id, &new.name), (old.id, &old.name));
                assert_eq!(new.category, old.category);
                assert_ne!(new.price, old.price);
                assert_ne!(new.quantity, old.quantity);
                assert_ne!(new.rating.score, old.rating.score);
                assert_ne!(new.rating.count, old.rating.count);
                assert!((2..=496).contains(&new.price));
                assert!((4..=97).contains(&new.quantity));
                assert!((1..=50).contains(&new.rating.score));
                assert!((5..=489).contains(&new.rating.count));
                let tags: BTreeSet<&String> = new.tags.iter().collect();
                assert_eq!(tags.len(), new.tags.len());
                assert!((1..=4).contains(&tags.len()));
                assert!(tags.iter().all(|t| TAGS.contains(&t.as_str())));
            }
        }
    }

    #[test]
    fn sizes_stay_within_three_per_cent_of_the_reference() {
        let right = sizes(&Dataset::generate());
        for seed in 0..500 {
            for (new, old) in sizes(&Dataset::varied(seed)).iter().zip(right) {
                let off = new.abs_diff(old) * 100;
                assert!(off <= 3 * old, "seed {seed}: {new} beside {old}");
            }
        }
    }

    #[test]
    fn it_is_read_back_from_a_file() {
        let data = Dataset::varied(3);
        let bytes = data.to_bytes();
        assert_eq!(Dataset::parse(&bytes).unwrap(), data);
    }
}
