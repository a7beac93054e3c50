use super::*;

const SECRET: &[u8] = b"a secret of the tests";
const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
const NOW: f64 = 1_800_000_000.0;
const GOOD: &str = r#"{"sub":"42","name":"Ada Brook","exp":1900000000}"#;

/// Signed in its own words, so that the check is not held against itself.
fn sign(secret: &[u8], header: &str, payload: &str) -> String {
    use sha2::Digest as _;
    assert!(secret.len() <= 64, "a longer key is hashed first");
    let (header, payload) =
        (URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let signed = format!("{header}.{payload}");
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(secret).for_each(|(b, k)| *b ^= k);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(&signed);
    let outer = Sha256::new().chain_update(pad(0x5c));
    let mac = outer.chain_update(inner.finalize()).finalize();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
}

fn user_of(value: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let verifier = Verifier::new(SECRET).unwrap();
    let user = verifier.user(value.as_ref(), NOW)?;
    Some(user.as_bytes().to_vec())
}

/// Whom a token with this payload, rightly signed, lets in.
fn says(payload: &str) -> Option<String> {
    let user = user_of(format!("Bearer {}", sign(SECRET, HS256, payload)))?;
    Some(String::from_utf8(user).unwrap())
}

fn good() -> String {
    sign(SECRET, HS256, GOOD)
}

#[track_caller]
fn nobody(value: impl AsRef<[u8]>) {
    let value = value.as_ref();
    let text = String::from_utf8_lossy(value);
    assert_eq!(user_of(value), None, "{text}");
}

#[test]
fn a_good_token_lets_its_user_in() {
    assert_eq!(user_of(format!("Bearer {}", good())).unwrap(), b"42");
    // The scheme's name has any case, and spaces follow it.
    assert_eq!(user_of(format!("bearer   {}", good())).unwrap(), b"42");
    assert_eq!(user_of(format!("BEARER {} ", good())).unwrap(), b"42");
}

#[test]
fn the_example_of_rfc_7515_is_good_for_its_key_but_has_no_user() {
    let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75\
               aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let verifier = Verifier::new(&URL_SAFE_NO_PAD.decode(key).unwrap());
    let signed = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9\
                  .eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9le\
                  GFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let mac = b"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let verifier = verifier.unwrap();
    assert!(verifier.signed_by_us(signed.as_bytes(), mac).is_some());
    let token = [b"Bearer ", signed.as_bytes(), b".", mac].concat();
    assert!(verifier.user(&token, 0.0).is_none());
}

#[test]
fn no_other_scheme_and_no_other_form_lets_anybody_in() {
    let good = good();
    for value in ["", "Bearer", "Bearer ", "Bearer .", "Bearer ..", "B", "é"] {
        nobody(value);
    }
    nobody(&good);
    nobody(format!("Basic {good}"));
    nobody(format!("Bearer{good}"));
    nobody(format!("Bearer\t{good}"));
    nobody(format!("Bearerx {good}"));
    nobody(format!("Bearer {good}."));
    nobody(format!("Bearer .{good}"));
    nobody(format!("Bearer {good},{good}"));
    nobody(format!("Bearer {good} {good}"));
    nobody("Bearer invalid.token.here");
    nobody(b"Bearer \xff\x00.\x80.\xfe");
    nobody(b"\xf0\x9f\x92\xa9\xf0\x9f\x92\xa9\xf0");
}

#[test]
fn every_cut_and_every_changed_letter_is_refused() {
    let good = good();
    for cut in 0..good.len() {
        nobody(format!("Bearer {}", &good[..cut]));
        nobody(format!("Bearer {}", &good[cut + 1..]));
        let mut changed = good.clone().into_bytes();
        for letter in [b'A', b'_', b'.', b'=', b'+', 0, 0xff] {
            if changed[cut] != letter {
                let kept = std::mem::replace(&mut changed[cut], letter);
                nobody([b"Bearer ", &changed[..]].concat());
                changed[cut] = kept;
            }
        }
    }
}

/// The last letter of a signature has two bits that mean nothing: only the
/// spelling in which they are 0 is right (RFC 4648, 3.5), and no padding.
#[test]
fn a_signature_has_one_spelling() {
    let good = good();
    let (rest, last) = good.split_at(good.len() - 1);
    let letters: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain("-_".chars())
        .collect();
    let right: Vec<&char> = letters
        .iter()
        .filter(|l| user_of(format!("Bearer {rest}{l}")).is_some())
        .collect();
    assert_eq!(right, [&last.chars().next().unwrap()]);
    nobody(format!("Bearer {good}="));
    // Of the payload, too: here it is signed as it was spelt.
    let mac = |signed: &str| {
        let mut mac = Verifier::new(SECRET).unwrap().keyed;
        mac.update(signed.as_bytes());
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    };
    let header = URL_SAFE_NO_PAD.encode(HS256);
    for payload in [URL_SAFE_NO_PAD.encode(GOOD) + "==", "%%%%".into()] {
        let signed = format!("{header}.{payload}");
        nobody(format!("Bearer {signed}.{}", mac(&signed)));
    }
}

#[test]
fn another_secret_signs_nothing() {
    for secret in
        [&b"a secret of the testz"[..], b"", b"a secret of the tests "]
    {
        nobody(format!("Bearer {}", sign(secret, HS256, GOOD)));
    }
}

#[test]
fn only_hs256_counts_whatever_the_header_says() {
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":null}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"typ":"JWT"}"#,
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","crit":["exp"],"exp":1}"#,
        r#"{"alg":"HS256""#,
        r#"{"alg":"HS256"} x"#,
        r#""HS256""#,
        "[]",
        "",
    ] {
        nobody(format!("Bearer {}", sign(SECRET, header, GOOD)));
    }
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let payload = URL_SAFE_NO_PAD.encode(GOOD);
    nobody(format!("Bearer {none}.{payload}."));
    // More in the header than is needed, and its own spelling of it.
    let header =
        r#" {"kid":{"a":[1]},"typ":"x","\u0061lg":"HS\u00325\u0036"} "#;
    let token = sign(SECRET, header, GOOD);
    assert!(user_of(format!("Bearer {token}")).is_some());
}

#[test]
fn a_token_ends_at_its_exp_and_must_have_one() {
    assert!(says(r#"{"sub":"1","exp":1800000001}"#).is_some());
    assert!(says(r#"{"sub":"1","exp":1800000000.5}"#).is_some());
    assert!(says(r#"{"sub":"1","exp":1.9e9}"#).is_some());
    assert!(says(r#"{"sub":"1","exp":1e300}"#).is_some());
    for exp in [
        "1800000000",
        "1799999999.5",
        "0",
        "-1",
        "null",
        "true",
        "[]",
        "\"1900000000\"",
        "1e999",
        "-1e400",
        "NaN",
        "Infinity",
    ] {
        assert_eq!(
            says(&format!(r#"{{"sub":"1","exp":{exp}}}"#)),
            None,
            "{exp}"
        );
    }
    assert_eq!(says(r#"{"sub":"1"}"#), None);
    assert_eq!(says(r#"{"sub":"1","exp":1900000000,"exp":1}"#), None);
    let clock = Verifier::new(SECRET).unwrap();
    let value = format!("Bearer {}", good());
    assert!(clock.user(value.as_bytes(), f64::INFINITY).is_none());
}

#[test]
fn a_token_is_not_good_before_its_nbf() {
    let with = |nbf: &str| {
        says(&format!(r#"{{"sub":"1","exp":1900000000,"nbf":{nbf}}}"#))
    };
    assert!(with("1800000000").is_some());
    assert!(with("1800000001").is_none());
    assert!(with("\"x\"").is_none());
}

fn sub(sub: &str) -> Option<String> {
    says(&format!(r#"{{"exp":1900000000,"sub":{sub}}}"#))
}

#[test]
fn a_user_is_a_string_or_a_whole_number() {
    let right = [
        (r#""42""#, "42"),
        ("42", "42"),
        ("-7", "-7"),
        ("0", "0"),
        ("18446744073709551615", "18446744073709551615"),
        (r#""a b""#, "a b"),
        (r#""042""#, "042"),
        (r#""\u0034\u0032""#, "42"),
        (r#""{\"sub\":\"1\"}""#, r#"{"sub":"1"}"#),
        (r#""Zoë 🦀 文""#, "Zoë 🦀 文"),
        (r#""\ud83e\udd80""#, "🦀"),
    ];
    for (sent, user) in right {
        assert_eq!(sub(sent).as_deref(), Some(user), "{sent}");
    }
    for sent in [
        "\"\"",
        "null",
        "true",
        "[42]",
        "{}",
        "42.5",
        "42.0",
        "4e1",
        "01",
        "-0.0",
        "184467440737095516160",
        r#"" 42""#,
        r#""42 ""#,
        r#""4\n2""#,
        r#""4\r\nX-User-Id: 1""#,
        r#""4\u00002""#,
        r#""4\u007f2""#,
        r#""4\t2""#,
        r#""4\u00852""#,
        r#""\u00a042""#,
        r#""\ud83e""#,
        r#""4"#,
    ] {
        assert_eq!(sub(sent), None, "{sent}");
    }
    assert_eq!(says(r#"{"exp":1900000000}"#), None);
    assert_eq!(says(r#"{"sub":"1","exp":1900000000,"sub":"2"}"#), None);
    // Not by its place in the text.
    let deep =
        r#"{"name":"\"sub\":\"1\"","x":{"sub":"2"},"sub":"3","exp":2e9}"#;
    assert_eq!(says(deep).as_deref(), Some("3"));
}

#[test]
fn what_is_rightly_signed_and_no_object_is_refused() {
    let deep =
        format!(r#"{{"x":{},"sub":"1","exp":2e9}}"#, "[".repeat(100_000));
    for payload in ["", "[]", "42", "null", "\"42\"", "{", &deep] {
        assert_eq!(says(payload), None);
    }
    let text = b"{\"sub\":\"\xff\",\"exp\":2e9}";
    let payload = URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{payload}", URL_SAFE_NO_PAD.encode(HS256));
    let mut mac = Verifier::new(SECRET).unwrap().keyed;
    mac.update(signed.as_bytes());
    let mac = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
    nobody(format!("Bearer {signed}.{mac}"));
}

#[test]
fn huge_tokens_are_judged_like_others() {
    let long = "x".repeat(1 << 20);
    let payload = format!(r#"{{"sub":"42","exp":1900000000,"x":"{long}"}}"#);
    assert_eq!(says(&payload).as_deref(), Some("42"));
    assert_eq!(sub(&format!("\"{long}\"")), Some(long.clone()));
    nobody(format!("Bearer {long}"));
    nobody(format!("Bearer {long}.{long}.{long}"));
    nobody(format!("Bearer {}", ".".repeat(1 << 20)));
}
