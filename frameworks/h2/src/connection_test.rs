use std::fs;

use http::Method;
use tokio::io::duplex;

use super::*;
use crate::{assets::Assets, dataset::Dataset};

/// A site that has one file, as large as the client's window and more.
fn site() -> &'static Site {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("app.js"), "x".repeat(200_000)).unwrap();
    Box::leak(Box::new(Site {
        dataset: Dataset::parse(b"[]").unwrap(),
        assets: Assets::load(dir.path()).unwrap(),
    }))
}

struct Got {
    status: u16,
    headers: http::HeaderMap,
    body: Vec<u8>,
    trailers: Option<http::HeaderMap>,
}

async fn ask(method: Method, target: &str, body: Option<&[u8]>) -> Got {
    let (client, server) = duplex(1 << 16);
    tokio::spawn(http2(site(), server));
    let (client, connection) = h2::client::handshake(client).await.unwrap();
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(format!("http://x{target}"))
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let mut client = client.ready().await.unwrap();
    let (reply, mut up) = client.send_request(request, body.is_none()).unwrap();
    if let Some(body) = body {
        up.send_data(Bytes::copy_from_slice(body), true).unwrap();
    }
    let (head, mut parts) = reply.await.unwrap().into_parts();
    let mut body = Vec::new();
    while let Some(part) = parts.data().await {
        let part = part.unwrap();
        parts.flow_control().release_capacity(part.len()).unwrap();
        body.extend_from_slice(&part);
    }
    let trailers = parts.trailers().await.unwrap();
    let (status, headers) = (head.status.as_u16(), head.headers);
    Got { status, headers, body, trailers }
}

#[tokio::test]
async fn gets_are_answered_and_the_rest_refused() {
    for (method, target, status, expected) in [
        (Method::GET, "/baseline2?a=13&b=-42", 200, "-29"),
        (Method::GET, "/baseline2?a=13", 400, "Bad Request"),
        (Method::POST, "/baseline2?a=1&b=1", 405, "Method Not Allowed"),
        (Method::GET, "/json/3", 200, r#"{"items":[],"count":0}"#),
        (Method::GET, "/json/x", 400, "Bad Request"),
        (Method::GET, "/static/../Cargo.toml", 404, "Not Found"),
        (Method::GET, "/", 404, "Not Found"),
    ] {
        let got = ask(method, target, None).await;
        assert_eq!(got.status, status, "{target}");
        assert_eq!(got.body, expected.as_bytes(), "{target}");
    }
}

#[tokio::test]
async fn a_file_passes_the_clients_window_and_head_has_its_length() {
    let got = ask(Method::GET, "/static/app.js", None).await;
    assert_eq!(got.body.len(), 200_000);
    let got = ask(Method::HEAD, "/static/app.js", None).await;
    assert_eq!(got.headers["content-length"], "200000");
    assert!(got.body.is_empty());
}

#[tokio::test]
async fn a_stream_has_each_message_and_a_status_in_its_trailers() {
    let target = "/benchmark.BenchmarkService/StreamSum";
    // a = 1, b = 2, count = 20000
    let body = b"\0\0\0\0\x08\x08\x01\x10\x02\x18\xa0\x9c\x01";
    let got = ask(Method::POST, target, Some(body)).await;
    assert_eq!(got.trailers.unwrap()["grpc-status"], "0");
    let (mut rest, mut messages) = (&got.body[..], 0);
    while let [0, 0, 0, 0, length, after @ ..] = rest {
        rest = &after[usize::from(*length)..];
        messages += 1;
    }
    assert_eq!((messages, rest.len()), (20_000, 0));
}
