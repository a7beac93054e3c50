//! Properties of the statistics, each over random rows.

use profiles::hist::{Hist, samples_needed};
use profiles::stat::{
    benjamini_hochberg, geometric_mean, mad, mean, median, min_max,
    paired_t_log, spread, t_interval_log,
};
use proptest::prelude::*;

fn row(least: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1e-3f64..1e9, least..12)
}

/// Two rows of one length, with the rate of each round.
fn rows() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((1e-3f64..1e9, 1e-3f64..1e9), 2..12)
        .prop_map(|pairs| pairs.into_iter().unzip())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-12)
}

proptest! {
    #[test]
    fn every_centre_lies_within_the_row(values in row(1)) {
        let range = min_max(&values).unwrap();
        let slack = 1e-12 * range.hi;
        for centre in [median, mean, geometric_mean] {
            let centre = centre(&values).unwrap();
            prop_assert!(range.lo - slack <= centre);
            prop_assert!(centre <= range.hi + slack);
        }
        prop_assert!(mad(&values).unwrap() <= range.hi - range.lo);
        prop_assert!(spread(&values).unwrap() >= 0.0);
    }

    #[test]
    fn half_of_the_row_is_on_either_side_of_the_median(values in row(1)) {
        let middle = median(&values).unwrap();
        let half = values.len().div_ceil(2);
        prop_assert!(values.iter().filter(|v| **v <= middle).count() >= half);
        prop_assert!(values.iter().filter(|v| **v >= middle).count() >= half);
    }

    #[test]
    fn one_wild_value_moves_median_and_mad_no_further_than_a_neighbour(
        values in prop::collection::vec(90.0f64..110.0, 3..12),
        wild in 1e6f64..1e12,
    ) {
        let mut with = values.clone();
        with.push(wild);
        let range = min_max(&values).unwrap();
        prop_assert!(median(&with).unwrap() <= range.hi);
        prop_assert!(mad(&with).unwrap() <= range.hi - range.lo);
    }

    #[test]
    fn order_changes_nothing(values in row(2), by in any::<prop::sample::Index>()) {
        let mut turned = values.clone();
        turned.rotate_left(by.index(values.len()));
        prop_assert_eq!(median(&values), median(&turned));
        prop_assert_eq!(mad(&values), mad(&turned));
        let (a, b) = (geometric_mean(&values), geometric_mean(&turned));
        prop_assert!(close(a.unwrap(), b.unwrap()));
    }

    #[test]
    fn the_unit_of_a_rate_scales_centres_and_ends_and_leaves_shares(
        values in row(2),
        unit in 1e-3f64..1e3,
    ) {
        let scaled: Vec<f64> = values.iter().map(|v| v * unit).collect();
        for centre in [median, mad, geometric_mean] {
            let (a, b) = (centre(&values).unwrap(), centre(&scaled).unwrap());
            prop_assert!((a * unit - b).abs() <= 1e-9 * b.max(unit));
        }
        prop_assert!(close(spread(&values).unwrap(), spread(&scaled).unwrap()));
        let ends = (t_interval_log(&values, 0.95), t_interval_log(&scaled, 0.95));
        if let (Some(a), Some(b)) = ends {
            prop_assert!(close((a.lo * unit).ln(), b.lo.ln()));
            prop_assert!(close((a.hi * unit).ln(), b.hi.ln()));
        }
    }

    #[test]
    fn more_confidence_is_a_wider_interval_around_the_same_centre(
        values in prop::collection::vec(90.0f64..110.0, 3..12),
    ) {
        let centre = geometric_mean(&values).unwrap();
        let wide = t_interval_log(&values, 0.99).unwrap();
        let narrow = t_interval_log(&values, 0.90).unwrap();
        prop_assert!(wide.lo <= narrow.lo && narrow.hi <= wide.hi);
        prop_assert!(close(centre, (narrow.lo * narrow.hi).sqrt()));
    }

    #[test]
    fn a_comparison_turned_round_is_the_same_with_the_ratio_inverted(
        (a, b) in rows(),
    ) {
        let (there, back) =
            (paired_t_log(&a, &b).unwrap(), paired_t_log(&b, &a).unwrap());
        prop_assert!((0.0..=1.0).contains(&there.p));
        prop_assert!(close(there.p, back.p));
        prop_assert!(close(there.ratio, 1.0 / back.ratio));
        prop_assert_eq!(paired_t_log(&a, &a).unwrap().p, 1.0);
    }

    #[test]
    fn what_falls_on_both_of_a_round_drops_out(
        rounds in prop::collection::vec((90.0f64..110.0, 90.0f64..110.0, 0.1f64..10.0), 3..8),
    ) {
        let a: Vec<f64> = rounds.iter().map(|r| r.0).collect();
        let b: Vec<f64> = rounds.iter().map(|r| r.1).collect();
        let drifted = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&rounds).map(|(v, r)| v * r.2).collect()
        };
        let plain = paired_t_log(&a, &b).unwrap();
        let drift = paired_t_log(&drifted(&a), &drifted(&b)).unwrap();
        prop_assert!(close(plain.ratio, drift.ratio));
        prop_assert!((plain.p - drift.p).abs() < 1e-6);
    }

    #[test]
    fn the_rejected_are_the_smallest_and_one_more_null_rejects_none_more(
        p in prop::collection::vec(0.0f64..=1.0, 0..30),
        q in 0.01f64..0.2,
    ) {
        let rejected = benjamini_hochberg(&p, q);
        let of = |yes: bool| -> Vec<f64> {
            p.iter().zip(&rejected).filter(|(_, r)| **r == yes).map(|(p, _)| *p).collect()
        };
        let (most, least) = (
            of(true).into_iter().fold(0.0, f64::max),
            of(false).into_iter().fold(1.0, f64::min),
        );
        prop_assert!(most <= least);
        prop_assert!(most <= q);
        // What Bonferroni rejects, this rejects.
        prop_assert!(p.is_empty() || least > q / p.len() as f64 || least == 1.0);
        let more = benjamini_hochberg(&[p.clone(), vec![1.0]].concat(), q);
        for (before, after) in rejected.iter().zip(&more) {
            prop_assert!(*before || !after);
        }
    }

    #[test]
    fn a_quantile_is_told_from_as_many_samples_as_it_needs(
        q in 0.5f64..0.9995,
        extra in 0u64..3,
    ) {
        let needed = samples_needed(q);
        let mut hist = Hist::new();
        hist.record_n(1_000, needed - 1);
        prop_assert_eq!(hist.quantile_ns(q), None);
        hist.record_n(1_000, 1 + extra);
        prop_assert_eq!(hist.quantile_ns(q), Some(1_000));
        // At least ten samples lie beyond it, and never fewer for a higher one.
        prop_assert!(needed as f64 * (1.0 - q) >= 10.0 - 1e-6);
        prop_assert!(samples_needed(q + 0.0004) >= needed);
    }
}
