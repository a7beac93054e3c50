//! Drawing requests: shares hold, values stay in range, seeds repeat.

use std::collections::BTreeMap;
use std::path::Path;

use profiles::ask::{Ask, Drawer, MAX_BODY};
use profiles::catalog::Catalog;
use profiles::data::UPLOAD_BLOCK_BYTES;
use profiles::profile::{Lane, Profile};
use profiles::rng::Rng;

fn profile(name: &str) -> Profile {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    Catalog::load(root).unwrap().profile(name).unwrap().clone()
}

fn draw(name: &str, seed: u64, count: usize) -> Vec<(usize, Ask)> {
    let mut drawer = Drawer::new(&profile(name), Lane::Main).unwrap();
    let mut rng = Rng::new(seed, 0);
    (0..count).map(|_| drawer.draw(&mut rng).unwrap()).collect()
}

#[test]
fn the_mix_is_per_request_and_near_its_shares() {
    let mut seen: BTreeMap<usize, u32> = BTreeMap::new();
    for (class, _) in draw("baseline", 1, 30_000) {
        *seen.entry(class).or_default() += 1;
    }
    // 10,000 each; five standard deviations are 408.
    assert_eq!(seen.len(), 3);
    assert!(seen.values().all(|n| n.abs_diff(10_000) < 408), "{seen:?}");
}

#[test]
fn a_seed_repeats_its_requests_and_another_does_not() {
    for name in ["baseline", "json", "json-comp", "upload", "static"] {
        assert_eq!(draw(name, 7, 50), draw(name, 7, 50), "{name}");
        assert_ne!(draw(name, 7, 50), draw(name, 8, 50), "{name}");
    }
}

#[test]
fn values_stay_within_the_contract() {
    for (_, ask) in draw("json", 3, 5_000) {
        let Ask::Json { count, multiplier: Some(m), .. } = ask else {
            panic!("{ask:?}")
        };
        assert!((1..=50).contains(&count) && (1..=99).contains(&m));
    }
    for (_, ask) in draw("upload", 3, 5_000) {
        let Ask::Upload { offset, len, .. } = ask else { panic!("{ask:?}") };
        assert!((495_000..=MAX_BODY).contains(&len));
        assert!((offset + len) as usize <= UPLOAD_BLOCK_BYTES);
    }
}

#[test]
fn the_load_keeps_the_size_of_the_reference_load() {
    let mean = |name: &str, f: fn(&Ask) -> f64| {
        let all = draw(name, 5, 20_000);
        all.iter().map(|(_, ask)| f(ask)).sum::<f64>() / all.len() as f64
    };
    let items = mean("json", |a| match a {
        Ask::Json { count, .. } => f64::from(*count),
        _ => f64::NAN,
    });
    let body = mean("upload", |a| match a {
        Ask::Upload { len, .. } => f64::from(*len),
        _ => f64::NAN,
    });
    // The reference: counts 1 5 10 15 25 40 50, bodies of 8,516,608 B.
    assert!((items / 20.857 - 1.0).abs() < 0.03, "{items}");
    assert!((body / 8_516_608.0 - 1.0).abs() < 0.03, "{body}");
}

#[test]
fn a_profile_of_a_later_protocol_names_the_class_it_cannot_draw() {
    let refused = Drawer::new(&profile("crud"), Lane::Main).unwrap_err();
    assert_eq!(refused, "create");
}
