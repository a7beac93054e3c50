use std::time::Duration;

use http_body_util::BodyExt as _;

use super::*;

fn auth() -> Auth {
    let verifier = Verifier::new(b"a secret of the tests").unwrap();
    Auth { verifier, counts: Counts::new(1), worker: 0 }
}

fn ask(auth: &Auth, method: &str, target: &str, fields: &[&str]) -> Answer {
    let mut request = Request::builder().method(method).uri(target);
    for value in fields {
        request = request.header("authorization", *value);
    }
    auth.answer(&request.body(()).unwrap())
}

fn body(answer: Answer) -> String {
    let runtime =
        tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = runtime.block_on(answer.into_body().collect()).unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

/// `{"sub":"42","exp":99999999999}`, signed by another program.
const GOOD: &str = include_str!("good_token.txt");

#[test]
fn the_user_is_told_in_a_field_and_nothing_in_the_body() {
    let auth = auth();
    for method in ["GET", "HEAD", "POST"] {
        let answer = ask(&auth, method, "/_auth?x=1", &[GOOD.trim()]);
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["X-User-Id"], "42");
        assert_eq!(body(answer), "");
    }
    let asked = r#"{"asked":3,"accepted":3,"refused":0}"#;
    assert_eq!(body(ask(&auth, "GET", "/_counts", &[])), asked);
}

#[test]
fn without_one_good_token_it_is_401_and_nobody() {
    let auth = auth();
    let good = GOOD.trim();
    for fields in [&[][..], &["Bearer x.y.z"], &[good, good], &[good, ""]] {
        let answer = ask(&auth, "GET", "/_auth", fields);
        assert_eq!(answer.status(), 401, "{fields:?}");
        assert_eq!(answer.headers()["WWW-Authenticate"], "Bearer");
        assert!(!answer.headers().contains_key("X-User-Id"));
        assert_eq!(body(answer), "");
    }
    let asked = r#"{"asked":4,"accepted":0,"refused":4}"#;
    assert_eq!(body(ask(&auth, "GET", "/_counts", &[])), asked);
}

#[test]
fn health_and_counts_need_no_token_and_are_not_counted() {
    let auth = auth();
    assert_eq!(ask(&auth, "GET", "/_health", &[]).status(), 200);
    assert_eq!(ask(&auth, "POST", "/_counts", &[]).status(), 405);
    let answer = ask(&auth, "DELETE", "/_health", &[]);
    assert_eq!(answer.headers()["Allow"], "GET, HEAD");
    let answer = ask(&auth, "GET", "/_counts", &[]);
    assert_eq!(answer.headers()["Content-Type"], "application/json");
    assert_eq!(body(answer), r#"{"asked":0,"accepted":0,"refused":0}"#);
}

#[test]
fn there_is_nothing_else() {
    let auth = auth();
    let good = [GOOD.trim()];
    for target in
        ["/", "/_auth/", "/_auth/x", "/_AUTH", "/_aut", "//_auth", "*"]
    {
        let answer = ask(&auth, "GET", target, &good);
        assert_eq!(answer.status(), 404, "{target}");
        assert!(!answer.headers().contains_key("X-User-Id"));
    }
}

#[test]
fn the_clock_is_in_seconds() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let apart = Duration::from_secs_f64((now() - since.as_secs_f64()).abs());
    assert!(apart < Duration::from_secs(3600));
}
