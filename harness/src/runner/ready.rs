//! Waiting until a server answers in the profile's own protocol.
//!
//! Over cleartext HTTP/1.1 by a small client of its own: any complete answer
//! will do. Other protocols are spoken by whoever the place was given.
//! Whether an answer is right is for the judge and the gun to say.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use profiles::profile::{Profile, Protocol};

use crate::{
    host::{Exit, Server},
    interrupt::Interrupt,
};

/// How long an entry may take from its start to its first answer.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long one try may take.
const ONE_TRY: Duration = Duration::from_secs(2);
/// Between two tries; longer would only blur the time it took.
const PAUSE: Duration = Duration::from_millis(5);
/// An answer longer than this has shown that it is one.
const LONGEST: usize = 1 << 20;

/// Why a server is not ready.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotReady {
    /// It is gone.
    #[error("it {0} before it answered")]
    Ended(Exit),
    /// It speaks, but something else.
    #[error(
        "it answered `{0}` to a plain HTTP/1.1 request; serve HTTP/1.1 on this \
         port"
    )]
    OtherProtocol(String),
    /// It lives and does not answer.
    #[error("no complete answer within {} s: {last}", limit.as_secs_f32())]
    TooLate {
        /// How long was waited.
        limit: Duration,
        /// How the last try ended.
        last: String,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Asks once, within the time given, whether anything answers there in the
/// profile's protocol; the text says why not.
pub type Greet = fn(SocketAddr, &Profile, Duration) -> Result<(), String>;

/// Speaks cleartext HTTP/1.1 alone.
pub fn only_http1(
    _: SocketAddr,
    profile: &Profile,
    _: Duration,
) -> Result<(), String> {
    Err(format!("{:?} is not spoken here", profile.protocol))
}

/// Waits until `server` answers a request of `profile` at `address`.
pub fn wait(
    server: &mut dyn Server,
    address: SocketAddr,
    profile: &Profile,
    greet: Greet,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<(), NotReady> {
    let request = request(profile);
    let plain =
        matches!(profile.protocol, Protocol::Http1 | Protocol::Websocket);
    let ask = || match plain {
        true => ask(address, &request),
        false => match greet(address, profile, ONE_TRY) {
            Ok(()) => Try::Answered,
            Err(why) => Try::Not(why),
        },
    };
    let started = Instant::now();
    loop {
        let last = match ask() {
            Try::Answered => return Ok(()),
            Try::OtherProtocol(first) => {
                return Err(NotReady::OtherProtocol(first));
            }
            Try::Not(why) => why,
        };
        if let Some(exit) = server.exited() {
            return Err(NotReady::Ended(exit));
        }
        if interrupt.raised() {
            return Err(NotReady::Interrupted);
        }
        if started.elapsed() > limit {
            return Err(NotReady::TooLate { limit, last });
        }
        thread::sleep(PAUSE);
    }
}

enum Try {
    Answered,
    OtherProtocol(String),
    Not(String),
}

/// A GET on the profile's first endpoint, places in its path filled with 1.
fn request(profile: &Profile) -> Vec<u8> {
    let mut path = String::new();
    let mut inside = false;
    for c in profile.endpoints.first().map_or("/", |p| p).chars() {
        match c {
            '{' => {
                inside = true;
                path.push('1');
            }
            '}' => inside = false,
            c if !inside => path.push(c),
            _ => {}
        }
    }
    let host = profile.host();
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

fn ask(address: SocketAddr, request: &[u8]) -> Try {
    let not = |what: &str, e: &std::io::Error| Try::Not(format!("{what}: {e}"));
    let mut stream = match TcpStream::connect_timeout(&address, ONE_TRY) {
        Ok(stream) => stream,
        Err(e) => return not("connect", &e),
    };
    let _ = stream.set_read_timeout(Some(ONE_TRY));
    let _ = stream.set_write_timeout(Some(ONE_TRY));
    if let Err(e) = stream.write_all(request) {
        return not("send", &e);
    }
    let started = Instant::now();
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let closed = match stream.read(&mut piece) {
            Ok(0) => true,
            Ok(len) => {
                seen.extend(&piece[..len]);
                false
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) if seen.is_empty() => return not("receive", &e),
            // Reset or silent in mid-answer: look at what there is.
            Err(_) => true,
        };
        match look(&seen, closed) {
            Look::Whole => return Try::Answered,
            Look::NotHttp => {
                let first = &seen[..seen.len().min(40)];
                return Try::OtherProtocol(first.escape_ascii().to_string());
            }
            Look::Part if closed || started.elapsed() > ONE_TRY => {
                return Try::Not(format!(
                    "the answer ended after {} bytes",
                    seen.len()
                ));
            }
            Look::Part if seen.len() > LONGEST => return Try::Answered,
            Look::Part => {}
        }
    }
}

#[derive(Debug, Eq, PartialEq)]
enum Look {
    Part,
    Whole,
    NotHttp,
}

fn look(seen: &[u8], closed: bool) -> Look {
    const START: &[u8] = b"HTTP/1.";
    let common = seen.len().min(START.len());
    if seen[..common] != START[..common] {
        return Look::NotHttp;
    }
    let Some(end) = seen.windows(4).position(|w| w == b"\r\n\r\n") else {
        return Look::Part;
    };
    let head = String::from_utf8_lossy(&seen[..end]).to_ascii_lowercase();
    let body = &seen[end + 4..];
    let field = |name: &str| {
        head.lines().find_map(|l| {
            let (key, value) = l.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_string())
        })
    };
    let length = field("content-length").and_then(|v| v.parse::<usize>().ok());
    let chunked = field("transfer-encoding").is_some();
    let whole = match length {
        _ if chunked => body.ends_with(b"0\r\n\r\n"),
        Some(length) => body.len() >= length,
        None => closed,
    };
    if whole { Look::Whole } else { Look::Part }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::profile;

    #[test]
    fn an_answer_is_whole_when_its_own_framing_says_so() {
        let cases: [(&str, bool, Look); 9] = [
            ("", false, Look::Part),
            ("HTT", false, Look::Part),
            ("HTTP/1.1 200 OK\r\n", true, Look::Part),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
                false,
                Look::Part,
            ),
            (
                "HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nok",
                false,
                Look::Whole,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
                false,
                Look::Part,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                false,
                Look::Whole,
            ),
            ("HTTP/1.0 200 OK\r\n\r\nok", true, Look::Whole),
            ("SSH-2.0", false, Look::NotHttp),
        ];
        for (text, closed, expected) in cases {
            assert_eq!(look(text.as_bytes(), closed), expected, "{text:?}");
        }
    }

    #[test]
    fn places_in_a_path_are_filled() {
        let mut profile = profile("baseline");
        profile.endpoints = vec!["/json/{count}/x".into()];
        let text = String::from_utf8(request(&profile)).unwrap();
        assert!(text.starts_with("GET /json/1/x HTTP/1.1\r\n"), "{text}");
    }
}
