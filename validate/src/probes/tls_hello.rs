//! What nobody may agree to any more: versions before TLS 1.2, and suites
//! that hide nothing.

use super::tls::{ALL, missed, own_alpn};
use crate::hello::{Answer, Offer, answer, client};
use crate::http::show;
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;
use crate::stream::Heard;
use crate::tape::Said;

/// Suites of TLS 1.0 and 1.1 that every server with these versions knows.
const OLD_SUITES: &[u16] = &[
    0xc014, 0xc013, 0xc00a, 0xc009, 0x0039, 0x0033, 0x0035, 0x002f, 0xc012,
    0x0016, 0x000a, 0x0005, 0x0004,
];
/// Without encryption, without authentication, of 40 and 56 bits, and RC4.
const WEAK_SUITES: &[u16] = &[
    0x003b, 0x0002, 0x0001, 0xc010, 0xc006, 0x0034, 0x006c, 0x0018, 0xc018,
    0x0003, 0x0008, 0x0014, 0x0009, 0x0015, 0x0005, 0x0004, 0xc011, 0xc007,
];

const BASE: Probe =
    Probe { profiles: ALL, source: "RFC 8996; contract, section 3", ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "tls.version",
        rule: "A client that speaks nothing newer than TLS 1.1, TLS 1.0 or \
               SSL 3.0 gets no session.",
        legal: "an alert, a close, no answer, or a ServerHello of a later \
                version",
        hint: "set the minimum version of the TLS library to 1.2",
        run: version,
        ..BASE
    },
    Probe {
        id: "tls.ciphers",
        rule: "A client that offers only suites without encryption or \
               authentication, export suites, single DES and RC4 gets no \
               session.",
        source: "RFC 9325 section 4.1; RFC 9113 section 9.2.2",
        legal: "an alert, a close, or no answer",
        hint: "leave the library's own choice of cipher suites alone",
        run: ciphers,
        ..BASE
    },
];

/// Says a hello, and reads what the server says to it.
fn said(
    s: &mut Session<'_>,
    offer: &Offer<'_>,
) -> Result<(Option<Answer>, String), Box<crate::probe::Miss>> {
    let bytes = client(offer, &mut s.rng);
    let shown = show(&bytes);
    s.asked.get_or_insert_with(|| shown.clone());
    let track = s.tape.track();
    // Without TLS of ours there is no handshake to refuse.
    let Ok(mut stream) = s.stream(None)? else { return Ok((None, shown)) };
    track.bytes(Said::Judge, &bytes);
    let by = s.short();
    stream.send(&bytes, by);
    let mut heard = Vec::new();
    let mut room = [0; 4096];
    while let Heard::Bytes(n) = stream.read(&mut room, by) {
        track.bytes(Said::Entry, &room[..n]);
        heard.extend(&room[..n]);
        if let Some(found) = answer(&heard) {
            return Ok((Some(found), shown));
        }
    }
    Ok((None, shown))
}

fn version(s: &mut Session<'_>) -> Outcome {
    let alpn = own_alpn(s);
    // As old clients say it, and once as a new client would.
    let offers: [(u16, &[u16]); 4] = [
        (0x0302, &[]),
        (0x0301, &[]),
        (0x0300, &[]),
        (0x0303, &[0x0302, 0x0301]),
    ];
    for (version, versions) in offers {
        let offer = Offer { version, versions, suites: OLD_SUITES, alpn };
        let (found, shown) = said(s, &offer)?;
        if let Some(Answer::Hello { version: got @ ..=0x0302, .. }) = found {
            let expected = "no session of a version before TLS 1.2";
            let got = format!("a ServerHello of {}", name(got));
            return Err(missed(shown, expected, got));
        }
    }
    Ok(())
}

fn name(version: u16) -> String {
    match version {
        0x0302 => "TLS 1.1".into(),
        0x0301 => "TLS 1.0".into(),
        0x0300 => "SSL 3.0".into(),
        other => format!("version {other:#06x}"),
    }
}

fn ciphers(s: &mut Session<'_>) -> Outcome {
    let alpn = own_alpn(s);
    // All of them, then one that is drawn: a server may choose none of many.
    let one = *s.rng.pick(WEAK_SUITES).unwrap_or(&WEAK_SUITES[0]);
    for suites in [WEAK_SUITES, &[one]] {
        let offer = Offer { version: 0x0303, versions: &[], suites, alpn };
        let (found, shown) = said(s, &offer)?;
        if let Some(Answer::Hello { suite, .. }) = found {
            let got = format!("a ServerHello with suite {suite:#06x}");
            return Err(missed(shown, "no session", got));
        }
    }
    Ok(())
}
