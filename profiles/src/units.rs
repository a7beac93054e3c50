//! Durations and sizes as people write them: `500ms`, `10s`, `16GiB`.
//!
//! One table each parses and prints, so what is printed can be pasted back.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest first when printing, so `60000ms` prints as `1m`.
const TIMES: [(&str, u64); 5] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
];
const SIZES: [(&str, u64); 4] =
    [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Why a text is not a duration or a size. Says what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{found}` is not a {what}; write a number with a unit, like {like}")]
pub struct UnitError {
    found: String,
    what: &'static str,
    like: &'static str,
}

/// A span of time with its unit in the text: `500ms`, `10s`, `2m`.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Span(pub Duration);

/// A count of bytes with its unit in the text: `500KiB`, `16GiB`, `42B`.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Bytes(pub u64);

impl Span {
    /// The span in nanoseconds.
    pub fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    /// A span of `nanos` nanoseconds.
    pub fn from_nanos(nanos: u64) -> Span {
        Span(Duration::from_nanos(nanos))
    }
}

fn parse(
    text: &str,
    table: &[(&str, u64)],
    what: &'static str,
    like: &'static str,
) -> Result<u64, UnitError> {
    let bad =
        || UnitError { found: text.chars().take(40).collect(), what, like };
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
    let (number, unit) = text.split_at(end);
    let (_, scale) =
        table.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*scale).ok_or_else(bad);
    }
    let value = number.parse::<f64>().map_err(|_| bad())? * *scale as f64;
    if value.fract() != 0.0 || value >= 9e18 {
        return Err(bad());
    }
    Ok(value as u64)
}

fn print(
    value: u64,
    table: &[(&str, u64)],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (unit, scale) in table {
        if value.is_multiple_of(*scale) && value >= *scale {
            return f.pad(&format!("{}{unit}", value / scale));
        }
    }
    let (unit, scale) = table[table.len() - 1];
    f.pad(&format!("{}{unit}", value as f64 / scale as f64))
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Span, UnitError> {
        parse(text, &TIMES, "duration", "`500ms`, `10s` or `2m`")
            .map(Span::from_nanos)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        parse(text, &SIZES, "size", "`512B`, `500KiB` or `16GiB`").map(Bytes)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.as_nanos(), &TIMES, f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, &SIZES, f)
    }
}

macro_rules! text_form {
    ($kind:ty) => {
        impl Serialize for $kind {
            fn serialize<S: Serializer>(
                &self,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(
                from: D,
            ) -> Result<Self, D::Error> {
                String::deserialize(from)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_form;
text_form!(Span);
text_form!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_parses_back() {
        for text in ["500ms", "10s", "2m", "1h", "250us", "1500ms"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string(), text);
        }
        assert_eq!("1.5s".parse::<Span>().unwrap().to_string(), "1500ms");
        for text in ["16GiB", "500KiB", "42B", "1536B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bare_and_absurd_numbers_are_refused() {
        for bad in ["5", "", "s", "-1s", "1e3s", "5 s", "99999999999h", "."] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
        assert_eq!(
            "5".parse::<Span>().unwrap_err().to_string(),
            "`5` is not a duration; write a number with a unit, like \
             `500ms`, `10s` or `2m`"
        );
        assert!("5MB".parse::<Bytes>().is_err());
    }
}
