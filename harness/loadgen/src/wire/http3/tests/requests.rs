//! Requests, read back.

use super::super::qpack::{Scratch, decode};
use super::*;
use profiles::ask::Ask;
use profiles::profile::{Framing, Profile};
use profiles::spec::Token;

const PROFILE: &str =
    include_str!("../../../../../../profiles/defs/baseline-h3.toml");

fn profile(bearer: bool) -> Profile {
    let mut profile =
        Profile::parse("test".parse().unwrap(), "test.toml", PROFILE).unwrap();
    profile.classes[0].bearer = bearer;
    profile
}

/// Its fields and what follows them.
fn written(bearer: bool, ask: &Ask) -> (Vec<String>, Vec<u8>, bool) {
    let token = Token { user: 7, token: "t".repeat(200) };
    let mut requests = Requests::new(&profile(bearer), &[token]);
    let mut out = Vec::new();
    let upload = requests.write(0, ask, &mut out).is_some();
    let mut input = &out[..];
    let (kind, len) = frame::FrameHead::default().take(&mut input).unwrap();
    assert_eq!(kind, 1);
    let (block, rest) = input.split_at(len as usize);
    let mut fields = Vec::new();
    decode(block, &mut Scratch::default(), |name, value| {
        let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
        fields.push(format!("{}: {}", text(name), text(value)));
        Ok(())
    })
    .unwrap();
    (fields, rest.to_vec(), upload)
}

const FIRST: [&str; 2] = [":scheme: https", ":authority: 127.0.0.1:8443"];

#[test]
fn a_request_says_what_the_contract_says_and_nothing_else() {
    let sum = |body| Ask::Sum { path: "/p".into(), a: 1, b: -2, body };
    let (fields, body, _) = written(false, &sum(None));
    let rest = [":method: GET", ":path: /p?a=1&b=-2"];
    assert_eq!(fields, [FIRST, rest].concat());
    assert!(body.is_empty());
    let body = Some((20, Framing::Chunked));
    let (fields, body, _) = written(false, &sum(body));
    assert_eq!(fields[2], ":method: POST");
    assert_eq!(fields[4..], ["content-length: 2"]);
    assert_eq!(body, frame(0, b"20"));
    let update = Ask::CrudUpdate { id: 7, price: 200, quantity: 25 };
    let (fields, body, _) = written(false, &update);
    assert_eq!(fields[2], ":method: PUT");
    let json = ["content-type: application/json", "content-length: 70"];
    assert_eq!(fields[4..], json);
    assert_eq!(body.len(), 70 + 3);
}

#[test]
fn codings_tokens_and_uploads_are_written() {
    let accept_encoding = Some("br;q=1, gzip;q=0.8".into());
    let me = Ask::Me { id: 7, accept_encoding };
    let (fields, ..) = written(true, &me);
    assert_eq!(fields[4], "accept-encoding: br;q=1, gzip;q=0.8");
    assert_eq!(fields[5], format!("authorization: Bearer {}", "t".repeat(200)));
    let framing = Framing::Length;
    let upload = Ask::Upload { offset: 5, len: 100_000, framing };
    let (fields, head, upload) = written(false, &upload);
    assert_eq!(fields[4], "content-length: 100000");
    assert_eq!((head, upload), (vec![0, 0x80, 1, 0x86, 0xa0], true));
}
