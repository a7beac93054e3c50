//! The oracle against hand-made replies.

use std::io::Write;

use super::*;
use crate::profile::Framing;

fn oracle() -> Oracle {
    Oracle::new(Dataset::generate(), |name| {
        (name == "reset.css").then(|| b"body{margin:0}".to_vec())
    })
}

fn reply<'a>(
    kind: &'a str,
    coding: Option<&'a str>,
    body: &'a [u8],
) -> Reply<'a> {
    Reply {
        status: 200,
        content_type: Some(kind),
        content_encoding: coding,
        body,
    }
}

fn json(count: u32, m: i64) -> String {
    let items: Vec<String> = oracle().dataset().0[..count as usize]
        .iter()
        .map(|i| {
            let mut text = serde_json::to_string(i).unwrap();
            text.pop();
            let total = i64::from(i.price) * i64::from(i.quantity) * m;
            format!("{text},\"total\":{total}}}")
        })
        .collect();
    format!("{{\"items\":[{}],\"count\":{count}}}", items.join(","))
}

fn ask_json(count: u32, m: i64, accept: Option<&str>) -> Ask {
    Ask::Json {
        path: "/json/".into(),
        count,
        multiplier: Some(m),
        accept_encoding: accept.map(Into::into),
        must_encode: accept.is_some(),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out =
        flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[track_caller]
fn wrong(ask: &Ask, reply: &Reply<'_>, word: &str, part: &str) {
    let why = oracle().judge(ask, reply).unwrap_err();
    assert_eq!(why.word(), word, "{why}");
    assert!(why.to_string().contains(part), "{why}");
}

#[test]
fn a_sum_is_the_whole_body_and_nothing_else() {
    let ask = Ask::Sum {
        path: "/baseline11".into(),
        a: i64::from(i32::MAX),
        b: -7,
        body: Some((20, Framing::Length)),
    };
    let right = reply("text/plain; charset=utf-8", None, b"2147483660");
    oracle().judge(&ask, &right).unwrap();
    wrong(&ask, &reply("text/plain", None, b"2147483660\n"), "body", "found");
    wrong(
        &ask,
        &reply("text/html", None, b"2147483660"),
        "content-type",
        "html",
    );
    let failed = Reply { status: 500, ..right };
    wrong(&ask, &failed, "status", "expected 200, found 500");
}

#[test]
fn a_document_is_compared_whole() {
    let ask = ask_json(3, 5, None);
    let text = json(3, 5);
    let kind = "application/json";
    oracle().judge(&ask, &reply(kind, None, text.as_bytes())).unwrap();
    // White space and member order are free.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    oracle().judge(&ask, &reply(kind, None, pretty.as_bytes())).unwrap();
    let cases = [
        (json(3, 4), "item 1: total"),
        (json(2, 5), "expected 3 items, found 2"),
        (text.replace("\"count\":3}", "\"count\":2}"), "expected count 3"),
        (text.replace("Alpha", "Alpba"), "item 1: name"),
        (text.replace("\"price\":", "\"prize\":"), "unknown field"),
        (text.replace("\"id\":1,", "\"id\":1,\"id\":1,"), "duplicate field"),
        (text.replace("\"price\":328", "\"price\":328.0"), "whole number"),
        (text.replace("\"active\":true", "\"active\":1"), "boolean"),
        (text.clone() + "x", "trailing"),
    ];
    for (body, part) in cases {
        wrong(&ask, &reply(kind, None, body.as_bytes()), "body", part);
    }
}

#[test]
fn codings_must_be_allowed_used_single_and_whole() {
    let kind = "application/json";
    let (text, both) = (json(25, 3), Some("gzip, br"));
    let packed = gzip(text.as_bytes());
    let ask = ask_json(25, 3, both);
    oracle().judge(&ask, &reply(kind, Some("gzip"), &packed)).unwrap();
    let plain = reply(kind, None, text.as_bytes());
    wrong(&ask, &plain, "encoding", "none was used");
    let bare = ask_json(25, 3, None);
    wrong(&bare, &reply(kind, Some("gzip"), &packed), "encoding", "was sent");
    let refused = ask_json(25, 3, Some("gzip;q=0, br"));
    wrong(
        &refused,
        &reply(kind, Some("gzip"), &packed),
        "encoding",
        "was sent",
    );
    let twice = gzip(&packed);
    wrong(&ask, &reply(kind, Some("gzip"), &twice), "body", "not the document");
    let cut = &packed[..packed.len() - 9];
    wrong(&ask, &reply(kind, Some("gzip"), cut), "encoding", "broken");
    wrong(&ask, &reply(kind, Some("zstd"), &packed), "encoding", "zstd");
}

#[test]
fn a_static_file_is_its_exact_bytes() {
    let ask = Ask::Static { file: 0, accept_encoding: None };
    let right = reply("text/css", None, b"body{margin:0}");
    oracle().judge(&ask, &right).unwrap();
    wrong(&ask, &reply("text/css", None, b"body{margin:1}"), "body", "`");
    wrong(&ask, &reply("text/css", None, b""), "body", "found ``");
    let bomb = gzip(&vec![0; 1 << 22]);
    let asks = Ask::Static { file: 0, accept_encoding: Some("gzip".into()) };
    wrong(&asks, &reply("text/css", Some("gzip"), &bomb), "body", "found");
}

#[test]
fn keys_are_equal_exactly_when_answers_are() {
    let o = oracle();
    assert_eq!(
        o.key(&ask_json(3, 5, None)),
        o.key(&ask_json(3, 5, Some("gzip")))
    );
    assert_ne!(o.key(&ask_json(3, 5, None)), o.key(&ask_json(5, 3, None)));
    assert_eq!(o.key(&ask_json(3, -1, None)), None);
    assert_eq!(o.key(&Ask::Pipeline), None);
}
