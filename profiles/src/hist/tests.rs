use super::*;
use proptest::prelude::*;

fn of(values: &[u64]) -> Hist {
    let mut hist = Hist::new();
    values.iter().for_each(|&v| hist.record(v));
    hist
}

fn bytes_of(hist: &Hist) -> Vec<u8> {
    STANDARD.decode(hist.to_text().unwrap()).unwrap()
}

#[track_caller]
fn refused(bytes: &[u8], why: &str) {
    let error = Hist::from_text(&STANDARD.encode(bytes)).unwrap_err();
    assert!(error.to_string().contains(why), "{error} does not say {why}");
}

#[test]
fn an_empty_histogram_has_no_numbers() {
    let hist = Hist::new();
    assert_eq!(hist.count(), 0);
    assert_eq!((hist.min_ns(), hist.max_ns()), (None, None));
    assert_eq!((hist.mean_ns(), hist.quantile_ns(0.5)), (None, None));
    assert!(hist.is_consistent());
    assert_eq!(Hist::from_text(&hist.to_text().unwrap()).unwrap(), hist);
}

#[test]
fn the_documented_memory_cost_is_the_real_one() {
    assert_eq!(Hist::new().0.distinct_values() as u64, SLOTS);
    assert_eq!(SLOTS * 8, 216 * 1024);
}

#[test]
fn a_quantile_needs_enough_samples() {
    let rule = [(0.5, 20), (0.9, 100), (0.99, 1_000), (0.999, 10_000)];
    for (q, needed) in rule {
        let mut hist = Hist::new();
        hist.record_n(1_000, needed - 1);
        assert_eq!(hist.quantile_ns(q), None, "p{q} from {}", needed - 1);
        hist.record(1_000);
        assert_eq!(hist.quantile_ns(q), Some(1_000), "p{q} from {needed}");
    }
    let mut hist = Hist::new();
    hist.record_n(1_000, 1_000_000);
    for q in [1.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(hist.quantile_ns(q), None, "{q} is no quantile");
    }
}

#[test]
fn values_above_the_top_are_counted_and_read_as_the_top() {
    let mut hist = of(&[1_000, TOP_NS, TOP_NS + 100_000_000]);
    hist.record_n(u64::MAX, 2);
    assert_eq!((hist.count(), hist.above_top()), (5, 3));
    assert_eq!(hist.max_ns(), Some(TOP_NS));
    let again = Hist::from_text(&hist.to_text().unwrap()).unwrap();
    assert_eq!((again.count(), again.above_top()), (5, 3));
}

#[test]
fn zero_is_recorded_as_one_nanosecond() {
    let hist = of(&[0]);
    assert_eq!((hist.count(), hist.min_ns()), (1, Some(1)));
}

#[test]
fn text_that_is_not_a_histogram_is_refused() {
    for text in ["", "AAAA", "not base64!", "\u{0}", "SGlzdG9ncmFt", "===="] {
        assert!(Hist::from_text(text).is_err(), "{text:?} was taken");
    }
    let long = "A".repeat(MAX_TEXT + 1);
    assert!(matches!(Hist::from_text(&long), Err(HistError::TooLong(_))));
}

#[test]
fn every_cut_of_a_histogram_is_refused() {
    let bytes = bytes_of(&of(&[1, 10_000, 1_000_000, 900_000_000]));
    for length in 0..bytes.len() {
        refused(&bytes[..length], "not an HdrHistogram");
    }
    let more = [bytes.as_slice(), &[0]].concat();
    refused(&more, "bytes left over");
}

#[test]
fn a_header_of_another_shape_is_refused_before_memory_is_taken() {
    let good = bytes_of(&of(&[5]));
    for at in (0..4).chain(8..HEADER_BYTES) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        refused(&bad, "another format");
    }
}

/// A valid header around any payload.
fn around(payload: &[u8]) -> Vec<u8> {
    let mut bytes = bytes_of(&Hist::new())[..HEADER_BYTES].to_vec();
    bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
    bytes.extend(payload);
    bytes
}

#[test]
fn a_payload_made_to_overflow_is_refused() {
    refused(&around(&[0xff; 9]), "more slots");
    // Twice 2^62: 0x80 eight times, then the top bit of zig-zag.
    let huge = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];
    refused(&around(&[huge, huge].concat()), "beyond 2^63");
    refused(&around(&vec![2; SLOTS as usize + 1]), "more slots");
    refused(&around(&[0x80]), "cut short");
}

#[test]
fn serde_uses_a_string_and_reports_a_bad_one() {
    let json = serde_json::to_string(&of(&[7, 8])).unwrap();
    assert!(json.starts_with('"'), "{json}");
    assert_eq!(serde_json::from_str::<Hist>(&json).unwrap(), of(&[7, 8]));
    assert!(serde_json::from_str::<Hist>("\"AAAA\"").is_err());
    assert!(serde_json::from_str::<Hist>("17").is_err());
}

proptest! {
    #[test]
    fn merging_equals_recording_all(
        a in prop::collection::vec(0..=u64::MAX, 0..50),
        b in prop::collection::vec(0..TOP_NS, 0..50),
    ) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        let all = of(&[a, b].concat());
        prop_assert_eq!(&merged, &all);
        prop_assert_eq!(merged.max_ns(), all.max_ns());
        prop_assert!(merged.is_consistent());
    }

    #[test]
    fn a_quantile_is_within_a_thousandth(
        mut values in prop::collection::vec(1..TOP_NS, 1_000..1_200),
        q in prop::sample::select(vec![0.5, 0.9, 0.99]),
    ) {
        let got = of(&values).quantile_ns(q).unwrap() as f64;
        values.sort_unstable();
        let nth = (q * values.len() as f64).ceil() as usize - 1;
        let exact = values[nth] as f64;
        prop_assert!((got - exact).abs() <= exact * 0.001 + 1.0);
    }

    #[test]
    fn text_and_back_loses_nothing(
        values in prop::collection::vec(0..=u64::MAX, 0..50),
    ) {
        let hist = of(&values);
        let again = Hist::from_text(&hist.to_text().unwrap()).unwrap();
        prop_assert_eq!(again.max_ns(), hist.max_ns());
        prop_assert_eq!(again.mean_ns(), hist.mean_ns());
        prop_assert_eq!(again, hist);
    }

    #[test]
    fn any_payload_gives_a_histogram_or_an_error(
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let text = STANDARD.encode(around(&payload));
        if let Ok(hist) = Hist::from_text(&text) {
            prop_assert!(hist.count() <= i64::MAX as u64);
        }
    }
}
