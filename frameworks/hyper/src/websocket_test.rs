use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

/// A client's end of a connection that is a WebSocket already.
fn connect(begun: Vec<u8>) -> DuplexStream {
    let (client, server) = duplex(1 << 20);
    tokio::spawn(echo(server, begun.into()));
    client
}

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// A short frame as a client sends it, with a mask of zeros.
fn sent(opcode: u8, payload: &str) -> Vec<u8> {
    let head = [opcode, 0x80 | payload.len() as u8, 0, 0, 0, 0];
    [&head, payload.as_bytes()].concat()
}

/// The same frame as a server sends it.
fn received(opcode: u8, payload: &str) -> Vec<u8> {
    [&[opcode, payload.len() as u8], payload.as_bytes()].concat()
}

/// One read: what was sent together, or nothing when nothing comes.
async fn part(client: &mut DuplexStream) -> Vec<u8> {
    let mut part = vec![0; 1 << 16];
    let until_quiet = Duration::from_secs(3600);
    let read = tokio::time::timeout(until_quiet, client.read(&mut part)).await;
    part.truncate(read.map_or(0, |read| read.unwrap()));
    part
}

#[tokio::test(start_paused = true)]
async fn messages_that_come_together_go_back_together() {
    let mut client = connect(Vec::new());
    let mut expected = Vec::new();
    let mut frames = Vec::new();
    for n in 0..16 {
        let opcode = if n % 2 == 0 { TEXT } else { BINARY };
        frames.extend(sent(opcode, &format!("message {n}")));
        expected.extend(received(opcode, &format!("message {n}")));
    }
    client.write_all(&frames).await.unwrap();
    assert_eq!(part(&mut client).await, expected);
}

#[tokio::test(start_paused = true)]
async fn what_came_with_the_upgrade_is_echoed() {
    let mut frames = sent(TEXT, "early");
    let half = frames.split_off(4);
    let mut client = connect(frames);
    client.write_all(&half).await.unwrap();
    assert_eq!(part(&mut client).await, received(TEXT, "early"));
}

#[tokio::test(start_paused = true)]
async fn a_message_does_not_wait_for_the_rest_of_the_next() {
    let mut client = connect(Vec::new());
    let mut frames = sent(TEXT, "whole");
    let next = sent(TEXT, "half");
    frames.extend(&next[..3]);
    client.write_all(&frames).await.unwrap();
    assert_eq!(part(&mut client).await, received(TEXT, "whole"));
    client.write_all(&next[3..]).await.unwrap();
    assert_eq!(part(&mut client).await, received(TEXT, "half"));
}

#[tokio::test(start_paused = true)]
async fn pings_and_closes_are_answered() {
    let mut client = connect(Vec::new());
    client.write_all(&sent(PING, "p")).await.unwrap();
    assert_eq!(part(&mut client).await, received(PONG, "p"));
    client.write_all(&sent(CLOSE, "")).await.unwrap();
    assert_eq!(part(&mut client).await, received(CLOSE, ""));
    assert_eq!(part(&mut client).await, b"");
}

#[test]
fn only_a_websocket_upgrade_is_one() {
    let request = |version: &str| {
        Request::get("/ws")
            .header("connection", "keep-alive, Upgrade")
            .header("upgrade", "WebSocket")
            .header("sec-websocket-version", version)
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .body(())
            .unwrap()
    };
    let reply = upgrade(&request("13")).unwrap();
    assert_eq!(reply.status(), 101);
    let accept = &reply.headers()["sec-websocket-accept"];
    assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert!(upgrade(&request("8")).is_none());
    assert!(upgrade(&Request::get("/ws").body(()).unwrap()).is_none());
}
