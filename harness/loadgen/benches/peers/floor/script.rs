//! The bytes of each workload's requests, written once.

use std::net::SocketAddr;

use profiles::ask::Ask;

use crate::tool::Peer;
use crate::workloads::Workload;

/// What a connection sends.
pub struct Script {
    /// Before its first request.
    pub first: Vec<u8>,
    /// Each request.
    pub request: Vec<u8>,
    /// Where in it a stream id of four bytes stands.
    pub stream_ids: Vec<usize>,
}

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

impl Script {
    /// `None` where there is no cleartext TCP.
    pub fn of(workload: &Workload, addr: Option<SocketAddr>) -> Option<Script> {
        let host = addr.map_or(String::new(), |addr| addr.to_string());
        let target = workload.target;
        match workload.peer {
            Some(Peer::Wrk | Peer::WrkPipeline) => Some(Script {
                first: Vec::new(),
                request: format!(
                    "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"
                )
                .into_bytes(),
                stream_ids: Vec::new(),
            }),
            Some(Peer::H2load) => {
                let fields = fields(false, target, &host);
                let request = frame(1, END_HEADERS | END_STREAM, &fields);
                Some(Script { first: opening(), request, stream_ids: vec![5] })
            }
            Some(Peer::H2loadGrpc) => {
                let fields = fields(true, target, &host);
                let mut message = Vec::new();
                Ask::GrpcSum { a: 1234, b: 4321 }.write_message(&mut message);
                let mut request = frame(1, END_HEADERS, &fields);
                let second = request.len() + 5;
                request.extend(frame(0, END_STREAM, &message));
                let stream_ids = vec![5, second];
                Some(Script { first: opening(), request, stream_ids })
            }
            None => Some(Script {
                first: format!(
                    "GET /ws HTTP/1.1\r\nHost: {host}\r\n\
                     Upgrade: websocket\r\nConnection: Upgrade\r\n\
                     Sec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                )
                .into_bytes(),
                // Six letters, the mean of what loadgen draws, masked by 0.
                request: b"\x81\x86\0\0\0\0letter".to_vec(),
                stream_ids: Vec::new(),
            }),
            _ => None,
        }
    }
}

/// The preface, settings as they are by default, and a window of the
/// connection that never closes.
fn opening() -> Vec<u8> {
    let more = (i32::MAX - 65_535).to_be_bytes();
    [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &frame(4, 0, b""),
        &frame(8, 0, &more),
    ]
    .concat()
}

/// A frame of stream 0.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, 0], payload].concat()
}

/// Header fields that leave no trace in the tables of HPACK.
fn fields(grpc: bool, target: &str, host: &str) -> Vec<u8> {
    let text = |prefix: &[u8], text: &str| {
        [prefix, &[text.len() as u8], text.as_bytes()].concat()
    };
    // Static table: 2 GET, 3 POST, 4 :path, 1 :authority, 6 http, 31 type.
    let mut out = vec![if grpc { 0x83 } else { 0x82 }, 0x86];
    out.extend(text(&[0x04], target));
    out.extend(text(&[0x01], host));
    if grpc {
        out.extend(text(&[0x0f, 0x10], "application/grpc"));
        out.extend(text(b"\0\x02te", "trailers"));
    }
    out
}
