//! Pairs: two shots next to one another, so that what drifts meets both.

use crate::tool::Outcome;

/// Median and extremes over the pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            (values[half - 1] + values[half]) / 2.0
        };
        Some(Spread { median, min, max })
    }
}

/// loadgen's shot and another's.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub gun: Outcome,
    pub other: Outcome,
}

/// The pairs that counted, and why others did not.
#[derive(Debug, Default)]
pub struct Pairs {
    pub valid: Vec<Pair>,
    pub invalid: Vec<String>,
}

/// Fires one pair to warm up and `pairs` that count. The first shot of each
/// is loadgen's and the other's in turn. An error is of the warm-up: there
/// is nothing to compare then.
pub fn alternate(
    pairs: u32,
    mut gun: impl FnMut() -> anyhow::Result<Outcome>,
    mut other: impl FnMut() -> anyhow::Result<Outcome>,
) -> anyhow::Result<Pairs> {
    gun()?;
    other()?;
    let mut out = Pairs::default();
    for number in 0..pairs {
        let (first, second) = if number % 2 == 0 {
            let first = gun();
            (first, other())
        } else {
            let first = other();
            (gun(), first)
        };
        match (first, second) {
            (Ok(gun), Ok(other)) => out.valid.push(Pair { gun, other }),
            (Err(why), _) | (_, Err(why)) => {
                out.invalid.push(format!("{why:#}"));
            }
        }
    }
    Ok(out)
}
