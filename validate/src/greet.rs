//! Does anything answer there? One question in the profile's own protocol;
//! whether the answer is right is not asked.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use profiles::ask::Ask;
use profiles::profile::{Profile, Protocol};

use crate::http::{Conn, Fault, Request};
use crate::link::Exchange as _;
use crate::tape::Track;
use crate::{http2, http3};

/// Asks once, within the time given, for the profile's first endpoint.
///
/// # Errors
///
/// Why there was no answer, as a text.
pub fn greet(
    address: SocketAddr,
    profile: &Profile,
    within: Duration,
) -> Result<(), String> {
    let by = Instant::now() + within;
    let request = request(profile);
    let track = Track::default();
    let found = match profile.protocol {
        Protocol::Http1 | Protocol::Websocket => {
            Conn::open(address, false, track, by)
                .and_then(|mut conn| conn.exchange(&request, by))
        }
        Protocol::Http1Tls => Conn::open(address, true, track, by)
            .and_then(|mut conn| conn.exchange(&request, by)),
        Protocol::Http2Cleartext | Protocol::Grpc => {
            http2::Conn::open(address, false, track, by)
                .and_then(|mut conn| conn.exchange(&request, by))
        }
        Protocol::Http2Tls | Protocol::GrpcTls => {
            http2::Conn::open(address, true, track, by)
                .and_then(|mut conn| conn.exchange(&request, by))
        }
        Protocol::Http3 => http3::Conn::open(address, track, by)
            .and_then(|mut conn| conn.exchange(&request, by)),
    };
    match found {
        // The edge of a stack may be there before what is behind it.
        Ok(answer) if !profile.server.services.is_empty() => {
            match answer.status {
                500.. => Err(format!("the edge answers {}", answer.status)),
                _ => Ok(()),
            }
        }
        // Any answer will do, and so does one that is wrong in its form: the
        // judge will say how.
        Ok(_) | Err(Fault::Broken(_) | Fault::Reset(_) | Fault::Goaway(_)) => {
            Ok(())
        }
        Err(fault) => Err(fault.to_string()),
    }
}

/// A GET on the profile's first endpoint (of a stack, that its server serves),
/// places in its path filled with 1;
/// for gRPC a call that every entry has.
fn request(profile: &Profile) -> Request {
    let host = profile.host();
    if matches!(profile.protocol, Protocol::Grpc | Protocol::GrpcTls) {
        let ask = Ask::GrpcSum { a: 1, b: 2 };
        let mut body = Vec::new();
        ask.write_message(&mut body);
        return Request::of(&ask, &host, &body);
    }
    let mut path = String::new();
    let mut inside = false;
    let stack = !profile.server.services.is_empty();
    // The edge alone answers for static files.
    let by_server = |path: &&String| !stack || !path.starts_with("/static/");
    let first = profile.endpoints.iter().find(by_server);
    for c in first.map_or("/", |p| p).chars() {
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
    Request::new("GET", &path, &host, "")
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::path::Path;

    use profiles::catalog::Catalog;

    use super::*;

    #[test]
    fn where_nothing_listens_nothing_answers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        for profile in Catalog::load(&root).unwrap().profiles {
            let within = Duration::from_millis(300);
            let why = greet(address, &profile, within).unwrap_err();
            assert!(why.contains("no "), "{}: {why}", profile.name);
            let request = request(&profile);
            assert!(request.target.starts_with('/'), "{}", request.target);
            assert!(!request.target.contains('{'), "{}", request.target);
        }
    }
}
