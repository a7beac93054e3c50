//! The tables of the database profiles keep the shape of the reference.

use std::collections::BTreeSet;

use profiles::data::{CATEGORIES, NAMES, ROWS, Row, Rows, TAGS, USERS, sha256};

#[test]
fn the_table_is_pinned() {
    let mut copy = Vec::new();
    Rows::get().write_copy(&mut copy).unwrap();
    let first = copy.split(|b| *b == b'\n').next().unwrap();
    let right = "1\tHyper Node 1\tgarden\t492\t186\tt\t\
                 [\"heavy-duty\", \"limited\"]\t3\t374";
    assert_eq!(String::from_utf8_lossy(first), right);
    let digest =
        "507b99ab3e431c2db6aa38000d4f8d644248c623aaeca492dbb43eb0a629e885";
    assert_eq!(sha256(&copy), digest);
}

#[test]
fn every_row_is_within_the_contract() {
    let mut last = 0;
    for row in Rows::get().iter() {
        assert_eq!(row.id, last + 1);
        last = row.id;
        assert!(NAMES.contains(&row.base), "{row:?}");
        assert!(CATEGORIES.contains(&row.category), "{row:?}");
        assert!((1..=500).contains(&row.price), "{row:?}");
        assert!((1..=1000).contains(&row.quantity), "{row:?}");
        assert!((1..=50).contains(&row.rating_score), "{row:?}");
        assert!((1..=500).contains(&row.rating_count), "{row:?}");
        let tags: Vec<&str> = row.tags.iter().collect();
        let distinct: BTreeSet<&&str> = tags.iter().collect();
        assert!((1..=4).contains(&tags.len()), "{row:?}");
        assert!(distinct.len() == tags.len(), "{row:?}");
        assert!(tags.iter().all(|tag| TAGS.contains(tag)), "{row:?}");
    }
    assert_eq!(last, ROWS as i64);
    assert_eq!(Rows::get().row(0), None);
    assert_eq!(Rows::get().row(ROWS as i64 + 1), None);
    assert_eq!(Rows::get().row(i64::MIN), None);
}

#[track_caller]
fn near(expected: u32, found: usize, deviation: u32) {
    let found = found as u32;
    assert!(expected.abs_diff(found) <= 5 * deviation, "{found}");
}

#[test]
fn shares_are_those_of_uniform_draws() {
    let count = |f: &dyn Fn(&Row) -> bool| Rows::get().iter().filter(f).count();
    near(50_000, count(&|r| r.active), 158);
    for tags in 1..=4 {
        near(25_000, count(&|r| r.tags.iter().count() == tags), 137);
    }
    for index in 0..10 {
        near(10_000, count(&|r| r.category == CATEGORIES[index]), 95);
        near(10_000, count(&|r| r.base == NAMES[index]), 95);
        // 2.5 tags of ten.
        let has = |r: &Row| r.tags.iter().any(|t| t == TAGS[index]);
        near(25_000, count(&has), 137);
    }
    // A name tells nothing of the category.
    let both = |r: &Row| r.base == NAMES[0] && r.category == CATEGORIES[0];
    near(1_000, count(&both), 32);
}

#[test]
fn indices_agree_with_a_scan() {
    let rows = Rows::get();
    for (min, max) in [(10, 50), (1, 500), (60, 50), (-9, 0), (500, 9999)] {
        let scanned = rows.iter().filter(|r| (min..=max).contains(&r.price));
        assert_eq!(rows.count_priced(min, max) as usize, scanned.count());
    }
    assert_eq!(rows.count_priced(i64::MIN, i64::MAX), 100_000);
    let mut all = 0;
    for category in CATEGORIES {
        let ids = rows.ids_of(category).unwrap();
        let of = |id: &u32| rows.row((*id).into()).unwrap().category;
        assert!(ids.iter().all(|id| of(id) == category));
        assert!(ids.is_sorted());
        all += ids.len();
    }
    assert_eq!(all, ROWS);
    assert_eq!(rows.ids_of("test"), None);
}

#[test]
fn a_name_is_the_base_and_the_id_and_nothing_else() {
    let row = Rows::get().row(1070).unwrap();
    assert!(row.is_named(&row.name()));
    let base = row.base;
    for wrong in ["1071", "01070", "+1070", "107", "1070 ", " 1070", ""] {
        assert!(!row.is_named(&format!("{base} {wrong}")), "{wrong}");
    }
    assert!(!row.is_named(&format!("{base}1070")));
    assert!(!row.is_named("1070"));
}

#[test]
fn users_are_told_apart_by_every_column() {
    let columns: BTreeSet<&str> =
        USERS.iter().flat_map(|u| [u.name, u.email, u.plan]).collect();
    assert_eq!(columns.len(), 3 * USERS.len());
    assert_eq!(USERS.map(|u| u.id), [42, 43, 44, 45]);
}
