//! A small HTTP/1.1 server that is right in everything but its cheat.

pub mod app;
pub mod cheat;
pub mod data;
pub mod database;
pub mod http2;
pub mod http3;
pub mod io;
pub mod postgres;
pub mod reply;
pub mod stack;
pub mod websocket;
pub mod wire;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use profiles::catalog::Catalog;
use profiles::profile::Profile;
use profiles::verdict::{Verdict, Verdicts};
use validate::{Options, Target, validate};

use app::{App, Local};
use cheat::Cheat;
use reply::Reply;
use wire::{Body, Reader, Stop, find};

/// The seven profiles over plain HTTP/1.1.
pub const SEVEN: [&str; 7] = [
    "baseline",
    "pipelined",
    "limited-conn",
    "json",
    "json-comp",
    "upload",
    "static",
];

/// Their definitions, as committed.
pub fn profiles(names: &[&str]) -> Vec<Profile> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let all = Catalog::load(&root).unwrap().profiles;
    let wanted = |p: &Profile| names.contains(&p.name.as_str());
    all.into_iter().filter(wanted).collect()
}

/// A running twin; dropped, it is gone.
pub struct Twin {
    pub address: SocketAddr,
    stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Twin {
    pub fn start(cheat: Cheat) -> Twin {
        Twin::serving(cheat, "/")
    }

    /// A twin that serves only the paths that begin so.
    pub fn serving(cheat: Cheat, paths: &'static str) -> Twin {
        let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        Twin::spawn(any.unwrap(), cheat, paths)
    }

    /// Serves on a listener that is already bound.
    #[allow(dead_code, reason = "for binaries that are told their port")]
    pub fn on(listener: TcpListener, cheat: Cheat) -> Twin {
        Twin::spawn(listener, cheat, "/")
    }

    fn spawn(listener: TcpListener, cheat: Cheat, paths: &'static str) -> Twin {
        let address = listener.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let app = Arc::new(App::new(cheat, data::data(), paths));
        let stop = stopping.clone();
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (app, stop) = (app.clone(), stop.clone());
                std::thread::spawn(move || serve(&stream, &app, &stop));
            }
        });
        Twin { address, stopping, accepting: Some(accepting) }
    }

    /// Takes the listener away: no connection is made any more.
    pub fn die(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; an error says that it is gone.
        let _ = TcpStream::connect(self.address);
    }

    /// Judges the twin as an entry of `names`.
    pub fn judged(&self, names: &[&str], options: &Options<'_>) -> Verdicts {
        let profiles = profiles(names);
        let profiles: Vec<&Profile> = profiles.iter().collect();
        let verdicts = validate(
            &"twin".parse().unwrap(),
            "sha256:0",
            &Target::local(self.address),
            &profiles,
            data::oracle(),
            options,
        );
        without_folder(verdicts)
    }
}

/// Most twins read no folder; files that are replaced in one are the question
/// to twins of their own.
pub fn without_folder(mut verdicts: Verdicts) -> Verdicts {
    verdicts
        .probes
        .retain(|p| p.id != "static.replaced" || p.verdict != Verdict::Skip);
    verdicts
}

impl Drop for Twin {
    fn drop(&mut self) {
        self.die();
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: &TcpStream, app: &App, stop: &AtomicBool) {
    let _ = stream.set_nodelay(true);
    if app.cheat == Cheat::Silent {
        swallow(stream);
        return;
    }
    let closes = connection(stream, app, stop);
    if closes && app.cheat == Cheat::NeverCloses {
        swallow(stream);
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Reads until the client ends the connection.
fn swallow(mut stream: &TcpStream) {
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|n| n > 0) {}
}

/// Serves requests until the connection is to be closed; true when the
/// client asked for that.
fn connection(stream: &TcpStream, app: &App, stop: &AtomicBool) -> bool {
    let mut out = stream;
    let mut reader = Reader::new(stream, app.cheat);
    let mut local = Local::default();
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut batch = 0;
    loop {
        if batch == 0 {
            batch = heads(&reader.bytes);
        }
        let request = match reader.head() {
            Ok(request) => request,
            Err(stop) => {
                ended(app, out, &stop, false);
                return false;
            }
        };
        batch = batch.max(heads(&reader.bytes) + 1);
        let upload = request.path == "/upload";
        let mut body = Body::default();
        let early = match app.cheat {
            Cheat::EchoAtOnce => true,
            Cheat::ChunkedEchoAtOnce => {
                request.framing == wire::Framing::Chunked
            }
            _ => false,
        };
        if early && upload {
            let reply = app.answer(&request, &body, &mut local);
            let _ = out.write_all(&reply.bytes(Some(&request), app.cheat));
        }
        match reader.body(&request, &mut body) {
            Ok(()) => {}
            Err(Stop::Cut { reset: false })
                if upload && lies(app.cheat, request.framing) => {}
            Err(stop) => {
                ended(app, out, &stop, true);
                return false;
            }
        }
        if early && upload {
            continue;
        }
        let mut reply = app.answer(&request, &body, &mut local);
        if app.cheat == Cheat::FixedBatch && batch > 1 {
            reply = Reply::text("ok");
        }
        let bytes = reply.bytes(Some(&request), app.cheat);
        local.served += 1;
        batch -= 1;
        if app.cheat == Cheat::ReversedBatch {
            held.push(bytes);
            if batch == 0 {
                held.reverse();
                let _ = out.write_all(&held.concat());
                held.clear();
            }
        } else if write(out, app, &request.path, &bytes, stop).is_err() {
            return false;
        }
        let tenth = local.served == 10 && app.cheat == Cheat::ClosesAfterTen;
        let post = request.method == "POST";
        if request.close && post && app.cheat == Cheat::PostStaysOpen {
            swallow(stream);
            return false;
        }
        if request.close || request.doubtful || tenth {
            return request.close;
        }
    }
}

fn lies(cheat: Cheat, framing: wire::Framing) -> bool {
    let chunked = framing == wire::Framing::Chunked;
    matches!(cheat, Cheat::EchoWhenRead | Cheat::CutAnswered)
        || cheat == Cheat::CutChunksAnswered && chunked
}

/// Whole heads in the buffer.
fn heads(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut n = 0;
    while let Some(at) = find(rest, b"HTTP/1.1\r\n") {
        rest = &rest[at + 1..];
        n += 1;
    }
    n
}

fn write(
    mut out: &TcpStream,
    app: &App,
    path: &str,
    bytes: &[u8],
    stop: &AtomicBool,
) -> std::io::Result<()> {
    match app.cheat {
        Cheat::Drip => {
            for byte in bytes.chunks(1) {
                if stop.load(Ordering::SeqCst) {
                    return Ok(());
                }
                out.write_all(byte)?;
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        }
        Cheat::Twice if path == "/baseline11" => {
            out.write_all(&[bytes, bytes].concat())
        }
        Cheat::Endless if path == "/pipeline" => {
            let start = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nok";
            out.write_all(start.as_bytes())?;
            loop {
                out.write_all(&[b'k'; 64 * 1024])?;
            }
        }
        Cheat::EndlessHead if path == "/pipeline" => {
            out.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
            loop {
                out.write_all(&[b'x'; 64 * 1024])?;
            }
        }
        Cheat::EndlessInterim if path == "/pipeline" => loop {
            let many = "HTTP/1.1 102 Wait\r\n\r\n".repeat(1000);
            out.write_all(many.as_bytes())?;
        },
        _ => out.write_all(bytes),
    }
}

fn ended(app: &App, mut out: &TcpStream, stop: &Stop, in_body: bool) {
    match stop {
        Stop::Bad if app.cheat != Cheat::Curt => {
            let reply = Reply::status(400);
            let _ = out.write_all(&reply.bytes(None, app.cheat));
        }
        Stop::Cut { reset: true } => {
            let wounds = match app.cheat {
                Cheat::ResetWounds => !in_body,
                Cheat::AbortWounds => in_body,
                _ => false,
            };
            app.wounded.fetch_or(wounds, Ordering::SeqCst);
        }
        _ => {}
    }
}
