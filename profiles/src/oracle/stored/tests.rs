//! Answers of the database against hand-made replies: every document that is
//! right has twins that are not.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::data::{Dataset, Row, Rows, USERS};
use crate::oracle::{Oracle, Reply, Wrong, keyed_quantity};

const RUN: u64 = 99;

fn judge(ask: &Ask, body: &[u8]) -> Result<(), Wrong> {
    let oracle = Oracle::new(Dataset(Vec::new()), |_| None).with_run(RUN);
    let status = Oracle::status(ask);
    let json = Some("application/json; charset=utf-8");
    let content_type = if status == 204 { None } else { json };
    let content_encoding = None;
    oracle.judge(ask, &Reply { status, content_type, content_encoding, body })
}

#[track_caller]
fn right(ask: &Ask, body: &Value) {
    let compact = body.to_string();
    assert_eq!(judge(ask, compact.as_bytes()), Ok(()), "{compact}");
    let pretty = serde_json::to_string_pretty(body).unwrap();
    assert_eq!(judge(ask, pretty.as_bytes()), Ok(()), "{pretty}");
}

#[track_caller]
fn refused(ask: &Ask, body: &str, part: &str) {
    let why = judge(ask, body.as_bytes()).unwrap_err();
    assert_eq!(why.word(), "body", "{why}: {body}");
    assert!(why.to_string().contains(part), "{why}: {body}");
}

/// The right document with one member of it put otherwise.
#[track_caller]
fn twin(ask: &Ask, right: &Value, at: &str, value: Value, part: &str) {
    let mut wrong = right.clone();
    match wrong.pointer_mut(at) {
        Some(place) => *place = value,
        None => wrong[&at[1..]] = value,
    }
    refused(ask, &wrong.to_string(), part);
}

fn row(id: i64) -> Row {
    Rows::get().row(id).unwrap()
}

fn item(row: &Row) -> Value {
    json!({
        "id": row.id, "name": row.name(), "category": row.category,
        "price": row.price, "quantity": row.quantity, "active": row.active,
        "tags": row.tags.iter().collect::<Vec<_>>(),
        "rating": {"score": row.rating_score, "count": row.rating_count},
    })
}

/// The row after an update of this shot.
fn updated(row: &Row, name: &str, price: i64) -> Value {
    let mut item = item(row);
    item["name"] = name.into();
    item["price"] = price.into();
    item["quantity"] = keyed_quantity(RUN, row.id, price).into();
    item
}

fn created(id: i64, name: &str, price: i64) -> Value {
    json!({
        "id": id, "name": name, "category": "test", "price": price,
        "quantity": keyed_quantity(RUN, id, price), "active": true,
        "tags": ["bench"], "rating": {"score": 0, "count": 0},
    })
}

fn without(mut item: Value, members: &[&str]) -> Value {
    for member in members {
        item.as_object_mut().unwrap().remove(*member).unwrap();
    }
    item
}

fn item_read(id: i64) -> Ask {
    Ask::ItemRead { id, accept_encoding: None }
}

#[track_caller]
fn every_member_counts(ask: &Ask, body: &Value) {
    right(ask, body);
    for (at, value, part) in [
        ("/id", json!(8), "id: expected 7, found 8"),
        ("/name", json!("x"), "name: expected"),
        ("/category", json!("test"), "category"),
        ("/price", json!(501), "price"),
        ("/quantity", json!(1001), "quantity"),
        ("/active", json!(!row(7).active), "active"),
        ("/active", json!(1), "boolean"),
        ("/active", Value::Null, "boolean"),
        ("/tags", json!([]), "tags"),
        ("/tags", Value::Null, "array of tags"),
        ("/tags", json!("eco"), "array of tags"),
        ("/tags", json!(["a", "b", "c", "d", "e"]), "more than four"),
        ("/rating/score", json!(51), "rating"),
        ("/rating/count", json!(501), "rating"),
        ("/rating", json!({"score": 1}), "missing field `count`"),
        ("/rating", json!([1, 2]), "a rating"),
        ("/rating/extra", json!(1), "unknown field `extra`"),
        ("/price", json!(300.0), "whole number"),
        ("/price", json!("300"), "whole number"),
        ("/price", Value::Null, "whole number"),
        ("/price", json!(u64::MAX), "out of range"),
        ("/stock", json!(1), "unknown field `stock`"),
        ("/total", json!(1), "unknown field `total`"),
    ] {
        if at == "/rating/extra" {
            let mut wrong = body.clone();
            wrong["rating"]["extra"] = value;
            refused(ask, &wrong.to_string(), part);
        } else {
            twin(ask, body, at, value, part);
        }
    }
    for member in ["id", "name", "category", "price", "quantity", "rating"] {
        let lacking = without(body.clone(), &[member]).to_string();
        refused(ask, &lacking, &format!("missing field `{member}`"));
        let text = body.to_string();
        let again = format!("{{\"{member}\":{},", body[member]);
        let doubled = text.replacen('{', &again, 1);
        refused(ask, &doubled, &format!("duplicate field `{member}`"));
    }
}

#[test]
fn a_row_is_right_as_it_was_or_as_this_shot_updated_it() {
    let (read, stack) = (Ask::CrudRead { id: 7 }, item_read(7));
    every_member_counts(&read, &item(&row(7)));
    every_member_counts(&read, &updated(&row(7), "Updated Product", 250));
    every_member_counts(&stack, &item(&row(7)));
    every_member_counts(&stack, &updated(&row(7), "bench-updated", 1));
    // Each with the other's update.
    let strange = updated(&row(7), "bench-updated", 1).to_string();
    refused(&read, &strange, "name: expected");
    let strange = updated(&row(7), "Updated Product", 1).to_string();
    refused(&stack, &strange, "name: expected");
    // Only the stack may leave the tags out.
    let bare = without(item(&row(7)), &["tags"]);
    right(&stack, &bare);
    refused(&read, &bare.to_string(), "missing field `tags`");
}

#[test]
fn an_update_that_this_shot_did_not_write_is_refused() {
    let ask = Ask::CrudRead { id: 7 };
    let honest = updated(&row(7), "Updated Product", 250);
    right(&ask, &honest);
    let mut quantities = 0;
    for quantity in 1..=1000 {
        let mut made_up = honest.clone();
        made_up["quantity"] = quantity.into();
        quantities +=
            i32::from(judge(&ask, made_up.to_string().as_bytes()) == Ok(()));
    }
    assert_eq!(quantities, 1);
    // Half of one write and half of another, or of the table.
    twin(&ask, &honest, "/price", json!(251), "nothing wrote");
    twin(&ask, &honest, "/name", json!(row(7).name()), "price");
    let mut old = item(&row(7));
    old["name"] = "Updated Product".into();
    refused(&ask, &old.to_string(), "nothing wrote");
    // Of another shot, of another row, beyond the drawn prices.
    let other = keyed_quantity(RUN + 1, 7, 250);
    twin(&ask, &honest, "/quantity", json!(other), "nothing wrote");
    let other = keyed_quantity(RUN, 8, 250);
    twin(&ask, &honest, "/quantity", json!(other), "nothing wrote");
    let dear = updated(&row(7), "Updated Product", 501).to_string();
    refused(&ask, &dear, "nothing wrote 501");
}

#[test]
fn a_created_row_is_the_one_that_was_created() {
    let ask = Ask::CrudRead { id: 100_007 };
    let body = created(100_007, "New Product", 17);
    right(&ask, &body);
    right(&ask, &created(100_007, "Updated Product", 18));
    for (at, value, part) in [
        ("/id", json!(100_008), "id"),
        ("/name", json!("Old Product"), "name"),
        ("/category", json!("toys"), "category"),
        ("/price", json!(18), "nothing wrote"),
        ("/active", json!(false), "active"),
        ("/tags", json!(["eco"]), "tags"),
        ("/tags", json!(["bench", "bench"]), "tags"),
        ("/rating/count", json!(1), "rating"),
    ] {
        twin(&ask, &body, at, value, part);
    }
}

#[test]
fn a_write_is_answered_with_what_was_submitted() {
    let quantity = keyed_quantity(RUN, 7, 20);
    let ask = Ask::CrudUpdate { id: 7, price: 20, quantity };
    let whole = updated(&row(7), "Updated Product", 20);
    let least = without(whole.clone(), &["category", "active", "tags"]);
    let least = without(least, &["rating"]);
    right(&ask, &whole);
    right(&ask, &least);
    let mut echoed = least.clone();
    echoed["category"] = "test".into();
    right(&ask, &echoed);
    for (at, value, part) in [
        ("/id", json!(8), "id"),
        ("/name", json!(row(7).name()), "name"),
        ("/price", json!(21), "price"),
        ("/quantity", json!(quantity + 1), "quantity"),
        ("/category", json!("none"), "category"),
        ("/active", json!(!row(7).active), "active"),
        ("/tags", json!(["bench"]), "tags"),
        ("/rating", json!({"score": 0, "count": 0}), "rating"),
        ("/updated", json!(true), "unknown field"),
    ] {
        twin(&ask, &whole, at, value, part);
    }
    for member in ["id", "name", "price", "quantity"] {
        let lacking = without(least.clone(), &[member]).to_string();
        refused(&ask, &lacking, "missing field");
    }

    let (id, price) = (100_001, 20);
    let quantity = keyed_quantity(RUN, id, price);
    let ask = Ask::CrudCreate { id, price, quantity };
    let whole = created(id, "New Product", price);
    right(&ask, &whole);
    let least = without(whole.clone(), &["active", "tags", "rating"]);
    right(&ask, &least);
    twin(&ask, &least, "/category", json!("toys"), "category");
    twin(&ask, &least, "/name", json!("Updated Product"), "name");
    twin(&ask, &whole, "/active", json!(false), "active");
    let lacking = without(least, &["category"]).to_string();
    refused(&ask, &lacking, "missing field `category`");
}

#[test]
fn statuses_are_those_of_the_contract() {
    let write = Ask::ItemWrite { id: 7, price: 1, quantity: 2 };
    let create = Ask::CrudCreate { id: 100_001, price: 1, quantity: 2 };
    let update = Ask::CrudUpdate { id: 7, price: 1, quantity: 2 };
    assert_eq!(Oracle::status(&create), 201);
    assert_eq!(Oracle::status(&update), 200);
    assert_eq!(judge(&write, b""), Ok(()));
    assert_eq!(judge(&write, b"{}").unwrap_err().word(), "body");
    let oracle = Oracle::new(Dataset(Vec::new()), |_| None);
    let bare = |status| Reply {
        status,
        content_type: None,
        content_encoding: None,
        body: b"",
    };
    for (ask, status) in [(&write, 200), (&create, 200), (&update, 201)] {
        let why = oracle.judge(ask, &bare(status)).unwrap_err();
        assert_eq!(why.word(), "status");
    }
    let why = oracle.judge(&item_read(7), &bare(200)).unwrap_err();
    assert_eq!(why.word(), "content-type");
}

fn page(category: &str, page: u32, limit: u32) -> (Ask, Value) {
    let ids = Rows::get().ids_of(category).unwrap();
    let skip = (page - 1) as usize * limit as usize;
    let ids = ids.iter().skip(skip).take(limit as usize);
    let items: Vec<Value> = ids.map(|id| item(&row((*id).into()))).collect();
    let total = items.len();
    let ask = Ask::CrudList { category: category.into(), page, limit };
    let body = json!({
        "items": items, "total": total, "page": page, "limit": limit,
    });
    (ask, body)
}

#[test]
fn a_page_holds_exactly_its_rows_in_their_order() {
    let (ask, body) = page("office", 3, 10);
    right(&ask, &body);
    let (next, _) = page("office", 4, 10);
    refused(&next, &body.to_string(), "item 1: id");
    // A row of it may be updated meanwhile.
    let mut changed = body.clone();
    let id = body["items"][4]["id"].as_i64().unwrap();
    changed["items"][4] = updated(&row(id), "Updated Product", 3);
    right(&ask, &changed);
    twin(&ask, &changed, "/items/4/price", json!(4), "item 5: quantity");
    for (at, value, part) in [
        ("/total", json!(9), "expected total 10, found 9"),
        ("/page", json!(4), "expected page 3, found 4"),
        ("/limit", json!(50), "expected limit 10, found 50"),
        ("/page", json!("3"), "whole number"),
        ("/more", json!(true), "unknown field `more`"),
        ("/count", json!(10), "unknown field `count`"),
        ("/items", json!({}), "array of items"),
        ("/items", json!([]), "expected 10 items, found 0"),
    ] {
        twin(&ask, &body, at, value, part);
    }
    for member in ["items", "total", "page", "limit"] {
        let lacking = without(body.clone(), &[member]).to_string();
        refused(&ask, &lacking, &format!("missing field `{member}`"));
    }
    let mut swapped = body.clone();
    swapped["items"].as_array_mut().unwrap().swap(0, 1);
    refused(&ask, &swapped.to_string(), "item 1: id");
    let mut longer = body.clone();
    let extra = longer["items"][9].clone();
    longer["items"].as_array_mut().unwrap().push(extra);
    refused(&ask, &longer.to_string(), "expected 10 items, found 11");
    let (beyond, empty) = page("office", 5_000, 10);
    right(&beyond, &empty);
}

fn query(min: i64, max: i64, limit: u32) -> Ask {
    Ask::AsyncDb { min, max, limit, accept_encoding: None }
}

fn answer(rows: &[Row]) -> Value {
    let items: Vec<Value> = rows.iter().map(item).collect();
    json!({"items": items, "count": rows.len()})
}

#[test]
fn a_query_takes_any_rows_that_match_but_all_it_asked_for() {
    let priced = |min, max| {
        let all = Rows::get().iter();
        all.filter(move |row| (min..=max).contains(&row.price))
    };
    let (ask, rows) = (query(10, 50, 5), priced(10, 50));
    let rows: Vec<Row> = rows.collect();
    right(&ask, &answer(&rows[..5]));
    right(&ask, &answer(&rows[100..105]));
    let mut turned = rows[..5].to_vec();
    turned.reverse();
    right(&ask, &answer(&turned));
    refused(&ask, &answer(&rows[..4]).to_string(), "expected 5 items");
    refused(&ask, &answer(&rows[..6]).to_string(), "no more than 5");
    turned[0] = turned[1];
    refused(&ask, &answer(&turned).to_string(), "is there twice");
    let dear: Vec<Row> = priced(51, 51).take(5).collect();
    refused(&ask, &answer(&dear).to_string(), "price: expected 10 to 50");
    let body = answer(&rows[..5]);
    twin(&ask, &body, "/count", json!(4), "expected count 5, found 4");
    twin(&ask, &body, "/items/2/id", json!(0), "no row has this id");
    twin(&ask, &body, "/items/2/id", json!(100_001), "no row has this id");
    twin(&ask, &body, "/items/2/quantity", json!(0), "item 3: quantity");
    twin(&ask, &body, "/items/2/rating/score", json!(0), "item 3: rating");
    // Nothing writes here.
    let mut changed = body.clone();
    changed["items"][0] = updated(&rows[0], "Updated Product", 20);
    refused(&ask, &changed.to_string(), "item 1: name");
    // More than there are, and none at all.
    let few: Vec<Row> = priced(500, 900).take(50).collect();
    right(&query(500, 900, 99), &answer(&few));
    right(&query(9999, 9999, 50), &answer(&[]));
    refused(&query(9999, 9999, 50), &body.to_string(), "price");
}

#[test]
fn a_query_has_a_key_of_all_it_asks() {
    let oracle = Oracle::new(Dataset(Vec::new()), |_| None);
    let key = |min, max, limit| oracle.key(&query(min, max, limit));
    let keys = [
        key(10, 50, 5),
        key(11, 50, 5),
        key(10, 51, 5),
        key(10, 50, 6),
        key(50, 10, 5),
    ];
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
    assert!(keys.iter().all(Option::is_some));
    assert_eq!(key(10, 50, 50), key(10, 50, 51));
    assert_eq!((key(-1, 5, 5), key(1, 1 << 20, 5)), (None, None));
    assert_eq!(oracle.key(&Ask::CrudRead { id: 1 }), None);
}

#[test]
fn a_user_is_told_by_every_column() {
    let ask = |id| Ask::Me { id, accept_encoding: None };
    for user in USERS {
        let body = json!({
            "id": user.id, "name": user.name, "email": user.email,
            "plan": user.plan,
        });
        right(&ask(user.id), &body);
        for member in ["id", "name", "email", "plan"] {
            let lacking = without(body.clone(), &[member]).to_string();
            refused(&ask(user.id), &lacking, "missing field");
            let again = format!("{{\"{member}\":{},", body[member]);
            let doubled = body.to_string().replacen('{', &again, 1);
            refused(&ask(user.id), &doubled, "duplicate field");
        }
        twin(&ask(user.id), &body, "/id", json!(41), "id");
        twin(&ask(user.id), &body, "/plan", json!("gold"), "plan");
        twin(&ask(user.id), &body, "/plan", Value::Null, "a string");
        twin(&ask(user.id), &body, "/token", json!(""), "unknown field");
        let other = if user.id == 42 { 43 } else { 42 };
        refused(&ask(other), &body.to_string(), "expected");
    }
    refused(&ask(46), "{}", "no such user");
}

#[test]
fn a_changed_byte_is_refused_unless_it_says_the_same() {
    let id = 7;
    let (list, page) = page("auto", 1, 2);
    for (ask, body) in [
        (Ask::CrudRead { id }, item(&row(id))),
        (item_read(id), updated(&row(id), "bench-updated", 9)),
        (list, page),
    ] {
        let text = body.to_string().into_bytes();
        for at in 0..text.len() {
            assert!(judge(&ask, &text[..at]).is_err(), "cut at {at}");
            for byte in *b"\0 01-.e\"{[,}:\xff" {
                let mut changed = text.clone();
                changed[at] = byte;
                if judge(&ask, &changed).is_ok() {
                    let found: Value =
                        serde_json::from_slice(&changed).unwrap();
                    assert_eq!(found, body, "byte {at}");
                }
            }
        }
    }
}

#[test]
fn a_hostile_document_is_refused_and_nothing_else_happens() {
    let escaped = item(&row(7)).to_string().replace("tags", "\\u0074ags");
    assert_eq!(judge(&Ask::CrudRead { id: 7 }, escaped.as_bytes()), Ok(()));
    let text = item(&row(7)).to_string();
    let digits = "9".repeat(100_000);
    let list = format!("{{\"items\":{text},\"count\":1}}");
    for body in [
        "",
        "null",
        "7",
        "[]",
        "{}",
        "[7,\"Edge Link 7\"]",
        &"[".repeat(100_000),
        &"{\"items\":".repeat(100_000),
        &format!("{text} x"),
        &format!("{text}{text}"),
        &format!("\u{feff}{text}"),
        &text.replace("\"id\":7", &format!("\"id\":{digits}")),
        &text.replace("\"id\":7", "\"id\":7e0"),
        &text.replace("\"id\":7", "\"id\":07"),
        &text.replace("\"id\":7", "\"id\":-7"),
        &list,
    ] {
        for ask in [
            Ask::CrudRead { id: 7 },
            item_read(7),
            query(1, 500, 1),
            Ask::CrudList { category: "auto".into(), page: 1, limit: 1 },
            Ask::CrudUpdate { id: 7, price: 1, quantity: 1 },
            Ask::CrudCreate { id: 100_001, price: 1, quantity: 1 },
            Ask::Me { id: 42, accept_encoding: None },
        ] {
            let why = judge(&ask, body.as_bytes()).unwrap_err();
            assert!(why.to_string().len() < 400, "{why}");
        }
    }
}
