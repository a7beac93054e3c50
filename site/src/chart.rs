//! Small charts, drawn as inline SVG.

use std::fmt::Write as _;

use maud::{Markup, html};
use profiles::stat::Range;

/// A scale from zero to a round number that holds every value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The right end.
    pub max: f64,
}

impl Scale {
    /// The smallest of 1, 2, 2.5, 5 × 10ⁿ that is not below any value.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let largest = values.filter(|v| v.is_finite()).fold(1e-3, f64::max);
        let power = 10f64.powf(largest.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
        let fits = |step: &f64| step * power >= largest * (1.0 - 1e-9);
        let max = steps.into_iter().find(fits).unwrap_or(10.0) * power;
        Self { max }
    }

    fn x(self, value: f64) -> f64 {
        (value / self.max * 100.0).clamp(0.0, 100.0)
    }
}

/// A bar to the centre with the interval as a whisker. The same numbers stand
/// as text in the row, so a screen reader skips the picture.
pub fn bar(scale: Scale, centre: f64, interval: Option<Range>) -> Markup {
    let mut whisker = String::new();
    if let Some(range) = interval {
        let (lo, hi) = (scale.x(range.lo), scale.x(range.hi));
        let _ = write!(whisker, "M{lo:.1} 5H{hi:.1}M{lo:.1} 2V8M{hi:.1} 2V8");
    }
    html! {
        // Closed by hand: an open path would swallow the next one.
        svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            path.b d={ "M0 1H" (format!("{:.1}", scale.x(centre))) "V9H0z" } {}
            @if !whisker.is_empty() { path.w d=(whisker) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ends_at(values: &[f64], max: f64) {
        let scale = Scale::of(values.iter().copied());
        assert!((scale.max - max).abs() < 1e-9 * max, "{scale:?}");
    }

    #[test]
    fn a_scale_ends_at_a_round_number() {
        ends_at(&[97.0, 12.0], 100.0);
        ends_at(&[100.0], 100.0);
        ends_at(&[100.4], 200.0);
        ends_at(&[25.9], 50.0);
        ends_at(&[0.3], 0.5);
        ends_at(&[], 1e-3);
        ends_at(&[f64::NAN, f64::INFINITY, 7.0], 10.0);
    }

    #[test]
    fn a_bar_ends_at_its_centre_and_a_whisker_at_its_interval() {
        let scale = Scale { max: 50.0 };
        let range = Some(Range { lo: 20.0, hi: 60.0 });
        let drawn = bar(scale, 25.0, range).into_string();
        assert!(drawn.contains("M0 1H50.0V9H0z"), "{drawn}");
        assert!(drawn.contains("M40.0 5H100.0M40.0 2V8M100.0 2V8"), "{drawn}");
        assert_eq!(drawn.matches("</path>").count(), 2, "{drawn}");
        assert!(!bar(scale, 25.0, None).into_string().contains("class=\"w\""));
    }
}
