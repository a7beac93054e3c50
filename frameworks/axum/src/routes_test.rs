use std::{fs, path::Path};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, Response, StatusCode},
};
use tempfile::TempDir;
use tower::ServiceExt;

use super::*;

const ITEM: &str = r#"[{"id":1,"name":"A","category":"c","price":4,
    "quantity":5,"active":true,"tags":["eco"],
    "rating":{"score":1,"count":2}}]"#;

fn app(static_dir: &Path) -> Router {
    let dataset = Dataset::parse(ITEM.as_bytes()).unwrap();
    router(Box::leak(Box::new(dataset)), static_dir, Database::default(), None)
}

/// A static directory with one file, its brotli sibling and a secret beside it.
fn files() -> (TempDir, Router) {
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

async fn send(app: &Router, request: Request<Body>) -> Response<Body> {
    app.clone().oneshot(request).await.unwrap()
}

async fn ask(
    app: &Router,
    method: Method,
    target: &str,
    body: &str,
) -> (StatusCode, String) {
    let request = Request::builder()
        .method(method)
        .uri(target)
        .body(Body::from(body.to_owned()))
        .unwrap();
    text(send(app, request).await).await
}

async fn ask_with_json(
    app: &Router,
    method: Method,
    target: &str,
    body: &'static str,
) -> StatusCode {
    let request = Request::builder()
        .method(method)
        .uri(target)
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap();
    send(app, request).await.status()
}

async fn get_accepting(
    app: &Router,
    target: &str,
    accepted: &str,
) -> Response<Body> {
    let request = Request::builder()
        .uri(target)
        .header("accept-encoding", accepted)
        .body(Body::empty())
        .unwrap();
    send(app, request).await
}

async fn text(response: Response<Body>) -> (StatusCode, String) {
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

fn encoding(response: &Response<Body>) -> Option<&str> {
    response.headers().get("content-encoding").map(|v| v.to_str().unwrap())
}

#[tokio::test]
async fn sums_take_any_order_and_refuse_what_is_no_integer() {
    let app = app(Path::new("/nowhere"));
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
        let (status, body) = ask(&app, Method::GET, target, "").await;
        match expected {
            Some(sum) => assert_eq!((status, &*body), (StatusCode::OK, sum)),
            None => assert_eq!(status, StatusCode::BAD_REQUEST, "{target}"),
        }
    }
}

#[tokio::test]
async fn a_posted_integer_is_added_with_its_whitespace_ignored() {
    let app = app(Path::new("/nowhere"));
    let target = "/baseline11?a=13&b=42";
    let (_, body) = ask(&app, Method::POST, target, " 20\r\n").await;
    assert_eq!(body, "75");
    let overflow = format!("/baseline11?a={}&b=1", i64::MAX);
    let (_, body) = ask(&app, Method::POST, &overflow, "-1").await;
    assert_eq!(body, i64::MAX.to_string());
    for body in ["", "2 0", "twenty"] {
        let (status, _) = ask(&app, Method::POST, target, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body:?}");
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let app = app(Path::new("/nowhere"));
    for (method, target, expected) in [
        (Method::PUT, "/baseline11?a=1&b=1", 405),
        (Method::POST, "/pipeline", 405),
        (Method::GET, "/upload", 405),
        (Method::POST, "/static/reset.css", 405),
        (Method::GET, "/nothing", 404),
        (Method::GET, "/json/abc", 400),
        (Method::GET, "/json/-1", 400),
        (Method::GET, "/json/1?m=x", 400),
    ] {
        let (status, _) = ask(&app, method.clone(), target, "").await;
        assert_eq!(status.as_u16(), expected, "{method} {target}");
    }
}

#[tokio::test]
async fn an_upload_is_counted_up_to_the_limit() {
    let app = app(Path::new("/nowhere"));
    let body = "x".repeat(upload::LIMIT_BYTES);
    let (_, counted) = ask(&app, Method::POST, "/upload", &body).await;
    assert_eq!(counted, upload::LIMIT_BYTES.to_string());
    let (status, _) = ask(&app, Method::POST, "/upload", &(body + "x")).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn json_is_compressed_only_for_those_who_ask() {
    let app = app(Path::new("/nowhere"));
    for (accepted, expected) in [
        ("gzip, br", Some("br")),
        ("gzip;q=1, br;q=0.2", Some("gzip")),
        ("gzip;q=0", None),
        ("identity", None),
        ("", None),
    ] {
        let response = get_accepting(&app, "/json/1?m=3", accepted).await;
        assert_eq!(encoding(&response), expected, "{accepted:?}");
        assert_eq!(response.headers()["vary"], "accept-encoding");
        assert_eq!(response.headers()["content-type"], "application/json");
    }
}

#[tokio::test]
async fn a_file_is_served_as_its_sibling_only_where_that_is_accepted() {
    let (_home, app) = files();
    for (accepted, expected) in
        [("br;q=1, gzip;q=0.8", "small"), ("br;q=0", "plain"), ("", "plain")]
    {
        let response = get_accepting(&app, "/static/reset.css", accepted).await;
        assert_eq!(response.headers()["content-type"], "text/css");
        assert_eq!(response.headers()["vary"], "accept-encoding");
        assert_eq!(text(response).await.1, expected, "{accepted:?}");
    }
    let font = get_accepting(&app, "/static/bold.woff2", "br").await;
    assert_eq!(font.headers()["content-type"], "font/woff2");
    assert_eq!(encoding(&font), None);
}

#[tokio::test]
async fn a_file_changed_on_disk_is_seen_at_once() {
    let (home, app) = files();
    let target = "/static/bold.woff2";
    assert_eq!(ask(&app, Method::GET, target, "").await.1, "font");
    fs::write(home.path().join("static/bold.woff2"), "other").unwrap();
    assert_eq!(ask(&app, Method::GET, target, "").await.1, "other");
}

#[tokio::test]
async fn nothing_outside_the_static_directory_is_served() {
    let (_home, app) = files();
    for target in [
        "/static/../secret.txt",
        "/static/%2e%2e/secret.txt",
        "/static/..%2fsecret.txt",
        "/static//etc/passwd",
        "/static/",
        "/static/nonexistent.txt",
    ] {
        let (status, _) = ask(&app, Method::GET, target, "").await;
        assert!(status.is_client_error(), "{target}: {status}");
    }
}

#[tokio::test]
async fn without_a_database_a_search_finds_nothing() {
    let app = app(Path::new("/nowhere"));
    for target in ["/async-db", "/async-db?min=1&max=5&limit=99999999999"] {
        let (status, body) = ask(&app, Method::GET, target, "").await;
        let nothing = r#"{"items":[],"count":0}"#;
        assert_eq!((status, &*body), (StatusCode::OK, nothing), "{target}");
    }
    let target = "/async-db?min=1%20OR%201=1";
    let (status, _) = ask(&app, Method::GET, target, "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn without_a_database_items_are_unavailable() {
    let app = app(Path::new("/nowhere"));
    let item = r#"{"id":1,"name":"A","category":"c","price":4,"quantity":5}"#;
    for (method, target) in [
        (Method::GET, "/crud/items"),
        (Method::GET, "/crud/items/007"),
        (Method::POST, "/crud/items"),
        (Method::PUT, "/crud/items/7"),
        (Method::GET, "/api/items/7"),
        (Method::POST, "/api/items/7"),
    ] {
        let status = ask_with_json(&app, method.clone(), target, item).await;
        assert_eq!(status.as_u16(), 503, "{method} {target}");
    }
}

#[tokio::test]
async fn an_item_or_a_body_that_cannot_be_is_refused_unasked() {
    let app = app(Path::new("/nowhere"));
    let change = r#"{"name":"A","price":4,"quantity":5}"#;
    for (method, target, body, expected) in [
        (Method::GET, "/crud/items/abc", "", 400),
        (Method::GET, "/crud/items/99999999999", "", 404),
        (Method::GET, "/api/items/99999999999", "", 404),
        (Method::PUT, "/crud/items/99999999999", change, 404),
        (Method::PUT, "/crud/items/7", "{\"price\":", 400),
        (Method::POST, "/crud/items", "{\"price\":", 400),
        (Method::POST, "/crud/items", change, 422),
        (Method::POST, "/api/items/7", "{\"price\":", 400),
    ] {
        let status = ask_with_json(&app, method.clone(), target, body).await;
        assert_eq!(status.as_u16(), expected, "{method} {target}");
    }
}

#[tokio::test]
async fn who_is_asking_is_what_the_edge_says() {
    let app = app(Path::new("/nowhere"));
    for (user, expected) in
        [(None, 401), (Some("forty-two"), 401), (Some("42"), 503)]
    {
        let mut request = Request::builder().uri("/api/me");
        if let Some(user) = user {
            request = request.header("x-user-id", user);
        }
        let request = request.body(Body::empty()).unwrap();
        let status = send(&app, request).await.status();
        assert_eq!(status.as_u16(), expected, "{user:?}");
    }
}
