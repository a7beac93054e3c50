//! Drawing requests: shares hold, values stay in range, seeds repeat.

use std::collections::BTreeMap;
use std::path::Path;

use profiles::ask::{Ask, Drawer, MAX_BODY};
use profiles::catalog::Catalog;
use profiles::data::UPLOAD_BLOCK_BYTES;
use profiles::oracle::keyed_quantity;
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
    let rows = mean("async-db", |a| match a {
        Ask::AsyncDb { limit, .. } => f64::from(*limit),
        _ => f64::NAN,
    });
    let messages = mean("stream-grpc", |a| match a {
        Ask::GrpcStream { count, .. } => f64::from(*count),
        _ => f64::NAN,
    });
    let payload = mean("echo-ws", |a| match a {
        Ask::WsEcho { len, .. } if (4..=8).contains(len) => f64::from(*len),
        _ => f64::NAN,
    });
    let gateway = mean("gateway-64", |a| match a {
        Ask::Json { count, multiplier: None, .. } => f64::from(*count),
        Ask::Json { .. } => f64::NAN,
        _ => 20.857,
    });
    assert!((rows / 24.0 - 1.0).abs() < 0.03, "{rows}");
    assert!((messages / 5000.0 - 1.0).abs() < 0.001, "{messages}");
    assert!((payload / 6.0 - 1.0).abs() < 0.01, "{payload}");
    assert!((gateway / 20.857 - 1.0).abs() < 0.03, "{gateway}");
    // The reference: counts 1 5 10 15 25 40 50, bodies of 8,516,608 B.
    assert!((items / 20.857 - 1.0).abs() < 0.03, "{items}");
    assert!((body / 8_516_608.0 - 1.0).abs() < 0.03, "{body}");
}

#[test]
fn every_lane_of_every_shipped_profile_draws_all_its_classes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for profile in &Catalog::load(root).unwrap().profiles {
        let mut seen = vec![false; profile.classes.len()];
        for lane in [Lane::Main, Lane::Writers] {
            let mut drawer = Drawer::new(profile, lane).unwrap();
            let mut rng = Rng::new(1, 0);
            for _ in 0..2_000 {
                let Some((class, _)) = drawer.draw(&mut rng) else { break };
                assert_eq!(profile.classes[class].lane, lane);
                seen[class] = true;
            }
        }
        assert!(seen.iter().all(|seen| *seen), "{}: {seen:?}", profile.name);
    }
}

#[test]
fn ids_that_count_up_are_split_between_the_threads() {
    let profile = profile("crud");
    let mut ids = Vec::new();
    for thread in 0..3 {
        let drawer = Drawer::new(&profile, Lane::Main).unwrap();
        let mut drawer = drawer.for_thread(9, thread, 3);
        let mut rng = Rng::new(9, thread.into());
        let before = ids.len();
        while ids.len() < before + 20 {
            if let Some((_, Ask::CrudCreate { id, .. })) = drawer.draw(&mut rng)
            {
                ids.push(id);
            }
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, (100_001..100_061).collect::<Vec<_>>());
}

#[test]
fn what_is_written_to_a_row_is_keyed_by_the_seed() {
    for (name, lane) in
        [("crud", Lane::Main), ("production-stack", Lane::Writers)]
    {
        let drawer = Drawer::new(&profile(name), lane).unwrap();
        let mut drawer = drawer.for_thread(77, 0, 1);
        let mut rng = Rng::new(77, 0);
        let mut writes = 0;
        for _ in 0..1_000 {
            let (_, ask) = drawer.draw(&mut rng).unwrap();
            let (Ask::CrudCreate { id, price, quantity }
            | Ask::CrudUpdate { id, price, quantity }
            | Ask::ItemWrite { id, price, quantity }) = ask
            else {
                continue;
            };
            writes += 1;
            assert!((1..=500).contains(&price));
            assert_eq!(quantity, keyed_quantity(77, id, price));
        }
        assert!(writes > 100, "{writes}");
    }
}
