//! Plain text for terminals. A stranger's text never reaches one raw.

use std::time::Duration;

use profiles::oracle::is_hidden;
use profiles::record::{Outcome, Record};

/// A span for people: `0.8 s`, `48 s`, `6 min 20 s`.
pub fn time(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", span.as_secs_f64()),
        10..120 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// A rate with thousands set apart: `148,906`.
pub fn rate(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        let left = digits.len() - i;
        if i > 0 && left % 3 == 0 && out != "-" {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A stranger's text on one line, safe to print.
pub fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !is_hidden(*c)).take(300).collect()
}

/// One finished shot in one line.
pub fn shot(record: &Record) -> String {
    let case = &record.case;
    let name = format!("{}/{}/{}", case.entry, case.profile, case.level);
    let how = match &record.outcome {
        Outcome::Measured { sample, void, .. } if void.is_empty() => {
            let p99 = sample.latency.quantile_ns(0.99).map_or_else(
                || "p99 -".into(),
                |ns| format!("p99 {:.2} ms", ns as f64 / 1e6),
            );
            format!("{:>12}/s  {p99}", rate(sample.rate()))
        }
        Outcome::Measured { void, .. } => {
            format!("void: {}", line(&void.join("; ")))
        }
        Outcome::Failed { stage, why, .. } => {
            format!("failed ({stage}): {}", line(why))
        }
    };
    let words: Vec<&str> =
        record.warnings.iter().map(|w| w.word.as_str()).collect();
    let warned = match words.is_empty() {
        true => String::new(),
        false => format!("  [{}]", words.join(", ")),
    };
    format!("{name:<36} {how}{warned}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(time(Duration::from_millis(820)), "0.8 s");
        assert_eq!(time(Duration::from_secs(48)), "48 s");
        assert_eq!(time(Duration::from_secs(380)), "6 min 20 s");
        let rates = [
            (0.4, "0"),
            (999.0, "999"),
            (148906.2, "148,906"),
            (1e9, "1,000,000,000"),
        ];
        for (value, text) in rates {
            assert_eq!(rate(value), text);
        }
    }

    #[test]
    fn a_strangers_text_stays_on_its_line() {
        assert_eq!(line("a\nb\x1b[2J\tc"), "a b[2J c");
    }
}
