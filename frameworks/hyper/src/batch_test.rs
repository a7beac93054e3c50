use std::{convert::Infallible, time::Duration};

use http_body_util::BodyExt;
use hyper::{Request, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;
use crate::reply::{Reply, text};

/// A client's end of a connection served through `Batched`. Every answer is
/// the path, or the body where there is one.
fn connect() -> DuplexStream {
    let (client, server) = duplex(1 << 20);
    tokio::spawn(serve(TokioIo::new(server), service_fn(echo)));
    client
}

async fn echo(request: Request<Incoming>) -> Result<Reply, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    if body.is_empty() { Ok(text(path)) } else { Ok(text(body)) }
}

/// One read: what was sent together, or nothing when nothing comes. Time
/// stands still while anything is left to do, so this neither waits nor misses
/// late bytes.
async fn part(client: &mut DuplexStream) -> String {
    let mut part = vec![0; 1 << 16];
    let until_quiet = Duration::from_secs(3600);
    let read = tokio::time::timeout(until_quiet, client.read(&mut part)).await;
    part.truncate(read.map_or(0, |read| read.unwrap()));
    String::from_utf8(part).unwrap()
}

/// All that comes until nothing more does.
async fn answers(client: &mut DuplexStream) -> String {
    let mut all = String::new();
    loop {
        match part(client).await {
            part if part.is_empty() => return all,
            part => all.push_str(&part),
        }
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order_and_together() {
    let mut client = connect();
    let requests: String = (0..16).map(|n| get(&format!("/{n}-"))).collect();
    client.write_all(requests.as_bytes()).await.unwrap();
    let first = part(&mut client).await;
    let bodies: Vec<_> = first.matches("\r\n\r\n/").collect();
    assert_eq!(bodies.len(), 16, "{first}");
    let places: Vec<_> =
        (0..16).map(|n| first.find(&format!("/{n}-")).unwrap()).collect();
    assert!(places.is_sorted(), "{first}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_does_not_wait_for_the_rest_of_the_next_request() {
    let mut client = connect();
    let half = get("/whole") + "GET /ha";
    client.write_all(half.as_bytes()).await.unwrap();
    assert!(answers(&mut client).await.ends_with("/whole"));
    client.write_all(b"lf HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(answers(&mut client).await.ends_with("/half"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_waited_for_its_body_is_sent() {
    let mut client = connect();
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(b"expect: 100-continue\r\n\r\n").await.unwrap();
    assert!(answers(&mut client).await.contains("100 Continue"));
    client.write_all(b"bo").await.unwrap();
    assert_eq!(answers(&mut client).await, "");
    client.write_all(b"dy").await.unwrap();
    assert!(answers(&mut client).await.ends_with("body"));
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_follows_the_small_ones_before_it() {
    let mut client = connect();
    let large = "x".repeat(3 * LIMIT_BYTES);
    let post = format!(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{large}",
        large.len()
    );
    let requests = get("/small") + &post + &get("/last");
    client.write_all(requests.as_bytes()).await.unwrap();
    let all = answers(&mut client).await;
    let small = all.find("/small").unwrap();
    let body = all.find(&large).unwrap();
    assert!(small < body && all.ends_with("/last"));
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_comes_before_the_close() {
    let mut client = connect();
    let close = "GET /bye HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    client.write_all(close.as_bytes()).await.unwrap();
    assert!(answers(&mut client).await.ends_with("/bye"));
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
}
