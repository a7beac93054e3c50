//! The generated data against the contract's figures.

use std::collections::BTreeSet;

use profiles::data::{CATEGORIES, Dataset, Item, NAMES, TAGS};

fn items() -> Vec<Item> {
    Dataset::generate().0
}

#[test]
fn the_dataset_has_fifty_items_in_the_contracts_cycles() {
    let items = items();
    assert_eq!(items.len(), 50);
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item.id as usize, index + 1);
        assert_eq!(item.name, NAMES[index % 10]);
        assert_eq!(item.category, CATEGORIES[index % 10]);
    }
}

#[test]
fn the_datasets_first_and_last_item_are_the_published_ones() {
    let items = items();
    let json = |item| serde_json::to_string(item).unwrap();
    assert_eq!(
        json(&items[0]),
        r#"{"id":1,"name":"Alpha Widget","category":"electronics","price":328,"quantity":15,"active":true,"tags":["sale","heavy-duty","popular"],"rating":{"score":48,"count":53}}"#
    );
    assert_eq!(
        json(&items[49]),
        r#"{"id":50,"name":"Hyper Node","category":"auto","price":76,"quantity":56,"active":true,"tags":["eco"],"rating":{"score":24,"count":461}}"#
    );
}

#[track_caller]
fn spans(what: impl Fn(&Item) -> u32, low: u32, high: u32) {
    let items = items();
    assert_eq!(items.iter().map(&what).min(), Some(low));
    assert_eq!(items.iter().map(&what).max(), Some(high));
}

#[test]
fn the_datasets_numbers_reach_the_ends_of_their_ranges() {
    spans(|item| item.price, 2, 496);
    spans(|item| item.quantity, 4, 97);
    spans(|item| item.rating.score, 1, 50);
    spans(|item| item.rating.count, 5, 489);
}

#[test]
fn the_datasets_flags_and_tags_are_distributed_as_published() {
    let items = items();
    assert_eq!(items.iter().filter(|item| item.active).count(), 30);
    let mut lengths = [0; 5];
    let mut used = BTreeSet::new();
    for item in &items {
        lengths[item.tags.len()] += 1;
        let distinct: BTreeSet<&str> =
            item.tags.iter().map(String::as_str).collect();
        assert_eq!(distinct.len(), item.tags.len(), "item {}", item.id);
        used.extend(distinct.into_iter().map(str::to_owned));
    }
    assert_eq!(lengths, [0, 14, 13, 17, 6]);
    assert_eq!(used.into_iter().collect::<Vec<_>>(), TAGS);
}

#[test]
fn the_datasets_products_add_up_as_published() {
    let products: Vec<u32> =
        items().iter().map(|item| item.price * item.quantity).collect();
    assert_eq!(products.iter().sum::<u32>(), 551_091);
    assert_eq!(products.iter().max(), Some(&35_342));
}

#[test]
fn the_dataset_file_has_the_published_size_and_layout() {
    let bytes = Dataset::generate().to_bytes();
    assert_eq!(bytes.len(), 12_482);
    assert!(bytes.starts_with(b"[\n  {\n    \"id\": 1,\n    \"name\": "));
    assert!(bytes.ends_with(b"    }\n  }\n]"));
}

/// Size of the compact answer to `/json/{count}?m={m}`.
fn body_bytes(count: usize, m: u32) -> usize {
    let items: Vec<serde_json::Value> = items()[..count]
        .iter()
        .map(|item| {
            let mut json = serde_json::to_value(item).unwrap();
            json["total"] = (item.price * item.quantity * m).into();
            json
        })
        .collect();
    serde_json::json!({ "items": items, "count": count }).to_string().len()
}

#[test]
fn json_bodies_made_of_the_dataset_have_the_published_sizes() {
    for (count, m, bytes) in [
        (1, 3, 203),
        (5, 7, 888),
        (10, 2, 1_695),
        (15, 5, 2_556),
        (25, 4, 4_190),
        (40, 8, 6_707),
        (50, 6, 8_397),
        (50, 1, 8_357),
    ] {
        assert_eq!(body_bytes(count, m), bytes, "({count}, {m})");
    }
}
