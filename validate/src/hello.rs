//! A ClientHello made by hand, for versions and suites that no library offers
//! any more, and what a server says to it.

use profiles::rng::Rng;

use crate::tls::SERVER_NAME;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
/// An answer is known long before.
const LIMIT: usize = 64 * 1024;

/// What a client offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    /// The version of the hello; `0x0301` is TLS 1.0.
    pub(crate) version: u16,
    /// Versions in the extension of TLS 1.3, if any.
    pub(crate) versions: &'a [u16],
    /// Cipher suites.
    pub(crate) suites: &'a [u16],
    /// The protocol in ALPN.
    pub(crate) alpn: &'a [u8],
}

/// What a server says first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// It goes on, with this version and suite.
    Hello { version: u16, suite: u16 },
    /// It refuses.
    Alert(u8),
    /// It does not speak TLS.
    Other,
}

/// The record of a ClientHello.
pub(crate) fn client(offer: &Offer<'_>, rng: &mut Rng) -> Vec<u8> {
    let mut random = [0; 32];
    rng.fill(&mut random);
    let suites: Vec<u8> = words(offer.suites);
    let mut hello = offer.version.to_be_bytes().to_vec();
    hello.extend(random);
    hello.push(0); // no session
    hello.extend(sized(&suites));
    hello.extend([1, 0]); // no compression
    hello.extend(sized(&extensions(offer)));
    let mut message = vec![1, 0]; // client_hello, and a length of 24 bits
    message.extend(sized(&hello));
    let record = offer.version.min(0x0301).to_be_bytes();
    let mut out = vec![HANDSHAKE, record[0], record[1]];
    out.extend(sized(&message));
    out
}

fn extensions(offer: &Offer<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut add = |kind: u16, body: &[u8]| {
        out.extend(kind.to_be_bytes());
        out.extend(sized(body));
    };
    let name = [&[0][..], &sized(SERVER_NAME.as_bytes())].concat();
    add(0, &sized(&name));
    add(10, &sized(&words(&[0x001d, 0x0017, 0x0018, 0x0019])));
    add(11, &[1, 0]); // points are not compressed
    let schemes = [
        0x0401, 0x0403, 0x0501, 0x0503, 0x0601, 0x0603, 0x0804, 0x0805, 0x0806,
        0x0807, 0x0201, 0x0203,
    ];
    add(13, &sized(&words(&schemes)));
    let length = offer.alpn.len() as u8;
    add(16, &sized(&[&[length][..], offer.alpn].concat()));
    add(23, &[]); // extended master secret
    add(0xff01, &[0]); // no renegotiation
    if !offer.versions.is_empty() {
        let versions = words(offer.versions);
        add(43, &[&[versions.len() as u8][..], &versions].concat());
    }
    out
}

fn words(list: &[u16]) -> Vec<u8> {
    list.iter().flat_map(|w| w.to_be_bytes()).collect()
}

/// Bytes after their length in 16 bits.
fn sized(bytes: &[u8]) -> Vec<u8> {
    let mut out = (bytes.len() as u16).to_be_bytes().to_vec();
    out.extend(bytes);
    out
}

/// Reads the answer; `None` while more of it is to come.
pub(crate) fn answer(bytes: &[u8]) -> Option<Answer> {
    let mut rest = bytes;
    let mut message = Vec::new();
    loop {
        let kind = *rest.first()?;
        let is_first = message.is_empty();
        match kind {
            HANDSHAKE | ALERT if rest.get(1).is_none_or(|v| *v == 3) => {}
            _ => return Some(Answer::Other),
        }
        let head = rest.get(..5)?;
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        let body = rest.get(5..5 + length);
        match (kind, body) {
            (ALERT, _) if !is_first => return Some(Answer::Other),
            (ALERT, body) => return Some(Answer::Alert(*body?.get(1)?)),
            // A hello may come in many records, or before the end of one.
            (_, None) => message.extend(&rest[5..]),
            (_, Some(body)) => message.extend(body),
        }
        if message.first().is_some_and(|kind| *kind != SERVER_HELLO)
            || message.len() > LIMIT
        {
            return Some(Answer::Other);
        }
        if let Some(found) = server_hello(&message) {
            return Some(found);
        }
        rest = rest.get(5 + length..)?;
    }
}

fn server_hello(message: &[u8]) -> Option<Answer> {
    let word = |at: usize| {
        let pair = message.get(at..at + 2)?;
        Some(u16::from_be_bytes([pair[0], pair[1]]))
    };
    // Kind, length, version, and 32 random bytes before the session.
    let session = usize::from(*message.get(38)?);
    Some(Answer::Hello { version: word(4)?, suite: word(39 + session)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: u16, suite: u16) -> Vec<u8> {
        let mut hello = version.to_be_bytes().to_vec();
        hello.extend([7; 32]);
        hello.extend([4, 1, 2, 3, 4]);
        hello.extend(suite.to_be_bytes());
        hello.push(0);
        let mut message = vec![SERVER_HELLO, 0];
        message.extend(sized(&hello));
        message
    }

    fn record(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind, 3, 1][..], &sized(body)].concat()
    }

    #[test]
    fn a_hello_is_read_whole_and_in_many_records_and_cut_nowhere() {
        let message = server(0x0302, 0x002f);
        let whole = record(HANDSHAKE, &message);
        let many: Vec<u8> = message
            .chunks(3)
            .flat_map(|part| record(HANDSHAKE, part))
            .collect();
        let right = Answer::Hello { version: 0x0302, suite: 0x002f };
        for bytes in [whole, many] {
            assert_eq!(answer(&bytes), Some(right));
            for cut in 0..bytes.len() {
                let found = answer(&bytes[..cut]);
                assert!(found.is_none() || found == Some(right), "{cut}");
            }
        }
    }

    #[test]
    fn anything_else_is_told_apart() {
        let alert = record(ALERT, &[2, 70]);
        assert_eq!(answer(&alert), Some(Answer::Alert(70)));
        assert_eq!(answer(&alert[..6]), None);
        for other in
            [&b"HTTP/1.1 400 Bad\r\n"[..], &record(HANDSHAKE, &[11]), &[22, 9]]
        {
            assert_eq!(answer(other), Some(Answer::Other), "{other:?}");
        }
    }

    #[test]
    fn a_real_server_understands_the_hello() {
        let offer = Offer {
            version: 0x0303,
            versions: &[],
            suites: &[0xc02f, 0xc030],
            alpn: b"http/1.1",
        };
        let bytes = client(&offer, &mut Rng::new(3, 0));
        let mut acceptor = rustls::server::Acceptor::default();
        acceptor.read_tls(&mut &bytes[..]).unwrap();
        let found = acceptor.accept().unwrap().unwrap();
        let hello = found.client_hello();
        assert_eq!(hello.server_name(), Some(SERVER_NAME));
        assert_eq!(hello.cipher_suites().len(), 2);
        let alpn: Vec<_> = hello.alpn().unwrap().collect();
        assert_eq!(alpn, [b"http/1.1"]);
    }
}
