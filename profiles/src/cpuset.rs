//! Sets of logical CPUs in the kernel's text form, `0-3,8`.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Above the largest machine in sight; past it a number is a slip.
const MAX_CPU: u16 = 4095;

/// A set of logical CPU numbers, never empty.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CpuSet(BTreeSet<u16>);

/// Why a text is not a [`CpuSet`]; each says what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CpuSetError {
    /// No CPU at all.
    #[error("cpu set is empty; name at least one cpu, such as `0-3`")]
    Empty,
    /// Not a number, or one no machine has.
    #[error("`{0}` is not a cpu number from 0 to {MAX_CPU}")]
    NotACpu(String),
    /// A range whose end is before its start.
    #[error("`{0}-{1}` runs backwards; did you mean `{1}-{0}`?")]
    Backwards(u16, u16),
    /// One CPU named twice, which is always a slip.
    #[error("cpu {0} is named twice; name each cpu once")]
    Twice(u16),
}

impl CpuSet {
    /// The set of `cpus`, or `None` when there are none.
    pub fn new(cpus: impl IntoIterator<Item = u16>) -> Option<CpuSet> {
        let cpus: BTreeSet<u16> = cpus.into_iter().collect();
        (!cpus.is_empty()).then_some(CpuSet(cpus))
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().copied()
    }

    /// How many CPUs the set holds; at least 1.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u16) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPUs that are in both sets. Two pools must share none.
    pub fn overlap(&self, other: &CpuSet) -> Vec<u16> {
        self.0.intersection(&other.0).copied().collect()
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<CpuSet, CpuSetError> {
        let mut cpus = BTreeSet::new();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (cpu(first)?, cpu(last)?);
            if first > last {
                return Err(CpuSetError::Backwards(first, last));
            }
            for cpu in first..=last {
                if !cpus.insert(cpu) {
                    return Err(CpuSetError::Twice(cpu));
                }
            }
        }
        if cpus.is_empty() { Err(CpuSetError::Empty) } else { Ok(CpuSet(cpus)) }
    }
}

fn cpu(text: &str) -> Result<u16, CpuSetError> {
    match text.trim().parse() {
        Ok(n) if n <= MAX_CPU => Ok(n),
        _ => Err(CpuSetError::NotACpu(text.chars().take(20).collect())),
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<(u16, u16)> = Vec::new();
        for cpu in self.iter() {
            match parts.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => parts.push((cpu, cpu)),
            }
        }
        let text: Vec<String> = parts
            .into_iter()
            .map(
                |(a, b)| {
                    if a == b { a.to_string() } else { format!("{a}-{b}") }
                },
            )
            .collect();
        f.pad(&text.join(","))
    }
}

crate::units::text_form!(CpuSet);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(text: &str, message: &str) {
        assert_eq!(text.parse::<CpuSet>().unwrap_err().to_string(), message);
    }

    #[test]
    fn refusals_say_what_to_write_instead() {
        refuses("", "cpu set is empty; name at least one cpu, such as `0-3`");
        refuses("3-0", "`3-0` runs backwards; did you mean `0-3`?");
        refuses("0-x", "`x` is not a cpu number from 0 to 4095");
        refuses("0-3,2", "cpu 2 is named twice; name each cpu once");
    }

    #[test]
    fn the_text_form_is_short_and_reads_back() {
        for text in ["0", "0-3", "0-31,64-95", "1,3,5-7"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn pools_that_share_a_cpu_are_seen_to_overlap() {
        let (a, b): (CpuSet, CpuSet) =
            ("0-3".parse().unwrap(), "3,8".parse().unwrap());
        assert_eq!(a.overlap(&b), [3]);
        assert_eq!(CpuSet::new([]), None);
    }
}
