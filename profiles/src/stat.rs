//! Pure statistics over a handful of rounds.
//!
//! Every function refuses what it cannot answer (no values, a NaN, a value
//! that has no logarithm) with `None` and never panics, because its input may
//! come from a stranger's result file.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A closed range of values.
#[derive(
    Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize,
)]
pub struct Range {
    /// The smaller end.
    pub lo: f64,
    /// The larger end.
    pub hi: f64,
}

/// The outcome of a paired Student t test on the logarithms of two rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedT {
    /// How many pairs went in.
    pub pairs: usize,
    /// Geometric mean of `a / b`.
    pub ratio: f64,
    /// Two-sided probability of a difference this large by chance.
    pub p: f64,
}

/// All values, if there is at least one and each is finite.
fn finite(values: &[f64]) -> Option<&[f64]> {
    let good = !values.is_empty() && values.iter().all(|v| v.is_finite());
    good.then_some(values)
}

/// The natural logarithms, if every value is finite and above zero.
fn logs(values: &[f64]) -> Option<Vec<f64>> {
    finite(values)?.iter().map(|&v| (v > 0.0).then(|| v.ln())).collect()
}

/// The middle value, or the mean of the two middle ones. Order is irrelevant.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = finite(values)?.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        f64::midpoint(sorted[half - 1], sorted[half])
    })
}

/// Smallest and largest value.
pub fn min_max(values: &[f64]) -> Option<Range> {
    let values = finite(values)?;
    let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Range { lo, hi })
}

/// (max − min) as a share of the median. Refuses a median that is not above
/// zero, since a share of it would mean nothing.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let range = min_max(values)?;
    (middle > 0.0).then(|| (range.hi - range.lo) / middle)
}

/// Median absolute deviation from the median, unscaled.
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let away: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    median(&away)
}

/// Arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    let values = finite(values)?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Geometric mean; refuses zero and less, which would drag it to zero or NaN.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs = logs(values)?;
    let range = min_max(values)?;
    // Logarithms and back would lose the last digits of a common value.
    let equal = range.lo == range.hi;
    Some(if equal { range.lo } else { mean(&logs)?.exp() })
}

/// Standard deviation of a sample (n − 1 below the line).
fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Half-width of the Student t interval of the mean of `values`.
fn t_half_width(values: &[f64], confidence: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let n = values.len() as f64;
    let sd = deviation(values)?;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let quantile = t.inverse_cdf(f64::midpoint(1.0, confidence));
    let half = quantile * sd / n.sqrt();
    half.is_finite().then_some(half)
}

/// Student t interval of the arithmetic mean. `None` below two values.
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Range> {
    let half = t_half_width(finite(values)?, confidence)?;
    let centre = mean(values)?;
    Some(Range { lo: centre - half, hi: centre + half })
}

/// Student t interval of the geometric mean: the interval of the mean of the
/// logarithms, taken back. Rates are ratios, so their noise is closer to
/// normal on this scale. `None` below two values.
pub fn t_interval_log(values: &[f64], confidence: f64) -> Option<Range> {
    let range = t_interval(&logs(values)?, confidence)?;
    let back = Range { lo: range.lo.exp(), hi: range.hi.exp() };
    back.hi.is_finite().then_some(back)
}

/// Paired t on the logarithms of `a` and `b`, value by value.
///
/// `None` when the rows differ in length, hold fewer than two pairs or a value
/// without a logarithm. When every pair shows the same ratio there is no
/// noise to divide by: p is 1 for a ratio of exactly one and 0 for any other.
pub fn paired_t_log(a: &[f64], b: &[f64]) -> Option<PairedT> {
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let (log_a, log_b) = (logs(a)?, logs(b)?);
    let differences: Vec<f64> =
        log_a.iter().zip(&log_b).map(|(x, y)| x - y).collect();
    let centre = mean(&differences)?;
    let n = differences.len() as f64;
    let error = deviation(&differences)? / n.sqrt();
    // Below this the "noise" is only the rounding of the logarithms.
    let rounding = 1e-12;
    let p = if error > rounding {
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
        (2.0 * t.sf((centre / error).abs())).clamp(0.0, 1.0)
    } else if centre.abs() <= rounding {
        1.0
    } else {
        0.0
    };
    Some(PairedT { pairs: differences.len(), ratio: centre.exp(), p })
}

/// Benjamini-Hochberg: which of these hypotheses are rejected while the
/// expected share of false rejections stays at most `q`.
///
/// A p that is not a number in 0..=1 is treated as 1: never rejected, yet
/// still counted among the tests that were made.
pub fn benjamini_hochberg(p: &[f64], q: f64) -> Vec<bool> {
    let sane = |v: f64| if (0.0..=1.0).contains(&v) { v } else { 1.0 };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| sane(p[i]).total_cmp(&sane(p[j])));
    let tests = p.len() as f64;
    let passing = (0..order.len())
        .rev()
        .find(|&k| sane(p[order[k]]) <= q * (k + 1) as f64 / tests);
    let mut rejected = vec![false; p.len()];
    if let Some(last) = passing {
        for &i in &order[..=last] {
            rejected[i] = true;
        }
    }
    rejected
}
