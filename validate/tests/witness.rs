//! The judge beside a shot.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use profiles::catalog::Catalog;
use profiles::oracle::Oracle;
use profiles::record::Testimony;
use validate::{Target, witness};

/// Answers every request with what `answer` makes of its target, and says that
/// the shot is over once it was asked so often.
fn server(
    times: usize,
    over: &Arc<AtomicBool>,
    answer: fn(&str) -> String,
) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (over, asked) = (over.clone(), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (over, asked) = (over.clone(), asked.clone());
            std::thread::spawn(move || {
                serve(stream, answer, || {
                    if asked.fetch_add(1, Ordering::SeqCst) + 1 >= times {
                        over.store(true, Ordering::SeqCst);
                    }
                });
            });
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: fn(&str) -> String, asked: impl Fn()) {
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(n) = stream.read(&mut piece) {
        if n == 0 {
            return;
        }
        seen.extend_from_slice(&piece[..n]);
        if !seen.windows(4).any(|w| w == b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&seen).into_owned();
        let target = text.split(' ').nth(1).unwrap_or_default();
        let body = answer(target);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
        let length = body.len();
        asked();
        let all = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        if stream.write_all(all.as_bytes()).is_err() {
            return;
        }
        seen.clear();
    }
}

fn seen(times: usize, answer: fn(&str) -> String) -> Testimony {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = Catalog::load(&root).unwrap();
    let profile = catalog.profile("pipelined").unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let target = Target::local(server(times, &over, answer));
    witness(&target, profile, &Oracle::generated(), 7, &over)
}

#[test]
fn right_answers_are_counted_on_more_than_one_connection() {
    let testimony = seen(6, |_| "ok".into());
    let expected = Testimony { asked: 6, right: 6, wrong: None };
    assert_eq!(testimony, expected);
}

#[test]
fn the_first_wrong_answer_is_told_in_full() {
    let testimony = seen(3, |target| format!("not {target}"));
    assert_eq!((testimony.asked, testimony.right), (3, 0));
    let wrong = testimony.wrong.unwrap();
    assert!(wrong.starts_with("asked `GET /pipeline HTTP/1.1"), "{wrong}");
    assert!(wrong.contains("found `not /pipeline`"), "{wrong}");
}

#[test]
fn answers_that_do_not_come_are_counted_and_blame_nobody() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Target::local(listener.local_addr().unwrap());
    let over = Arc::new(AtomicBool::new(false));
    let told = over.clone();
    let hangs_up = std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(2) {
            drop(stream);
        }
        told.store(true, Ordering::SeqCst);
    });
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = Catalog::load(&root).unwrap();
    let profile = catalog.profile("pipelined").unwrap();
    let found = witness(&target, profile, &Oracle::generated(), 7, &over);
    hangs_up.join().unwrap();
    assert!(found.asked >= 2, "{found:?}");
    assert_eq!((found.right, found.wrong), (0, None));
}
