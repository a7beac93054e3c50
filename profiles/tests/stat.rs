//! Statistics checked against values worked out by hand or in textbooks.

use profiles::stat::{
    benjamini_hochberg, geometric_mean, mad, mean, median, min_max,
    paired_t_log, spread, t_interval, t_interval_log,
};

#[track_caller]
fn near(got: Option<f64>, expected: f64) {
    let got = got.expect("a value");
    let scale = expected.abs().max(1.0);
    assert!((got - expected).abs() < 1e-3 * scale, "{got} is not {expected}");
}

/// Every function that takes one row, with its name for the message.
type OneRow = (&'static str, fn(&[f64]) -> Option<f64>);

const ALL: [OneRow; 7] = [
    ("median", median),
    ("min", |v| min_max(v).map(|r| r.lo)),
    ("spread", spread),
    ("mad", mad),
    ("mean", mean),
    ("geometric_mean", geometric_mean),
    ("t_interval_log", |v| t_interval_log(v, 0.95).map(|r| r.lo)),
];

#[test]
fn nothing_and_not_a_number_are_refused_by_all() {
    let bad: [&[f64]; 4] =
        [&[], &[f64::NAN], &[1.0, f64::NAN, 3.0], &[1.0, f64::INFINITY]];
    for (name, function) in ALL {
        for row in bad {
            assert_eq!(function(row), None, "{name} of {row:?}");
        }
    }
}

#[test]
fn zero_and_negative_values_have_no_geometric_mean() {
    for row in [[0.0, 4.0], [-1.0, 4.0]] {
        assert_eq!(geometric_mean(&row), None);
        assert_eq!(t_interval_log(&row, 0.95), None);
        assert_eq!(paired_t_log(&row, &[1.0, 2.0]), None);
    }
    assert_eq!(spread(&[-1.0, 0.0, 1.0]), None, "a share of zero");
}

#[test]
fn the_median_does_not_need_sorted_values() {
    near(median(&[9.0, 1.0, 5.0]), 5.0);
    near(median(&[9.0, 1.0, 5.0, 3.0]), 4.0);
    near(median(&[7.0]), 7.0);
}

#[test]
fn the_spread_is_a_share_of_the_median() {
    near(spread(&[110.0, 90.0, 100.0]), 0.2);
    near(spread(&[4.0, 4.0, 4.0]), 0.0);
    near(spread(&[4.0]), 0.0);
}

#[test]
fn the_mad_of_unsorted_values_is_not_zero() {
    // Median 3, distances 2 4 0 1 97, sorted 0 1 2 4 97.
    near(mad(&[5.0, 7.0, 3.0, 2.0, -94.0]), 2.0);
    near(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
    near(mad(&[8.0]), 0.0);
}

#[test]
fn the_means_agree_with_hand_work() {
    near(mean(&[1.0, 2.0, 6.0]), 3.0);
    near(geometric_mean(&[8.0, 2.0]), 4.0);
    near(geometric_mean(&[4.0, 1.0, 2.0]), 2.0);
    near(geometric_mean(&[1e308, 1e300]), 1e304);
    assert_eq!(geometric_mean(&[80.1; 27]), Some(80.1), "to the last digit");
}

#[test]
fn the_t_interval_matches_a_table() {
    // Mean 10, deviation 2, n 5, t(0.975; 4) = 2.776: 10 ± 2.483.
    let values = [8.0, 12.0, 10.0, 8.0, 12.0];
    let range = t_interval(&values, 0.95).unwrap();
    near(Some(range.lo), 10.0 - 2.776 * 2.0 / 5f64.sqrt());
    near(Some(range.hi), 10.0 + 2.776 * 2.0 / 5f64.sqrt());
    // t(0.975; 2) = 4.303; deviation of 1 2 3 is 1.
    let range = t_interval(&[3.0, 1.0, 2.0], 0.95).unwrap();
    near(Some(range.hi), 2.0 + 4.303 / 3f64.sqrt());
}

#[test]
fn the_log_interval_is_the_interval_of_the_logs_taken_back() {
    let e = std::f64::consts::E;
    let range = t_interval_log(&[e.powi(3), e, e * e], 0.95).unwrap();
    near(Some(range.lo.ln()), 2.0 - 4.303 / 3f64.sqrt());
    near(Some(range.hi.ln()), 2.0 + 4.303 / 3f64.sqrt());
}

#[test]
fn one_value_has_no_interval_and_equal_values_a_point() {
    assert_eq!(t_interval_log(&[5.0], 0.95), None);
    let range = t_interval_log(&[5.0, 5.0, 5.0], 0.95).unwrap();
    near(Some(range.lo), 5.0);
    near(Some(range.hi), 5.0);
}

#[test]
fn a_confidence_outside_zero_to_one_is_refused() {
    for confidence in [0.0, 1.0, -1.0, 95.0, f64::NAN] {
        assert_eq!(t_interval(&[1.0, 2.0], confidence), None);
    }
}

#[test]
fn the_paired_t_matches_hand_work() {
    // Log differences 1 2 3: mean 2, error 1/√3, t = 3.464 with 2 degrees of
    // freedom. F(t) for 2 degrees is closed: p = 1 − t/√(t² + 2) = 0.0742.
    let e = std::f64::consts::E;
    let a = [e, e * e, e.powi(3)];
    let test = paired_t_log(&a, &[1.0, 1.0, 1.0]).unwrap();
    assert_eq!(test.pairs, 3);
    near(Some(test.ratio), e * e);
    near(Some(test.p), 1.0 - 12f64.sqrt() / 14f64.sqrt());
    let back = paired_t_log(&[1.0, 1.0, 1.0], &a).unwrap();
    near(Some(back.p), test.p);
    near(Some(back.ratio), 1.0 / (e * e));
}

#[test]
fn a_difference_without_noise_is_certain_and_no_difference_is_not() {
    let same = paired_t_log(&[3.0, 5.0], &[3.0, 5.0]).unwrap();
    near(Some(same.p), 1.0);
    let double = paired_t_log(&[6.0, 10.0, 2.0], &[3.0, 5.0, 1.0]).unwrap();
    near(Some(double.p), 0.0);
    near(Some(double.ratio), 2.0);
}

#[test]
fn one_pair_or_rows_of_unequal_length_are_no_test() {
    assert_eq!(paired_t_log(&[2.0], &[1.0]), None);
    assert_eq!(paired_t_log(&[2.0, 3.0], &[1.0, 2.0, 3.0]), None);
}

#[test]
fn benjamini_hochberg_matches_hand_work() {
    // Five tests at 5 %: limits 0.01 0.02 0.03 0.04 0.05. The third fails its
    // own limit, yet the fourth holds, so the first four are rejected.
    let p = [0.040, 0.005, 0.9, 0.019, 0.032];
    let rejected = benjamini_hochberg(&p, 0.05);
    assert_eq!(rejected, [true, true, false, true, true]);
}

#[test]
fn benjamini_hochberg_rejects_nothing_without_cause() {
    assert_eq!(benjamini_hochberg(&[], 0.05), Vec::<bool>::new());
    assert_eq!(benjamini_hochberg(&[0.04, 0.2], 0.05), [false, false]);
    assert_eq!(benjamini_hochberg(&[0.04], 0.05), [true]);
    // A broken p is never significant but still counts as a test.
    assert_eq!(benjamini_hochberg(&[0.04, f64::NAN], 0.05), [false, false]);
}
