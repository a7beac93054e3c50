//! Whether one row's numbers can all be true at once.

/// What one row claims. Numbers that were not measured stay `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Connections held open.
    pub connections: u32,
    /// Requests in flight on each.
    pub in_flight: u32,
    /// Right answers per second.
    pub rate: f64,
    /// Mean round trip of those answers.
    pub mean_ns: Option<f64>,
    /// Median round trip.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Slowest round trip.
    pub max_ns: Option<u64>,
    /// Bytes received per second.
    pub bytes_per_s: Option<f64>,
    /// Speed of the link between load and server. `None`: no link (loopback).
    pub link_bits_per_s: Option<u64>,
    /// Share of all slot time that is accounted for otherwise: spent on
    /// unanswered, failed or wrong requests. Zero where none were.
    pub other_slot_share: f64,
    /// Share of the time that the client's threads worked. Between an answer
    /// and the request after it a slot is empty while the client works, and
    /// one that reads many answers at once works with many slots empty.
    pub client_share: f64,
    /// Whether every slot holds a request all of the time.
    pub slots: Slots,
}

/// How the client fills its slots (connections × in flight).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// Closed loop over lasting connections: the next request leaves as soon
    /// as an answer arrives.
    AlwaysFull,
    /// Reconnects, a fixed rate or a saturated client leave slots empty.
    SometimesEmpty,
}

/// Tolerance of the comparison with Little's law.
pub const LITTLE_TOLERANCE: f64 = 0.05;

/// A contradiction within one row.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Violation {
    /// A rate or mean that is no positive number.
    #[error("{0} is not a positive number")]
    NotANumber(&'static str),
    /// More requests in flight than there are slots.
    #[error(
        "Little's law: {busy:.0} requests in flight on average, but only \
         {slots} slots"
    )]
    TooBusy {
        /// rate × mean, plus the time spent otherwise.
        busy: f64,
        /// connections × in flight.
        slots: u64,
    },
    /// Fewer requests in flight than a closed loop keeps there.
    #[error(
        "Little's law: {busy:.0} requests in flight on average, but a closed \
         loop keeps all {slots} slots full"
    )]
    TooIdle {
        /// rate × mean, plus the time spent otherwise.
        busy: f64,
        /// connections × in flight.
        slots: u64,
    },
    /// The rate implies a mean that the percentiles rule out.
    #[error(
        "Little's law: the rate implies a mean of {implied_ns:.0} ns, above \
         its own p99 of {p99_ns} ns"
    )]
    MeanAboveP99 {
        /// slots / rate.
        implied_ns: f64,
        /// As claimed.
        p99_ns: u64,
    },
    /// The mean is above the maximum.
    #[error("mean {mean_ns:.0} ns is above the maximum {max_ns} ns")]
    MeanAboveMax {
        /// As claimed.
        mean_ns: f64,
        /// As claimed.
        max_ns: u64,
    },
    /// Percentiles in the wrong order.
    #[error("{low} {low_ns} ns is above {high} {high_ns} ns")]
    Disorder {
        /// Name of the number that should be the smaller.
        low: &'static str,
        /// As claimed.
        low_ns: u64,
        /// Name of the number that should be the larger.
        high: &'static str,
        /// As claimed.
        high_ns: u64,
    },
    /// More data than the link can carry.
    #[error("{bits_per_s:.3e} bit/s do not fit the link's {link} bit/s")]
    AboveLink {
        /// As claimed.
        bits_per_s: f64,
        /// The link's speed.
        link: u64,
    },
}

/// Every contradiction in one row; none for a good one.
///
/// Little's law (mean number in flight = rate × mean round trip) binds in two
/// directions. No row may show more in flight than there are slots. Fewer is
/// a contradiction only while the client keeps every slot full: a profile
/// that reconnects, an open loop or a saturated client leaves slots empty, and
/// so may any client for as long as it works.
pub fn violations(claim: &Claim) -> Vec<Violation> {
    let mut found = Vec::new();
    let positive = |v: f64| v.is_finite() && v > 0.0;
    if !positive(claim.rate) {
        found.push(Violation::NotANumber("rate"));
    } else if claim.mean_ns.is_some_and(|mean| !positive(mean)) {
        found.push(Violation::NotANumber("mean"));
    } else {
        little(claim, &mut found);
    }
    if let (Some(mean_ns), Some(max_ns)) = (claim.mean_ns, claim.max_ns)
        && mean_ns > max_ns as f64
    {
        found.push(Violation::MeanAboveMax { mean_ns, max_ns });
    }
    let named =
        [("p50", claim.p50_ns), ("p99", claim.p99_ns), ("max", claim.max_ns)];
    let known: Vec<(&str, u64)> =
        named.iter().filter_map(|(name, ns)| Some((*name, (*ns)?))).collect();
    for pair in known.windows(2) {
        let [(low, low_ns), (high, high_ns)] = [pair[0], pair[1]];
        if low_ns > high_ns {
            found.push(Violation::Disorder { low, low_ns, high, high_ns });
        }
    }
    if let (Some(bytes), Some(link)) =
        (claim.bytes_per_s, claim.link_bits_per_s)
        && bytes * 8.0 > link as f64
    {
        found.push(Violation::AboveLink { bits_per_s: bytes * 8.0, link });
    }
    found
}

fn little(claim: &Claim, found: &mut Vec<Violation>) {
    let slots = u64::from(claim.connections) * u64::from(claim.in_flight);
    let available = slots as f64;
    let full = claim.slots == Slots::AlwaysFull;
    if let Some(mean_ns) = claim.mean_ns {
        let other = claim.other_slot_share.clamp(0.0, 1.0) * available;
        let busy = claim.rate * mean_ns / 1e9 + other;
        let kept = 1.0 - claim.client_share.clamp(0.0, 1.0);
        if busy > available * (1.0 + LITTLE_TOLERANCE) {
            found.push(Violation::TooBusy { busy, slots });
        } else if full && busy < available * (kept - LITTLE_TOLERANCE) {
            found.push(Violation::TooIdle { busy, slots });
        }
    } else if let (true, Some(p99_ns)) = (full, claim.p99_ns) {
        // No mean was reported. Only a tail beyond p99 could lift the mean
        // above it, and a row that hides such a tail cannot be believed.
        let free = 1.0 - claim.other_slot_share.clamp(0.0, 1.0);
        let implied_ns = available * free / claim.rate * 1e9;
        if implied_ns > p99_ns as f64 * (1.0 + LITTLE_TOLERANCE) {
            found.push(Violation::MeanAboveP99 { implied_ns, p99_ns });
        }
    }
}
