//! A right server, built on the `h2` crate, that can be set up oddly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use profiles::ask::Ask;
use profiles::oracle::Oracle;
use tokio::net::TcpListener;
use tokio::task::LocalSet;

/// A server on a thread of its own.
pub struct Server {
    pub addr: SocketAddr,
    asked: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

/// How it answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// Streams at a time, 0 for any number.
    pub streams: u32,
    /// Its windows, 0 for the usual ones.
    pub window: u32,
    /// Every so many answers a connection is given up in good order.
    pub goaway: u64,
    /// Every so many streams are refused.
    pub refuse: u64,
    /// Bodies go out in pieces of this size, 0 for one.
    pub piece: usize,
    /// Another `date` in every answer.
    pub dates: bool,
}

impl Server {
    pub fn new(ways: Ways) -> Server {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let addr = listener.local_addr().unwrap();
        let (asked, connections) =
            <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let counts = (asked.clone(), connections.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let set = LocalSet::new();
            set.block_on(&runtime, async move {
                let listener = TcpListener::from_std(listener).unwrap();
                let oracle = Arc::new(Oracle::generated());
                while let Ok((socket, _)) = listener.accept().await {
                    counts.1.fetch_add(1, Ordering::Relaxed);
                    let (asked, oracle) = (counts.0.clone(), oracle.clone());
                    tokio::task::spawn_local(async move {
                        // The client goes as it likes.
                        let _ = serve(socket, ways, asked, oracle).await;
                    });
                }
            });
        });
        Server { addr, asked, connections }
    }

    /// Requests it read in full and answered.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn serve(
    socket: tokio::net::TcpStream,
    ways: Ways,
    asked: Arc<AtomicU64>,
    oracle: Arc<Oracle>,
) -> Result<(), h2::Error> {
    let _ = socket.set_nodelay(true);
    let mut builder = server::Builder::new();
    if ways.streams > 0 {
        builder.max_concurrent_streams(ways.streams);
    }
    if ways.window > 0 {
        builder.initial_window_size(ways.window);
        builder.initial_connection_window_size(65_535);
    }
    let mut connection = builder.handshake(socket).await?;
    let mut accepted = 0;
    while let Some(next) = connection.accept().await {
        let (request, mut respond) = next?;
        accepted += 1;
        if ways.refuse > 0 && accepted % ways.refuse == 0 {
            respond.send_reset(Reason::REFUSED_STREAM);
            continue;
        }
        let (asked, oracle) = (asked.clone(), oracle.clone());
        tokio::task::spawn_local(async move {
            let _ = answer(request, respond, ways, &asked, &oracle).await;
        });
        if ways.goaway > 0 && accepted == ways.goaway {
            connection.graceful_shutdown();
        }
    }
    Ok(())
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    ways: Ways,
    asked: &AtomicU64,
    oracle: &Oracle,
) -> Result<(), h2::Error> {
    let (parts, mut body) = request.into_parts();
    let mut sent = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        sent.extend_from_slice(&piece);
    }
    let number = asked.fetch_add(1, Ordering::Relaxed);
    let grpc = parts.headers.get("content-type");
    if grpc.is_some_and(|v| v.as_bytes().starts_with(b"application/grpc")) {
        assert_eq!(parts.headers["te"], "trailers");
        return grpc_answer(parts.uri.path(), &sent, respond, ways).await;
    }
    let (kind, text) = right(&parts.uri, &sent, oracle);
    let mut head = Response::builder()
        .header("content-type", kind)
        .header("content-length", text.len());
    if ways.dates {
        head = head.header("date", format!("day {number}"));
    }
    let mut stream = respond.send_response(head.body(()).unwrap(), false)?;
    pieces(&mut stream, text, ways, true).await
}

async fn pieces(
    stream: &mut h2::SendStream<Bytes>,
    body: Vec<u8>,
    ways: Ways,
    end: bool,
) -> Result<(), h2::Error> {
    let step = if ways.piece > 0 { ways.piece } else { body.len().max(1) };
    let count = body.len().div_ceil(step);
    for (index, piece) in body.chunks(step).enumerate() {
        let last = end && index + 1 == count;
        stream.send_data(Bytes::copy_from_slice(piece), last)?;
        if ways.piece > 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// The content type and body of the right answer.
fn right(
    uri: &http::Uri,
    sent: &[u8],
    oracle: &Oracle,
) -> (&'static str, Vec<u8>) {
    let query = uri.query().unwrap_or("");
    let value = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.parse::<i64>().ok())
    };
    if let Some(count) = uri.path().strip_prefix("/json/") {
        let count = count.parse::<usize>().unwrap();
        let m = value("m").unwrap_or(1);
        return ("application/json", json(oracle, count, m));
    }
    if uri.path() == "/upload" {
        return ("text/plain", sent.len().to_string().into_bytes());
    }
    let third = std::str::from_utf8(sent).unwrap().parse().unwrap_or(0);
    let sum = value("a").unwrap() + value("b").unwrap() + third;
    ("text/plain", sum.to_string().into_bytes())
}

fn json(oracle: &Oracle, count: usize, m: i64) -> Vec<u8> {
    let items: Vec<serde_json::Value> = oracle.dataset().0[..count]
        .iter()
        .map(|item| {
            let mut value = serde_json::to_value(item).unwrap();
            let number = |key: &str| value[key].as_i64().unwrap();
            let total = number("price") * number("quantity") * m;
            value["total"] = total.into();
            value
        })
        .collect();
    let all = serde_json::json!({ "items": items, "count": count });
    serde_json::to_vec(&all).unwrap()
}

/// The varints of a message, by their field.
fn fields(message: &[u8]) -> [i64; 4] {
    let mut out = [0; 4];
    let mut bytes = message.iter();
    while let Some(tag) = bytes.next() {
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let byte = bytes.next().unwrap();
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        out[usize::from(tag >> 3)] = value as i64;
    }
    out
}

async fn grpc_answer(
    path: &str,
    sent: &[u8],
    mut respond: SendResponse<Bytes>,
    ways: Ways,
) -> Result<(), h2::Error> {
    let [_, a, b, count] = fields(&sent[5..]);
    let count = if path.ends_with("/StreamSum") { count } else { 1 };
    let head = Response::builder()
        .header("content-type", "application/grpc+proto")
        .body(())
        .unwrap();
    let mut stream = respond.send_response(head, false)?;
    let mut body = Vec::new();
    for i in 0..count {
        // A SumReply is framed and laid out like a request of one operand.
        let ask = Ask::GrpcSum { a: (a + b + i) as i32, b: 0 };
        ask.write_message(&mut body);
    }
    pieces(&mut stream, body, ways, false).await?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)
}
