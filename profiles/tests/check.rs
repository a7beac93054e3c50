//! BC-38: rows whose numbers cannot all be true, and good rows.

use profiles::score::check::{Claim, Slots, Violation, violations};

/// 512 connections, 148,906 answers/s, and a mean that fits them.
fn good() -> Claim {
    Claim {
        connections: 512,
        in_flight: 1,
        rate: 148_906.0,
        mean_ns: Some(3_438_000.0),
        p50_ns: Some(3_100_000),
        p99_ns: Some(9_000_000),
        max_ns: Some(21_000_000),
        bytes_per_s: Some(20e6),
        link_bits_per_s: Some(10_000_000_000),
        other_slot_share: 0.0,
        client_share: 0.0,
        slots: Slots::AlwaysFull,
    }
}

#[track_caller]
fn found(claim: &Claim) -> Violation {
    let mut all = violations(claim);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_good_row_is_accepted() {
    assert_eq!(violations(&good()), []);
}

#[test]
fn a_rate_that_implies_a_mean_above_its_own_p99_is_rejected() {
    let claim = Claim {
        mean_ns: None,
        p50_ns: Some(1_190_000),
        p99_ns: Some(2_190_000),
        max_ns: None,
        ..good()
    };
    let Violation::MeanAboveP99 { implied_ns, p99_ns } = found(&claim) else {
        panic!("another violation");
    };
    assert_eq!(((implied_ns / 1e4).round(), p99_ns), (344.0, 2_190_000));
}

#[test]
fn a_mean_above_the_maximum_is_rejected() {
    let claim = Claim { p99_ns: None, max_ns: Some(3_300_000), ..good() };
    assert!(matches!(found(&claim), Violation::MeanAboveMax { .. }));
}

#[test]
fn percentiles_out_of_order_are_rejected() {
    let claim = Claim { p50_ns: Some(9_100_000), ..good() };
    let Violation::Disorder { low, high, .. } = found(&claim) else {
        panic!("another violation");
    };
    assert_eq!((low, high), ("p50", "p99"));
    let claim = Claim { p99_ns: Some(30_000_000), ..good() };
    assert!(matches!(found(&claim), Violation::Disorder { high: "max", .. }));
}

#[test]
fn more_bytes_than_the_link_carries_are_rejected() {
    let claim = Claim { bytes_per_s: Some(1.3e9), ..good() };
    assert!(matches!(found(&claim), Violation::AboveLink { .. }));
    let loopback = Claim { link_bits_per_s: None, ..claim };
    assert_eq!(violations(&loopback), []);
}

#[test]
fn more_in_flight_than_slots_is_rejected_in_every_mode() {
    for slots in [Slots::AlwaysFull, Slots::SometimesEmpty] {
        let claim = Claim { rate: 148_906.0 * 1.06, slots, ..good() };
        assert!(matches!(found(&claim), Violation::TooBusy { .. }));
        let claim = Claim { rate: 148_906.0 * 1.04, slots, ..good() };
        assert_eq!(violations(&claim), []);
    }
}

#[test]
fn idle_slots_are_a_contradiction_only_where_slots_stay_full() {
    let idle = Claim { rate: 148_906.0 * 0.94, ..good() };
    assert!(matches!(found(&idle), Violation::TooIdle { .. }));
    // A client at work for 2 % of the time may have had all slots empty then.
    let working = Claim { client_share: 0.02, ..idle.clone() };
    assert!(violations(&working).is_empty());
    let reconnecting = Claim { slots: Slots::SometimesEmpty, ..idle };
    assert_eq!(violations(&reconnecting), []);
}

#[test]
fn time_spent_on_unanswered_requests_fills_slots_too() {
    let claim = Claim { rate: 74_453.0, other_slot_share: 0.5, ..good() };
    assert_eq!(violations(&claim), []);
    let claim = Claim { other_slot_share: 0.0, ..claim };
    assert!(matches!(found(&claim), Violation::TooIdle { .. }));
}

#[test]
fn the_depth_of_pipelining_counts() {
    let claim = Claim {
        in_flight: 16,
        mean_ns: Some(3_438_000.0 * 16.0),
        p50_ns: None,
        p99_ns: None,
        max_ns: None,
        ..good()
    };
    assert_eq!(violations(&claim), []);
}

#[test]
fn a_rate_or_mean_that_is_no_number_is_named() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let claim = Claim { rate, ..good() };
        assert_eq!(found(&claim), Violation::NotANumber("rate"));
    }
    let claim = Claim { mean_ns: Some(f64::NAN), ..good() };
    assert_eq!(found(&claim), Violation::NotANumber("mean"));
}
