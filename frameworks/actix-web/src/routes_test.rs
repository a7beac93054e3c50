use std::fs;

use actix_http::Request;
use actix_web::{
    App,
    body::MessageBody,
    dev::{Service, ServiceResponse},
    error::Error,
    http::{Method, StatusCode},
    test::{TestRequest, init_service, read_body},
};
use tempfile::TempDir;

use super::*;

const ITEM: &str = r#"[{"id":1,"name":"A","category":"c","price":4,
    "quantity":5,"active":true,"tags":["eco"],
    "rating":{"score":1,"count":2}}]"#;

/// The entry over a directory that may be empty; a macro, since the type of
/// actix's test service cannot be named.
macro_rules! app {
    ($static_dir:expr) => {{
        let dataset = Dataset::parse(ITEM.as_bytes()).unwrap();
        let dataset: &'static Dataset = Box::leak(Box::new(dataset));
        let dir = std::path::PathBuf::from($static_dir);
        init_service(App::new().configure(move |c| {
            Parts::new(dataset, &dir, None, None).configure(c)
        }))
        .await
    }};
}

/// A static directory with one file, its brotli sibling and a secret beside it.
fn files() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("static");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("reset.css"), "plain").unwrap();
    fs::write(dir.join("reset.css.br"), "small").unwrap();
    fs::write(dir.join("bold.woff2"), "font").unwrap();
    fs::write(home.path().join("secret.txt"), "secret").unwrap();
    home
}

async fn ask<S, B>(
    app: &S,
    method: Method,
    target: &str,
    body: &str,
) -> (StatusCode, String)
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    let request = TestRequest::default().method(method).uri(target);
    text(app.call(request.set_payload(body.to_owned()).to_request()).await)
        .await
}

async fn get_accepting<S, B>(
    app: &S,
    target: &str,
    accepted: &str,
) -> ServiceResponse<B>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    let mut request = TestRequest::get().uri(target);
    if !accepted.is_empty() {
        request = request.insert_header(("accept-encoding", accepted));
    }
    app.call(request.to_request()).await.unwrap()
}

async fn text<B: MessageBody>(
    response: Result<ServiceResponse<B>, Error>,
) -> (StatusCode, String) {
    match response {
        Ok(response) => {
            let status = response.status();
            let body = read_body(response).await;
            (status, String::from_utf8_lossy(&body).into_owned())
        }
        Err(error) => {
            (error.as_response_error().status_code(), error.to_string())
        }
    }
}

fn header<'a, B>(response: &'a ServiceResponse<B>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |v| v.to_str().unwrap())
}

#[actix_web::test]
async fn sums_take_any_order_and_refuse_what_is_no_integer() {
    let app = app!("/nowhere");
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

#[actix_web::test]
async fn a_posted_integer_is_added_with_its_whitespace_ignored() {
    let app = app!("/nowhere");
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

#[actix_web::test]
async fn other_methods_and_paths_are_refused() {
    let app = app!("/nowhere");
    for (method, target, expected) in [
        (Method::HEAD, "/baseline11?a=1&b=1", 200),
        (Method::HEAD, "/json/1", 200),
        (Method::PUT, "/baseline11?a=1&b=1", 405),
        (Method::POST, "/pipeline", 405),
        (Method::GET, "/upload", 405),
        (Method::POST, "/static/reset.css", 405),
        (Method::GET, "/nothing", 404),
        (Method::GET, "/json/abc", 404),
        (Method::GET, "/json/-1", 404),
        (Method::GET, "/json/1?m=x", 400),
    ] {
        let (status, _) = ask(&app, method.clone(), target, "").await;
        assert_eq!(status.as_u16(), expected, "{method} {target}");
    }
}

#[actix_web::test]
async fn an_upload_is_counted_up_to_the_limit() {
    let app = app!("/nowhere");
    let body = "x".repeat(upload::LIMIT_BYTES);
    let (_, counted) = ask(&app, Method::POST, "/upload", &body).await;
    assert_eq!(counted, upload::LIMIT_BYTES.to_string());
    let (status, _) = ask(&app, Method::POST, "/upload", &(body + "x")).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[actix_web::test]
async fn json_is_compressed_only_for_those_who_ask() {
    let app = app!("/nowhere");
    for (accepted, expected) in [
        ("gzip", "gzip"),
        ("br;q=1, gzip;q=0.8", "br"),
        ("gzip;q=1, br;q=0.2", "gzip"),
        ("gzip;q=0", ""),
        ("identity", ""),
        ("", ""),
    ] {
        let response = get_accepting(&app, "/json/1?m=3", accepted).await;
        assert_eq!(header(&response, "content-encoding"), expected);
        assert_eq!(header(&response, "vary"), "accept-encoding");
        assert_eq!(header(&response, "content-type"), "application/json");
    }
}

#[actix_web::test]
async fn a_file_is_served_as_its_sibling_only_where_that_is_accepted() {
    let home = files();
    let app = app!(home.path().join("static"));
    for (accepted, expected) in
        [("br;q=1, gzip;q=0.8", "small"), ("br;q=0", "plain"), ("", "plain")]
    {
        let response = get_accepting(&app, "/static/reset.css", accepted).await;
        assert!(header(&response, "content-type").starts_with("text/css"));
        assert_eq!(header(&response, "vary"), "accept-encoding");
        assert_eq!(read_body(response).await, expected, "{accepted:?}");
    }
    let font = get_accepting(&app, "/static/bold.woff2", "br").await;
    assert_eq!(header(&font, "content-type"), "font/woff2");
    assert_eq!(header(&font, "content-encoding"), "");
}

#[actix_web::test]
async fn a_file_changed_on_disk_is_seen_at_once() {
    let home = files();
    let app = app!(home.path().join("static"));
    let target = "/static/bold.woff2";
    assert_eq!(ask(&app, Method::GET, target, "").await.1, "font");
    fs::write(home.path().join("static/bold.woff2"), "other").unwrap();
    assert_eq!(ask(&app, Method::GET, target, "").await.1, "other");
}

#[actix_web::test]
async fn nothing_outside_the_static_directory_is_served() {
    let home = files();
    let app = app!(home.path().join("static"));
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
