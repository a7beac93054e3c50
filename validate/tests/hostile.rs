//! Hostile servers: a clear verdict in bounded time, and bounded memory of the
//! judge. One test, so that the peak of this process is the judge's own.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use profiles::catalog::Catalog;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::verdict::Verdicts;
use validate::{Options, Target, validate};

/// The judge's own, with its oracle and the data of uploads.
const MOST_BYTES: u64 = 256 << 20;

type Say = fn(&mut TcpStream) -> std::io::Result<()>;

/// Answers everything by saying the same, for as long as anybody listens.
fn server(say: Say) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut seen = [0; 4096];
                while stream.read(&mut seen).is_ok_and(|n| n > 0) {
                    if say(&mut stream).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn head(stream: &mut TcpStream, fields: &str) -> std::io::Result<()> {
    let kind = "Content-Type: application/json";
    write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\n{fields}\r\n")
}

fn whole(
    stream: &mut TcpStream,
    fields: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let length = body.len();
    head(stream, &format!("{fields}Content-Length: {length}\r\n"))?;
    stream.write_all(body)
}

fn for_ever(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(piece)?;
    }
}

/// Half a gigabyte of zeros, in half a megabyte.
fn gzip_bomb(stream: &mut TcpStream) -> std::io::Result<()> {
    use std::sync::OnceLock;
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    let bomb = BOMB.get_or_init(|| {
        let level = flate2::Compression::fast();
        let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
        for _ in 0..512 {
            out.write_all(&[0; 1 << 20]).unwrap();
        }
        out.finish().unwrap()
    });
    whole(stream, "Content-Encoding: gzip\r\n", bomb)
}

/// The same as brotli, in a few hundred bytes.
fn brotli_bomb(stream: &mut TcpStream) -> std::io::Result<()> {
    use std::sync::OnceLock;
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    let bomb = BOMB.get_or_init(|| {
        let mut out = Vec::new();
        let mut writer = brotli::CompressorWriter::new(&mut out, 4096, 1, 22);
        for _ in 0..512 {
            writer.write_all(&[0; 1 << 20]).unwrap();
        }
        drop(writer);
        out
    });
    whole(stream, "Content-Encoding: br\r\n", bomb)
}

const HOSTILE: &[(&str, &str, Say)] = &[
    ("a header without an end", "json", |s| {
        s.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
        for_ever(s, &[b'x'; 65_536])
    }),
    ("headers without an end", "json", |s| {
        s.write_all(b"HTTP/1.1 200 OK\r\n")?;
        for_ever(s, &b"X: y\r\n".repeat(10_000))
    }),
    ("interim answers without an end", "json", |s| {
        for_ever(s, &b"HTTP/1.1 102 Wait\r\n\r\n".repeat(1000))
    }),
    ("a body without an end", "json", |s| {
        head(s, "")?;
        for_ever(s, &[b' '; 65_536])
    }),
    ("chunks without an end", "json", |s| {
        head(s, "Transfer-Encoding: chunked\r\n")?;
        for_ever(s, &b"1\r\nx\r\n".repeat(10_000))
    }),
    ("one chunk of an exabyte", "json", |s| {
        head(s, "Transfer-Encoding: chunked\r\n")?;
        s.write_all(b"fffffffffffffff\r\n")?;
        for_ever(s, &[b'x'; 65_536])
    }),
    ("a gigabyte said, and a byte now and then", "json", |s| {
        head(s, "Content-Length: 1073741824\r\n")?;
        loop {
            s.write_all(b"x")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }),
    ("a gzip bomb", "json-comp", gzip_bomb),
    ("a brotli bomb", "json-comp", brotli_bomb),
    ("a gzip bomb for a file", "static", gzip_bomb),
    ("a document 100,000 deep", "json", |s| {
        whole(s, "", &b"{\"items\":".repeat(100_000))
    }),
    ("a list 1,000,000 deep", "json", |s| {
        whole(s, "", &b"[".repeat(1_000_000))
    }),
    ("bytes that are no text", "json", |s| {
        whole(s, "X-Odd: \u{202e}\u{7}\r\n", &[0xff; 1000])
    }),
];

fn judged(profile: &Profile, target: &Target, oracle: &Oracle) -> Verdicts {
    let options =
        Options { timeout: Duration::from_millis(1500), ..Options::new(11) };
    let name = "hostile".parse().unwrap();
    validate(&name, "sha256:0", target, &[profile], oracle, &options)
}

/// The most memory this process has had.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn hostile_servers_get_a_verdict_and_no_memory() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = Catalog::load(&root).unwrap();
    let oracle = Oracle::generated();
    for (what, name, say) in HOSTILE {
        let profile = catalog.profile(name).unwrap();
        let target = Target::local(server(*say));
        let verdicts = judged(profile, &target, &oracle);
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
