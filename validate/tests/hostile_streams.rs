//! Hostile servers of HTTP/2, gRPC, WebSocket and HTTP/3: a clear verdict in
//! bounded time, and bounded memory of the judge. One test, so that the peak
//! of this process is the judge's own.

#[allow(dead_code, reason = "the gallery uses all of it")]
mod support;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use profiles::catalog::Catalog;
use profiles::oracle::Oracle;
use support::cheat::Cheat;
use support::http3::{Http3Cheat, Http3Twin};
use tungstenite::handshake::derive_accept_key;
use validate::{Options, Target, validate};

/// The judge's own, with its oracle.
const MOST_BYTES: u64 = 256 << 20;

type Io = std::io::Result<()>;
type Say = fn(&mut TcpStream) -> Io;

/// Says the same to everybody, for as long as anybody listens, and reads
/// over what it is sent.
fn server(say: Say) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Ok(mut reading) = stream.try_clone() else { return };
                std::thread::spawn(move || {
                    let mut seen = [0; 65_536];
                    while reading.read(&mut seen).is_ok_and(|n| n > 0) {}
                });
                let _ = say(&mut stream);
            });
        }
    });
    address
}

fn for_ever(stream: &mut TcpStream, piece: &[u8]) -> Io {
    // Many small pieces cost the server more than the judge.
    let many = piece.repeat((32_768 / piece.len()).max(1));
    loop {
        stream.write_all(&many)?;
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// `:status: 200` and what is added, in HPACK.
fn answered(stream: &mut TcpStream, more: &[u8]) -> Io {
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    let block = [&[0x88], more].concat();
    stream.write_all(&frame(HEADERS, END_HEADERS, 1, &block))
}

/// `content-type: application/grpc`, literal with an indexed name.
fn grpc(stream: &mut TcpStream) -> Io {
    answered(stream, b"\x0f\x10\x10application/grpc")
}

fn greeted(stream: &mut TcpStream) -> Io {
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))
}

const HTTP2: &[(&str, Say)] = &[
    ("CONTINUATION without an end", |s| {
        greeted(s)?;
        s.write_all(&frame(HEADERS, 0, 1, &[0x88]))?;
        for_ever(s, &frame(CONTINUATION, 0, 1, &[0x88; 16_000]))
    }),
    ("empty CONTINUATION without an end", |s| {
        greeted(s)?;
        s.write_all(&frame(HEADERS, 0, 1, &[0x88]))?;
        for_ever(s, &frame(CONTINUATION, 0, 1, &[]))
    }),
    ("a field of 3,900 bytes, named 16,000 times", |s| {
        greeted(s)?;
        let mut block = vec![0x88, 0x40, 1, b'x', 0x7f, 0xbd, 0x1d];
        block.extend_from_slice(&[b'y'; 3900]);
        block.extend_from_slice(&[0xbe; 12_000]);
        s.write_all(&frame(HEADERS, 0, 1, &block))?;
        for_ever(s, &frame(CONTINUATION, 0, 1, &[0xbe; 16_000]))
    }),
    ("a table of a gigabyte", |s| {
        greeted(s)?;
        let block = [0x3f, 0xff, 0xff, 0xff, 0xff, 0x03];
        for_ever(s, &frame(HEADERS, END_HEADERS, 1, &block))
    }),
    ("SETTINGS without an end", |s| {
        for_ever(s, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 1]))
    }),
    ("PINGs without an end", |s| {
        greeted(s)?;
        for_ever(s, &frame(PING, 0, 0, &[7; 8]))
    }),
    ("resets without an end", |s| {
        greeted(s)?;
        for_ever(s, &frame(RESET, 0, 1, &[0, 0, 0, 8]))
    }),
    ("windows without an end", |s| {
        greeted(s)?;
        for_ever(s, &frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))
    }),
    ("frames of no known kind", |s| {
        greeted(s)?;
        for_ever(s, &frame(0xcc, 0, 0, &[1; 16_000]))
    }),
    ("pushes without an end", |s| {
        greeted(s)?;
        for_ever(s, &frame(PUSH, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]))
    }),
    ("GOAWAYs without an end", |s| {
        greeted(s)?;
        for_ever(s, &frame(GOAWAY, 0, 0, &[0x7f, 255, 255, 255, 0, 0, 0, 0]))
    }),
    ("DATA without an end", |s| {
        answered(s, &[])?;
        for_ever(s, &frame(DATA, 0, 1, &[b'1'; 16_000]))
    }),
    ("empty DATA without an end", |s| {
        answered(s, &[])?;
        for_ever(s, &frame(DATA, 0, 1, &[]))
    }),
    ("interim answers without an end", |s| {
        greeted(s)?;
        for_ever(s, &frame(HEADERS, END_HEADERS, 1, b"\x08\x03100"))
    }),
    ("a frame of 16 MiB", |s| {
        answered(s, &[])?;
        s.write_all(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01")?;
        for_ever(s, &[b'1'; 16_000])
    }),
    ("a byte now and then", |s| {
        loop {
            for byte in frame(SETTINGS, 0, 0, &[]) {
                s.write_all(&[byte])?;
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }),
    ("bytes of no meaning", |s| for_ever(s, &[0xa5; 4096])),
];

const GRPC: &[(&str, Say)] = &[
    ("a message of four gigabytes", |s| {
        grpc(s)?;
        s.write_all(&frame(DATA, 0, 1, &[0, 255, 255, 255, 255]))?;
        for_ever(s, &frame(DATA, 0, 1, &[0; 16_000]))
    }),
    ("messages without an end", |s| {
        grpc(s)?;
        for_ever(s, &frame(DATA, 0, 1, &[0, 0, 0, 0, 2, 8, 1]))
    }),
    ("empty messages without an end", |s| {
        grpc(s)?;
        for_ever(s, &frame(DATA, 0, 1, &[0; 10_000]))
    }),
    ("a message that says it is compressed", |s| {
        grpc(s)?;
        for_ever(s, &frame(DATA, 0, 1, &[1, 0, 0, 0, 4, 1, 2, 3, 4]))
    }),
    ("trailers without an end", |s| {
        grpc(s)?;
        s.write_all(&frame(HEADERS, 0, 1, &[0x88]))?;
        for_ever(s, &frame(CONTINUATION, 0, 1, &[0x88; 16_000]))
    }),
];

const WEBSOCKET: &[(&str, &[u8], &[u8])] = &[
    ("a frame of exabytes", b"\x82\x7f\x3f\xff\xff\xff\xff\xff\xff\xff", &[7]),
    ("a frame of four gigabytes", b"\x82\x7f\0\0\0\0\xff\xff\xff\xff", &[7]),
    ("fragments without an end", b"\x01\x01a", b"\x00\x7e\x10\x00\x61\x61"),
    ("empty fragments without an end", b"\x01\x00", b"\x00\x00"),
    ("pings without an end", b"", b"\x89\x04ping"),
    ("pongs without an end", b"", b"\x8a\x04pong"),
    ("messages without an end", b"", b"\x81\x01a"),
    ("closes without an end", b"", b"\x88\x02\x03\xe8"),
    ("bytes of no meaning", b"", &[0xff]),
];

/// A right handshake, then `first`, then `piece` for ever.
fn websocket(first: &'static [u8], piece: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || upgraded(&mut stream, first, piece));
        }
    });
    address
}

fn upgraded(stream: &mut TcpStream, first: &[u8], piece: &[u8]) -> Io {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim())
    });
    let Some(key) = key else {
        let refusal = b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n";
        return stream.write_all(refusal);
    };
    let accept = derive_accept_key(key.as_bytes());
    write!(
        stream,
        "HTTP/1.1 101 Up\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    )?;
    stream.write_all(first)?;
    for_ever(stream, piece)
}

/// The most memory this process has had.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

struct Judge {
    catalog: Catalog,
    oracle: Oracle,
}

impl Judge {
    /// It never passes, its words do nothing to a terminal, and the judge
    /// stays small.
    fn holds(&self, what: &str, profile: &str, address: SocketAddr) {
        let profile = self.catalog.profile(profile).unwrap();
        let target = Target::default().with(profile.port, address);
        let options = Options {
            timeout: Duration::from_millis(1500),
            ..Options::new(11)
        };
        let name = "hostile".parse().unwrap();
        let verdicts = validate(
            &name,
            "sha256:0",
            &target,
            &[profile],
            &self.oracle,
            &options,
        );
        assert!(!verdicts.passes(&profile.name), "{what}");
        assert!(verdicts.failed > 0, "{what}: {verdicts:#?}");
        for found in &verdicts.probes {
            let steers = |c: char| c != '\n' && profiles::oracle::is_hidden(c);
            assert!(!found.got.contains(steers), "{what}: {}", found.got);
        }
        let peak = peak_bytes();
        assert!(peak < MOST_BYTES, "{what}: {} MiB", peak >> 20);
    }
}

#[test]
fn hostile_streams_get_a_verdict_and_no_memory() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = Catalog::load(&root).unwrap();
    let judge = Judge { catalog, oracle: Oracle::generated() };
    for (what, say) in HTTP2 {
        judge.holds(what, "baseline-h2c", server(*say));
    }
    for (what, say) in GRPC.iter().chain(HTTP2) {
        judge.holds(what, "stream-grpc", server(*say));
    }
    for (what, first, piece) in WEBSOCKET {
        judge.holds(what, "echo-ws", websocket(first, piece));
    }
    for cheat in [Http3Cheat::EndlessHead, Http3Cheat::EndlessBody] {
        let twin = Http3Twin::start(cheat, Cheat::Honest);
        judge.holds(&format!("{cheat:?}"), "baseline-h3", twin.address);
    }
}
