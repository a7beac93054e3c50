//! Latency histograms: nanoseconds, bounded, mergeable, safe to decode.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize, de, ser};

/// The largest latency told apart, in nanoseconds: 60 s.
pub const TOP_NS: u64 = 60_000_000_000;
/// Where values above [`TOP_NS`] are kept: inside the histogram's range but
/// in a bucket no honest value reaches, so they stay countable when stored.
const ABOVE_TOP: u64 = 64_000_000_000;
const DIGITS: u8 = 3;
/// Length of the counts array: 26 doublings of 1,024 sub-buckets and one more.
const SLOTS: u64 = 27 * 1024;
const HEADER_BYTES: usize = 40;
/// No valid histogram is longer: every slot at its longest encoding.
const MAX_BYTES: usize = HEADER_BYTES + SLOTS as usize * 9;
const MAX_TEXT: usize = MAX_BYTES.div_ceil(3) * 4;

/// A histogram of latencies from 1 ns to 60 s with three significant digits.
///
/// Any value read back is within 0.1 % of what was recorded. One histogram
/// takes 216 KiB of memory whatever it holds; stored text grows with the
/// number of distinct values, typically 2 to 6 KB. Zero is recorded as 1 ns.
/// Values above 60 s are counted, as [`Hist::above_top`] says, and read as 60 s.
#[derive(Clone, PartialEq)]
pub struct Hist(Histogram<u64>);

/// Why stored text is not a histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistError {
    /// Longer than any histogram of this shape can be.
    #[error(
        "histogram text of {0} bytes is longer than the {MAX_TEXT} allowed"
    )]
    TooLong(usize),
    /// Not base64 at all.
    #[error("histogram is not base64: {0}")]
    NotBase64(#[from] base64::DecodeError),
    /// Right encoding, wrong content.
    #[error("not an HdrHistogram V2 of 1 ns to 64 s with 3 digits: {0}")]
    Broken(&'static str),
}

impl Default for Hist {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Hist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [count, max] = [self.count(), self.max_ns().unwrap_or(0)];
        write!(f, "Hist {{ count: {count}, max_ns: {max} }}")
    }
}

impl Hist {
    /// An empty histogram.
    pub fn new() -> Self {
        Self(
            Histogram::new_with_bounds(1, ABOVE_TOP, DIGITS)
                .expect("the bounds are constants that a test covers"),
        )
    }

    /// Counts one latency.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Counts one latency `times` times.
    pub fn record_n(&mut self, ns: u64, times: u64) {
        let kept = if ns > TOP_NS { ABOVE_TOP } else { ns.max(1) };
        self.0.saturating_record_n(kept, times);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all histograms have the same bounds");
    }

    /// How many latencies were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// How many of them were above 60 s.
    pub fn above_top(&self) -> u64 {
        self.0.count_at(ABOVE_TOP)
    }

    /// Smallest latency, if any.
    pub fn min_ns(&self) -> Option<u64> {
        self.some(self.0.min().clamp(1, TOP_NS))
    }

    /// Largest latency, if any; 60 s stands for 60 s or more.
    pub fn max_ns(&self) -> Option<u64> {
        self.some(self.0.max().min(TOP_NS))
    }

    /// Mean latency, if any. Values above 60 s make it a lower bound.
    pub fn mean_ns(&self) -> Option<f64> {
        self.some(self.0.mean().min(TOP_NS as f64))
    }

    /// The latency that a share `q` of all answers did not exceed, or `None`
    /// while there are too few samples to say: see [`samples_needed`].
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let known = (0.0..=1.0).contains(&q);
        if !known || self.count() < samples_needed(q) {
            return None;
        }
        self.some(self.0.value_at_quantile(q).min(TOP_NS))
    }

    /// Whether the numbers do not contradict one another:
    /// mean ≤ max and p50 ≤ p99 ≤ max. An empty histogram is consistent.
    pub fn is_consistent(&self) -> bool {
        let p50 = self.0.value_at_quantile(0.5);
        let p99 = self.0.value_at_quantile(0.99);
        self.0.mean() <= self.0.max() as f64
            && p50 <= p99
            && p99 <= self.0.max()
    }

    /// The stored form: HdrHistogram V2, uncompressed, as base64.
    pub fn to_text(&self) -> Result<String, HistError> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(|_| HistError::Broken("a count above 2^63"))?;
        Ok(STANDARD.encode(bytes))
    }

    /// Reads the stored form. Any text is safe: it is bounded in size and
    /// refused unless it is exactly a histogram of this shape.
    pub fn from_text(text: &str) -> Result<Self, HistError> {
        if text.len() > MAX_TEXT {
            return Err(HistError::TooLong(text.len()));
        }
        let bytes = STANDARD.decode(text)?;
        check_header(&bytes)?;
        check_counts(&bytes[HEADER_BYTES..])?;
        Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map(Self)
            .map_err(|_| HistError::Broken("the counts do not decode"))
    }

    fn some<T>(&self, value: T) -> Option<T> {
        (self.count() > 0).then_some(value)
    }
}

/// How many samples a quantile needs before it may be shown: 20 for p50,
/// 100 for p90, 1,000 for p99, 10,000 for p99.9 and ten beyond for any other.
pub fn samples_needed(q: f64) -> u64 {
    if q <= 0.5 {
        return 20;
    }
    // Rounded first, since 1 − 0.9 is a little less than a tenth.
    let beyond = ((1.0 - q) * 1e9).round() / 1e9;
    if beyond <= 0.0 { u64::MAX } else { (10.0 / beyond).ceil() as u64 }
}

/// The decoder sizes its buffers by the header, so that must be ours exactly.
fn check_header(bytes: &[u8]) -> Result<(), HistError> {
    let model = {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&Hist::new().0, &mut bytes)
            .map_err(|_| HistError::Broken("no model header"))?;
        bytes
    };
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Err(HistError::Broken("shorter than its header"));
    };
    // Bytes 4 to 8 are the payload's length, the rest is the shape.
    if header[..4] != model[..4] || header[8..] != model[8..HEADER_BYTES] {
        return Err(HistError::Broken("another format, range or precision"));
    }
    let length =
        u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    if length as usize != bytes.len() - HEADER_BYTES {
        return Err(HistError::Broken("cut short or with bytes left over"));
    }
    Ok(())
}

/// Walks the zig-zag varints once. The decoder trusts them: a run of zeros of
/// 2^63 or a sum above 2^64 would overflow in it.
fn check_counts(mut payload: &[u8]) -> Result<(), HistError> {
    let (mut slot, mut total) = (0u64, 0u64);
    while !payload.is_empty() {
        let mut raw = 0u64;
        let mut used = 0;
        loop {
            let Some(&byte) = payload.get(used) else {
                return Err(HistError::Broken("a count is cut short"));
            };
            let last = used == 8;
            let bits = if last { byte } else { byte & 0x7f };
            raw |= u64::from(bits) << (7 * used);
            used += 1;
            if last || byte & 0x80 == 0 {
                break;
            }
        }
        payload = &payload[used..];
        let negative = raw & 1 == 1;
        let size = raw >> 1;
        if negative {
            // −(size + 1) stands for a run of size + 1 empty slots.
            slot = slot.saturating_add(size).saturating_add(1);
        } else {
            slot = slot.saturating_add(1);
            total = total.saturating_add(size);
        }
        if slot > SLOTS {
            return Err(HistError::Broken("more slots than the range has"));
        }
        if total > i64::MAX as u64 {
            return Err(HistError::Broken("counts that add up beyond 2^63"));
        }
    }
    Ok(())
}

impl Serialize for Hist {
    fn serialize<S: ser::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_text().map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Hist {
    fn deserialize<D: de::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Self::from_text(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
