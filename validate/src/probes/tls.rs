//! TLS as such: the certificate, and who is answered. The helpers of all TLS
//! probes are here.

use std::time::Instant;

use profiles::ask::Ask;
use profiles::profile::Protocol;
use profiles::verdict::Verdict;
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

use super::json;
use crate::http::{Conn, show};
use crate::probe::{BLANK, Miss, Outcome, Probe};
use crate::session::Session;
use crate::stream::{Heard, Stream};
use crate::tape::Said;
use crate::tls;

/// HTTP/1.1 over TLS.
pub(super) const ONE: &[&str] = &["json-tls"];
/// TLS over TCP with HTTP/2 or gRPC on it.
pub(super) const TWO: &[&str] = &[
    "baseline-h2",
    "static-h2",
    "unary-grpc-tls",
    "stream-grpc-tls",
    "gateway-64",
    "production-stack",
];
/// Both.
pub(super) const ALL: &[&str] = &[
    "json-tls",
    "baseline-h2",
    "static-h2",
    "unary-grpc-tls",
    "stream-grpc-tls",
    "gateway-64",
    "production-stack",
];

/// An answer to a ping is never longer, whatever is before it.
const PONG_LIMIT: usize = 256 * 1024;

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "tls.certificate",
        profiles: ALL,
        rule: "The TLS port presents the certificate of /certs to every \
               client, and proves to hold its key.",
        source: "contract, sections 3 and 4",
        legal: "the mounted certificate as the first of the chain, to clients \
                of TLS 1.2 and of TLS 1.3, with ALPN and without; a \
                client of one version alone may be refused",
        hint: "load server.crt and server.key from /certs (or TLS_CERT and \
               TLS_KEY); do not make a certificate of your own",
        run: certificate,
        ..BLANK
    },
    Probe {
        id: "tls.clients",
        profiles: ALL,
        rule: "Clients that speak only TLS 1.2 or only TLS 1.3 are answered \
               rightly; a server may refuse one of the two.",
        source: "contract, section 3; RFC 8446 section 4.2.1",
        legal: "a handshake and right answers with both, or with one of them \
                and the other refused in the handshake",
        hint: "whatever versions the server offers must work to the end",
        run: clients,
        ..BLANK
    },
];

/// The protocol that the port is there for.
pub(super) fn own_alpn(s: &Session<'_>) -> &'static [u8] {
    match s.profile.protocol {
        Protocol::Http1Tls => b"http/1.1",
        _ => b"h2",
    }
}

/// A finding about something that is no request.
pub(super) fn missed(
    asked: impl Into<String>,
    expected: &str,
    got: impl Into<String>,
) -> Box<Miss> {
    Box::new(Miss {
        verdict: Verdict::Fail,
        asked: asked.into(),
        expected: expected.into(),
        got: got.into(),
        hint: None,
    })
}

/// A usual client's stream.
pub(super) fn usual(s: &Session<'_>) -> Result<Stream, Box<Miss>> {
    let config = tls::config(&[own_alpn(s)]);
    s.stream(Some(config))?.map_err(|why| {
        missed("a usual TLS handshake", "a session", format!("none: {why}"))
    })
}

/// A document that nobody can know beforehand.
pub(super) fn document(s: &mut Session<'_>) -> Ask {
    let (count, m) = (s.rng.between(1, 50), s.rng.between(1, 99));
    json::ask(s, count, Some(m), None)
}

/// Whether what the profile speaks is spoken on `stream`: a document over
/// HTTP/1.1, the echo of a ping over HTTP/2.
pub(super) fn answered(s: &mut Session<'_>, stream: Stream) -> Outcome {
    if s.profile.protocol == Protocol::Http1Tls {
        let ask = document(s);
        let mut conn = Conn::over(stream, s.tape.track());
        return s.ask_on(&mut conn, &ask);
    }
    let (bytes, token) = ping(s);
    let mut stream = stream;
    stream.send(&bytes, s.deadline());
    ponged(s, &mut stream, &token, s.deadline())
}

/// The greeting of an HTTP/2 client with a ping, and what is in the ping.
pub(super) fn ping(s: &mut Session<'_>) -> (Vec<u8>, [u8; 8]) {
    let mut token = [0; 8];
    s.rng.fill(&mut token);
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]); // SETTINGS, none
    bytes.extend([0, 0, 8, 6, 0, 0, 0, 0, 0]); // PING
    bytes.extend(token);
    (bytes, token)
}

/// Reads until the ping is answered.
pub(super) fn ponged(
    s: &Session<'_>,
    stream: &mut Stream,
    token: &[u8; 8],
    by: Instant,
) -> Outcome {
    let track = s.tape.track();
    let mut bytes = Vec::new();
    let mut room = [0; 4096];
    loop {
        let heard = stream.read(&mut room, by);
        let why = match heard {
            Heard::Bytes(n) => {
                track.bytes(Said::Entry, &room[..n]);
                bytes.extend(&room[..n]);
                if has_pong(&bytes, token) {
                    return Ok(());
                }
                if bytes.len() < PONG_LIMIT {
                    continue;
                }
                "no end".to_string()
            }
            Heard::Over(how) => format!("the connection {how}"),
            Heard::Nothing => "nothing more in time".into(),
        };
        let got = format!("{why} after `{}`", show(&bytes));
        let asked = "the HTTP/2 preface, SETTINGS and a PING";
        return Err(missed(asked, "a PING with ACK and the same bytes", got));
    }
}

/// Whether the frames in `bytes` have the answer to the ping among them.
fn has_pong(bytes: &[u8], token: &[u8; 8]) -> bool {
    let mut rest = bytes;
    while let Some(head) = rest.get(..9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let Some(body) = rest.get(9..9 + length as usize) else { return false };
        if head[3] == 6 && head[4] & 1 == 1 && body == token {
            return true;
        }
        rest = &rest[9 + length as usize..];
    }
    false
}

const VERSIONS: [(&str, &[&SupportedProtocolVersion]); 3] = [
    ("TLS 1.2 and 1.3", &[&TLS12, &TLS13]),
    ("TLS 1.2 alone", &[&TLS12]),
    ("TLS 1.3 alone", &[&TLS13]),
];

fn certificate(s: &mut Session<'_>) -> Outcome {
    let Some(right) = s.target.certificate.clone() else {
        let why = "it is not known which certificate was mounted";
        return Err(Miss::skip(why, "judge an entry that the arena starts"));
    };
    let own = own_alpn(s);
    for (n, (versions, list)) in VERSIONS.into_iter().enumerate() {
        for (offers, alpn) in [("", &[own][..]), (", without ALPN", &[])] {
            let config = tls::config_of(alpn, list);
            let asked = format!("a handshake of {versions}{offers}");
            let stream = match s.stream(Some(config))? {
                Ok(stream) => stream,
                // One of the versions may be refused, and so may be a client
                // that does not offer h2; but not with a signature that is
                // not the certificate's.
                Err(why) if is_forged(&why) => {
                    let got = format!("a handshake that fails: {why}");
                    return Err(missed(asked, "a proof of the key", got));
                }
                Err(_) if n > 0 || alpn.is_empty() => continue,
                Err(why) => return Err(missed(asked, "a session", why)),
            };
            let chain = stream.tls().and_then(|t| t.peer_certificates());
            let first = chain.and_then(|chain| chain.first());
            if first.is_none_or(|found| **found != right[..]) {
                let got = first.map_or_else(
                    || "none".into(),
                    |der| format!("another one of {} bytes", der.len()),
                );
                let expected = "the certificate that was mounted";
                return Err(missed(asked, expected, got));
            }
        }
    }
    Ok(())
}

/// Whether a handshake failed because of the certificate or its signature.
fn is_forged(why: &str) -> bool {
    why.contains("certificate") || why.contains("signature")
}

fn clients(s: &mut Session<'_>) -> Outcome {
    let mut refused = Vec::new();
    for (versions, list) in [VERSIONS[2], VERSIONS[1]] {
        let config = tls::config_of(&[own_alpn(s)], list);
        match s.stream(Some(config))? {
            Ok(stream) => answered(s, stream).map_err(|mut miss| {
                miss.got = format!("{} (client of {versions})", miss.got);
                miss
            })?,
            Err(why) => refused.push(format!("{versions}: {why}")),
        }
    }
    if refused.len() == 2 {
        let asked = "handshakes of TLS 1.3 alone and of TLS 1.2 alone";
        return Err(missed(asked, "one of them done", refused.join("; ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pong_is_found_among_other_frames_and_cut_nowhere() {
        let token = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut bytes = vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        // The same bytes without the flag are a question.
        bytes.extend([0, 0, 8, 6, 0, 0, 0, 0, 0]);
        bytes.extend(token);
        assert!(!has_pong(&bytes, &token));
        bytes.extend([0, 0, 8, 6, 1, 0, 0, 0, 0]);
        bytes.extend(token);
        assert!(has_pong(&bytes, &token));
        for cut in 0..bytes.len() {
            assert!(!has_pong(&bytes[..cut], &token), "{cut}");
        }
    }
}
