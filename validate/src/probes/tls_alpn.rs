//! Which protocol a TLS port agrees to, whatever is offered.

use profiles::verdict::Verdict;

use super::tls::{ONE, TWO, answered, missed, ping, ponged};
use crate::probe::{BLANK, Miss, Outcome, Probe};
use crate::session::Session;
use crate::stream::Stream;
use crate::tls;

const H1: &[u8] = b"http/1.1";
const H2: &[u8] = b"h2";

const BASE: Probe = Probe {
    profiles: ONE,
    source: "RFC 7301 section 3.2; contract, section 3",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "tls.alpn",
        rule: "A client that offers http/1.1 in ALPN, before or after h2 or \
               alone, is answered over HTTP/1.1.",
        legal: "http/1.1 is selected, or nothing is, and HTTP/1.1 is spoken",
        hint: "list http/1.1 and no other protocol in the ALPN of port 8081",
        run: http1,
        ..BASE
    },
    Probe {
        id: "tls.alpn-none",
        rule: "A client that offers no protocol in ALPN is answered over \
               HTTP/1.1.",
        legal: "a handshake, and the right answer over HTTP/1.1",
        hint: "do not demand ALPN; most HTTP/1.1 clients do not send it",
        run: none,
        ..BASE
    },
    Probe {
        id: "tls.alpn-other",
        rule: "Port 8081 does not agree to h2, nor to a protocol that nobody \
               knows, also if nothing else is offered.",
        legal: "nothing is selected; or the handshake is refused, with \
                no_application_protocol or otherwise",
        hint: "list http/1.1 and no other protocol in the ALPN of port 8081",
        run: other,
        ..BASE
    },
    Probe {
        id: "tls.alpn-h2",
        profiles: TWO,
        rule: "A client that offers h2 first or alone gets h2, and a \
               connection that agreed to http/1.1 or to nothing does not \
               speak HTTP/2.",
        source: "RFC 9113 section 3.2; RFC 7301 section 3.2; contract, \
                 section 3",
        legal: "h2 is selected and HTTP/2 spoken where h2 is the first; where \
                http/1.1 is the first either of them, nothing, or a refused \
                handshake; HTTP/2 without having selected it is a warning",
        hint: "list h2 in the ALPN of port 8443, and look at what was \
               selected before the first byte is read",
        run: http2,
        ..BASE
    },
];

/// What was offered, in words.
fn offer(list: &[&[u8]]) -> String {
    let names: Vec<_> =
        list.iter().map(|p| String::from_utf8_lossy(p)).collect();
    format!("a handshake with ALPN {}", names.join(", "))
}

fn selected(stream: &Stream) -> Option<&[u8]> {
    stream.tls().and_then(|tls| tls.alpn_protocol())
}

fn named(found: Option<&[u8]>) -> String {
    match found {
        Some(name) => format!("{} was selected", name.escape_ascii()),
        None => "nothing was selected".into(),
    }
}

/// A stream for which `list` was offered; no session is a finding.
fn agreed(s: &Session<'_>, list: &[&[u8]]) -> Result<Stream, Box<Miss>> {
    let stream = s.stream(Some(tls::config(list)))?;
    stream.map_err(|why| missed(offer(list), "a session", why))
}

fn http1(s: &mut Session<'_>) -> Outcome {
    for list in [&[H2, H1][..], &[H1, H2], &[H1]] {
        let stream = agreed(s, list)?;
        let found = selected(&stream);
        if found.is_some_and(|found| found != H1) {
            let expected = "http/1.1 selected, or nothing";
            return Err(missed(offer(list), expected, named(found)));
        }
        answered(s, stream)?;
    }
    Ok(())
}

fn none(s: &mut Session<'_>) -> Outcome {
    let stream = s.stream(Some(tls::config(&[])))?;
    let stream = stream
        .map_err(|why| missed("a handshake without ALPN", "a session", why))?;
    answered(s, stream)
}

fn other(s: &mut Session<'_>) -> Outcome {
    let unknown = format!("x-{}", s.rng.between(1000, 999_999));
    for list in [&[H2][..], &[unknown.as_bytes()]] {
        let Ok(stream) = s.stream(Some(tls::config(list)))? else {
            continue;
        };
        let found = selected(&stream);
        if found.is_some() {
            let expected = "nothing selected, or a refused handshake";
            return Err(missed(offer(list), expected, named(found)));
        }
    }
    Ok(())
}

fn http2(s: &mut Session<'_>) -> Outcome {
    for list in [&[H2][..], &[H2, H1]] {
        let stream = agreed(s, list)?;
        let found = selected(&stream);
        if found != Some(H2) {
            return Err(missed(offer(list), "h2 selected", named(found)));
        }
        answered(s, stream)?;
    }
    for list in [&[H1, H2][..], &[H1]] {
        let Ok(mut stream) = s.stream(Some(tls::config(list)))? else {
            continue;
        };
        let found = selected(&stream).map(<[u8]>::to_vec);
        if found.as_deref() == Some(H2) {
            answered(s, stream)?;
            continue;
        }
        let (bytes, token) = ping(s);
        stream.send(&bytes, s.deadline());
        if ponged(s, &mut stream, &token, s.short()).is_ok() {
            let got =
                format!("{}, and HTTP/2 was spoken", named(found.as_deref()));
            let expected = "HTTP/2 only where it was selected";
            let miss = missed(offer(list), expected, got);
            return Err(miss.as_verdict(Verdict::Warn));
        }
    }
    Ok(())
}
