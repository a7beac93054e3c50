use std::fs;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;
use crate::{assets::Assets, dataset::Dataset};

/// A site that has one file.
fn site() -> &'static Site {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("reset.css"), "plain").unwrap();
    Box::leak(Box::new(Site {
        dataset: Dataset::parse(b"[]").unwrap(),
        assets: Assets::load(dir.path()).unwrap(),
    }))
}

fn connect_http1() -> DuplexStream {
    let (client, server) = duplex(1 << 16);
    tokio::spawn(http1(site(), server));
    client
}

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-version: 13\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[tokio::test]
async fn an_upgraded_connection_echoes_what_came_with_its_upgrade() {
    let mut client = connect_http1();
    client.write_all(UPGRADE.as_bytes()).await.unwrap();
    client.write_all(b"\x81\x82\0\0\0\0hi").await.unwrap();
    let mut got = Vec::new();
    while !got.ends_with(b"\x81\x02hi") {
        assert_ne!(client.read_buf(&mut got).await.unwrap(), 0);
    }
    let head = String::from_utf8_lossy(&got).to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    drop(client);
}

#[tokio::test]
async fn a_refused_upgrade_leaves_the_connection_to_http() {
    let mut client = connect_http1();
    let wrong = UPGRADE.replace(": 13", ": 8");
    client.write_all(wrong.as_bytes()).await.unwrap();
    let last = "GET /pipeline HTTP/1.1\r\nconnection: close\r\n\r\n";
    client.write_all(last.as_bytes()).await.unwrap();
    let mut got = String::new();
    client.read_to_string(&mut got).await.unwrap();
    assert!(got.starts_with("HTTP/1.1 400 "), "{got}");
    assert!(got.ends_with("\r\n\r\nok"), "{got}");
}

#[tokio::test]
async fn http2_gives_head_the_length_and_no_body() {
    let (client, server) = duplex(1 << 16);
    tokio::spawn(http2(site(), server));
    let (mut client, connection) = h2::client::handshake(client).await.unwrap();
    tokio::spawn(connection);
    for (method, expected) in [(Method::HEAD, ""), (Method::GET, "plain")] {
        let request = Request::builder()
            .method(method)
            .uri("http://x/static/reset.css")
            .body(())
            .unwrap();
        client = client.ready().await.unwrap();
        let (reply, _) = client.send_request(request, true).unwrap();
        let reply = reply.await.unwrap();
        assert_eq!(reply.headers()[CONTENT_LENGTH], "5");
        let mut body = Vec::new();
        let mut parts = reply.into_body();
        while let Some(part) = parts.data().await {
            body.extend_from_slice(&part.unwrap() as &Bytes);
        }
        assert_eq!(body, expected.as_bytes());
    }
}
