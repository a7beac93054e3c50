use std::fs;

use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, header::ACCEPT_ENCODING};

use super::*;

const ITEM: &str = r#"[{"id":1,"name":"A","category":"c","price":4,
    "quantity":5,"active":true,"tags":["eco"],
    "rating":{"score":1,"count":2}}]"#;

/// A site with one file, its brotli sibling and a secret beside its directory.
fn site() -> Site {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("static");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("reset.css"), "plain").unwrap();
    fs::write(dir.join("reset.css.br"), "small").unwrap();
    fs::write(home.path().join("secret.txt"), "secret").unwrap();
    Site {
        dataset: Dataset::parse(ITEM.as_bytes()).unwrap(),
        assets: Assets::load(&dir).unwrap(),
    }
}

async fn send(site: &Site, request: Request<Full<Bytes>>) -> Got {
    let reply = answer(site, request).await;
    let (head, body) = reply.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Got { status: head.status.as_u16(), headers: head.headers, body }
}

struct Got {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

async fn ask(site: &Site, method: Method, target: &str, body: &str) -> Got {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let request = Request::builder().method(method).uri(target);
    send(site, request.body(body).unwrap()).await
}

async fn get_accepting(site: &Site, target: &str, accepted: &str) -> Got {
    let request = Request::builder().uri(target);
    let request = request.header(ACCEPT_ENCODING, accepted);
    send(site, request.body(Full::default()).unwrap()).await
}

#[tokio::test]
async fn sums_take_any_order_and_refuse_what_is_no_integer() {
    let site = site();
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
        let got = ask(&site, Method::GET, target, "").await;
        match expected {
            Some(sum) => assert_eq!((got.status, &*got.body), (200, sum)),
            None => assert_eq!(got.status, 400, "{target}"),
        }
    }
}

#[tokio::test]
async fn a_posted_integer_is_added_with_its_whitespace_ignored() {
    let site = site();
    let target = "/baseline11?a=13&b=42";
    let got = ask(&site, Method::POST, target, " 20\r\n").await;
    assert_eq!(got.body, "75");
    let overflow = format!("/baseline11?a={}&b=1", i64::MAX);
    let got = ask(&site, Method::POST, &overflow, "-1").await;
    assert_eq!(got.body, i64::MAX.to_string());
    for body in ["", "2 0", "twenty", &"1".repeat(2000)] {
        let got = ask(&site, Method::POST, target, body).await;
        assert_eq!(got.status, 400, "{body:?}");
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let site = site();
    for (method, target, status, allowed) in [
        (Method::PUT, "/baseline11?a=1&b=1", 405, "GET, HEAD, POST"),
        (Method::POST, "/pipeline", 405, "GET, HEAD"),
        (Method::GET, "/upload", 405, "POST"),
        (Method::POST, "/static/reset.css", 405, "GET, HEAD"),
        (Method::DELETE, "/json/1", 405, "GET, HEAD"),
        (Method::HEAD, "/pipeline", 200, ""),
        (Method::GET, "/nothing", 404, ""),
        (Method::GET, "/json", 404, ""),
        (Method::GET, "/json/abc", 400, ""),
        (Method::GET, "/json/-1", 400, ""),
        (Method::GET, "/json/1?m=x", 400, ""),
        (Method::GET, "/json/1?m=9223372036854775807", 400, ""),
    ] {
        let got = ask(&site, method.clone(), target, "").await;
        assert_eq!(got.status, status, "{method} {target}");
        assert_eq!(got.header("allow"), allowed, "{method} {target}");
    }
}

#[tokio::test]
async fn an_upload_is_counted_up_to_the_limit() {
    let site = site();
    let body = "x".repeat(body::UPLOAD_LIMIT_BYTES as usize);
    let got = ask(&site, Method::POST, "/upload", &body).await;
    assert_eq!(got.body, body::UPLOAD_LIMIT_BYTES.to_string());
    let got = ask(&site, Method::POST, "/upload", &(body + "x")).await;
    assert_eq!(got.status, 413);
}

#[tokio::test]
async fn json_is_compressed_only_for_those_who_ask() {
    let site = site();
    for (accepted, expected) in
        [("gzip, br", "gzip"), ("br", "br"), ("gzip;q=0", ""), ("", "")]
    {
        let got = get_accepting(&site, "/json/1?m=3", accepted).await;
        assert_eq!(got.header("content-encoding"), expected);
        assert_eq!(got.header("vary"), "accept-encoding");
        assert_eq!(got.header("content-type"), "application/json");
    }
    let got = ask(&site, Method::GET, "/json/1?m=3", "").await;
    assert!(got.body.ends_with(r#""total":60}],"count":1}"#), "{}", got.body);
}

#[tokio::test]
async fn a_file_is_served_as_its_sibling_only_where_that_is_accepted() {
    let site = site();
    for (accepted, expected) in
        [("br;q=1, gzip;q=0.8", "small"), ("br;q=0", "plain"), ("", "plain")]
    {
        let got = get_accepting(&site, "/static/reset.css", accepted).await;
        assert_eq!(got.header("content-type"), "text/css");
        assert_eq!(got.header("vary"), "accept-encoding");
        assert_eq!(got.body, expected, "{accepted:?}");
    }
}

#[tokio::test]
async fn nothing_but_the_files_is_served() {
    let site = site();
    for target in [
        "/static/../secret.txt",
        "/static/%2e%2e/secret.txt",
        "/static/..%2fsecret.txt",
        "/static//etc/passwd",
        "/static/",
        "/static",
    ] {
        let got = ask(&site, Method::GET, target, "").await;
        assert_eq!(got.status, 404, "{target}");
    }
}
