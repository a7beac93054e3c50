use std::{fs, path::Path};

use salvo::test::{ResponseExt, TestClient};
use tempfile::TempDir;

use super::*;

const ITEM: &str = r#"[{"id":1,"name":"A","category":"c","price":4,
    "quantity":5,"active":true,"tags":["eco"],
    "rating":{"score":1,"count":2}}]"#;

fn app(static_dir: &Path) -> Service {
    let dataset = Dataset::parse(ITEM.as_bytes()).unwrap();
    let dataset = Box::leak(Box::new(dataset));
    Service::new(router(dataset, static_dir, Database::default()))
}

fn nowhere() -> Service {
    app(Path::new("/nowhere"))
}

fn url(target: &str) -> String {
    format!("http://127.0.0.1{target}")
}

/// A static directory with one file, its brotli sibling and a secret beside it.
fn files() -> (TempDir, Service) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("static");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("reset.css"), "plain").unwrap();
    fs::write(dir.join("reset.css.br"), "small").unwrap();
    fs::write(dir.join("bold.woff2"), "font").unwrap();
    fs::write(home.path().join("secret.txt"), "secret").unwrap();
    let app = app(&dir);
    (home, app)
}

async fn get(app: &Service, target: &str) -> (u16, String) {
    let mut answer = TestClient::get(url(target)).send(app).await;
    let status = answer.status_code.map_or(200, |code| code.as_u16());
    (status, answer.take_string().await.unwrap_or_default())
}

#[tokio::test]
async fn sums_take_any_order_and_refuse_what_is_no_integer() {
    let app = nowhere();
    let max = i64::MAX;
    for (target, expected) in [
        ("/baseline11?a=13&b=42", Some("55")),
        ("/baseline11?b=-42&x=y&a=13", Some("-29")),
        ("/baseline11?a=%31%33&b=42", Some("55")),
        ("/baseline11?a=13", None),
        ("/baseline11?a=13&b=", None),
        ("/baseline11?a=13&b=4x", None),
        (&format!("/baseline11?a={max}&b=1"), None),
        (&format!("/baseline11?a={max}0&b=1"), None),
    ] {
        let (status, body) = get(&app, target).await;
        match expected {
            Some(sum) => assert_eq!((status, &*body), (200, sum)),
            None => assert_eq!(status, 400, "{target}"),
        }
    }
}

#[tokio::test]
async fn a_posted_integer_is_added_with_its_whitespace_ignored() {
    let app = nowhere();
    let target = url("/baseline11?a=13&b=42");
    for (body, expected) in
        [(" 20\r\n", Some("75")), ("", None), ("2 0", None), ("x", None)]
    {
        let asked = TestClient::post(&target).text(body);
        let mut answer = asked.send(&app).await;
        match expected {
            Some(sum) => assert_eq!(answer.take_string().await.unwrap(), sum),
            None => assert_eq!(
                answer.status_code,
                Some(StatusCode::BAD_REQUEST),
                "{body:?}"
            ),
        }
    }
}

#[tokio::test]
async fn other_paths_and_odd_counts_are_refused() {
    let app = nowhere();
    for (target, expected) in [
        ("/nothing", 404),
        ("/json/abc", 400),
        ("/json/-1", 400),
        ("/json/1?m=x", 400),
        ("/upload", 405),
        ("/crud/items/abc", 400),
        ("/crud/items/99999999999", 404),
    ] {
        assert_eq!(get(&app, target).await.0, expected, "{target}");
    }
}

#[tokio::test]
async fn an_upload_is_counted_up_to_the_limit() {
    let app = nowhere();
    let body = vec![b'x'; upload::LIMIT_BYTES];
    let asked = TestClient::post(url("/upload")).bytes(body.clone());
    let counted = asked.send(&app).await.take_string().await.unwrap();
    assert_eq!(counted, upload::LIMIT_BYTES.to_string());
    let more = [&body[..], b"x"].concat();
    let answer = TestClient::post(url("/upload")).bytes(more).send(&app).await;
    assert_eq!(answer.status_code, Some(StatusCode::PAYLOAD_TOO_LARGE));
}

#[tokio::test]
async fn json_is_compressed_only_for_those_who_ask() {
    let app = nowhere();
    for (accepted, expected) in [
        ("gzip;q=1, br;q=0.2", Some("gzip")),
        ("br", Some("br")),
        ("gzip;q=0", None),
        ("identity", None),
    ] {
        let asked = TestClient::get(url("/json/1?m=3"));
        let asked = asked.add_header("accept-encoding", accepted, true);
        let answer = asked.send(&app).await;
        let coding = answer.headers().get("content-encoding");
        let coding = coding.map(|value| value.to_str().unwrap());
        assert_eq!(coding, expected, "{accepted:?}");
    }
}

#[tokio::test]
async fn a_file_is_read_afresh_and_nothing_outside_is_served() {
    let (home, app) = files();
    assert_eq!(get(&app, "/static/bold.woff2").await.1, "font");
    fs::write(home.path().join("static/bold.woff2"), "other").unwrap();
    assert_eq!(get(&app, "/static/bold.woff2").await.1, "other");
    for target in [
        "/static/../secret.txt",
        "/static/%2e%2e/secret.txt",
        "/static/..%2fsecret.txt",
        "/static//etc/passwd",
        "/static/",
    ] {
        let (status, body) = get(&app, target).await;
        assert!((400..500).contains(&status), "{target}: {status}");
        assert!(!body.contains("secret"), "{target}");
    }
}

#[tokio::test]
async fn without_a_database_searches_find_nothing_and_items_are_unavailable() {
    let app = nowhere();
    let nothing = r#"{"items":[],"count":0}"#;
    let (status, body) = get(&app, "/async-db?min=1&max=5&limit=99999").await;
    assert_eq!((status, &*body), (200, nothing));
    assert_eq!(get(&app, "/async-db?min=1%20OR%201=1").await.0, 400);
    for target in ["/crud/items", "/crud/items/7"] {
        assert_eq!(get(&app, target).await.0, 503, "{target}");
    }
}
