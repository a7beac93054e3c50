//! TLS below HTTP: records of any size and cut anywhere, farewells, and what
//! is no TLS at all.

use std::time::Duration;

use profiles::profile::Protocol;

use super::tls::{
    ALL, answered, document, missed, own_alpn, ping, ponged, usual,
};
use crate::hello::{Offer, client};
use crate::http::{Conn, Request, show, wait_read};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};
use crate::stream::Stream;
use crate::tape::Said;

/// The TCP segments of one request, when it is cut.
const PIECES: usize = 12;
/// Between them, at least.
const PAUSE: Duration = Duration::from_millis(2);

const BASE: Probe = Probe { profiles: ALL, ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "tls.records",
        rule: "A request is answered rightly when every byte of it is a \
               record of its own, all in one segment, and when records are \
               cut over many segments.",
        source: "RFC 8446 section 5.1: record boundaries mean nothing",
        legal: "the right answer",
        hint: "read from the TLS library as from a stream: one read may give \
               a part of a record's content, or that of many records",
        run: records,
        ..BASE
    },
    Probe {
        id: "tls.close",
        stage: Stage::Rough,
        rule: "Clients that say close_notify, before, within or after a \
               request, are let go and harm no later one.",
        source: "RFC 8446 section 6.1; RFC 9112 section 9.8",
        legal: "the connection ends, with an answer or without, and later \
                ones are answered rightly; one that stays open is a warning",
        hint: "treat close_notify as the end of one connection, and close it",
        run: close,
        ..BASE
    },
    Probe {
        id: "tls.plain",
        stage: Stage::Rough,
        rule: "HTTP in cleartext is not spoken on a TLS port, neither version \
               1.1 nor version 2.",
        source: "contract, section 3",
        legal: "an alert, a close, no answer, or an HTTP answer that is no \
                success",
        hint: "serve cleartext on its own port only",
        run: plain,
        ..BASE
    },
    Probe {
        id: "tls.garbage",
        stage: Stage::Rough,
        rule: "Bytes that are no TLS, hellos that are cut, and records that \
               were changed on the way end one connection and harm no other.",
        source: "RFC 8446 sections 5.2 and 6.2",
        legal: "an alert, a close, or no answer; later connections are \
                answered rightly",
        hint: "a handshake or record that fails ends its own connection; it \
               must not end the loop that accepts",
        run: garbage,
        ..BASE
    },
];

fn records(s: &mut Session<'_>) -> Outcome {
    // Each byte alone and all at once; then cut over segments.
    for size in [1, 3, 7] {
        let pieces = if size == 1 { 1 } else { PIECES };
        one_by_one(s, size, pieces).map_err(|mut miss| {
            let how = match pieces {
                1 => "one segment".into(),
                n => format!("{n} segments"),
            };
            let got = &miss.got;
            miss.got = format!("{got} (records of {size} bytes, {how})");
            miss
        })?;
    }
    Ok(())
}

/// One request in records of `size` bytes, sent in so many segments.
fn one_by_one(s: &mut Session<'_>, size: usize, pieces: usize) -> Outcome {
    let mut stream = usual(s)?;
    if s.profile.protocol == Protocol::Http1Tls {
        let ask = document(s);
        let request = s.request(&ask);
        let track = s.tape.track();
        track.bytes(Said::Judge, &request.bytes);
        s.asked.get_or_insert_with(|| request.shown());
        sealed(s, &mut stream, &request.bytes, size, pieces);
        let mut conn = Conn::over(stream, track);
        let response = conn
            .receive(false, s.deadline())
            .map_err(|fault| s.faulty(&request, &fault))?;
        return s.judge(&ask, &request, &response);
    }
    let (bytes, token) = ping(s);
    sealed(s, &mut stream, &bytes, size, pieces);
    ponged(s, &mut stream, &token, s.deadline())
}

fn sealed(
    s: &mut Session<'_>,
    stream: &mut Stream,
    bytes: &[u8],
    size: usize,
    pieces: usize,
) {
    let wire = stream.sealed(bytes, size);
    let mut cuts: Vec<usize> = (1..pieces)
        .map(|_| s.rng.between(1, wire.len() as i64 - 1) as usize)
        .collect();
    if pieces > 1 {
        // One surely within the first record's header.
        cuts.push(s.rng.between(1, 4) as usize);
    }
    cuts.push(wire.len());
    cuts.sort_unstable();
    cuts.dedup();
    let mut from = 0;
    for to in cuts {
        stream.send_raw(&wire[from..to], s.deadline());
        from = to;
        if to < wire.len() {
            std::thread::sleep(PAUSE);
            let ends: Vec<_> = stream.ends().into_iter().collect();
            wait_read(&ends, s.short());
        }
    }
}

fn close(s: &mut Session<'_>) -> Outcome {
    let (whole, _) = match s.profile.protocol {
        Protocol::Http1Tls => {
            let ask = document(s);
            (s.request(&ask).bytes, [0; 8])
        }
        _ => ping(s),
    };
    let within = s.rng.between(1, whole.len() as i64 - 1) as usize;
    let mut open = None;
    for (when, sent) in [
        ("before a request", 0),
        ("within a request", within),
        ("after a request", whole.len()),
    ] {
        let stream = usual(s)?;
        let mut conn = Conn::over(stream, s.tape.track());
        conn.send(&whole[..sent], s.deadline());
        conn.finish();
        if conn.wait_end(s.short()).is_none() {
            open.get_or_insert(when);
        }
    }
    let stream = usual(s)?;
    answered(s, stream).map_err(|mut miss| {
        miss.got = format!("{} (after close_notify)", miss.got);
        miss
    })?;
    match open {
        None => Ok(()),
        Some(when) => {
            let asked = format!("close_notify {when}");
            let got = "the connection stayed open";
            let miss = missed(asked, "the end of the connection", got);
            Err(miss.as_verdict(profiles::verdict::Verdict::Warn))
        }
    }
}

fn plain(s: &mut Session<'_>) -> Outcome {
    let path = match s.profile.protocol {
        Protocol::Http1Tls => document(s).target(),
        _ => s.sum(1, 9999, None).target(),
    };
    let request = s.get(&path);
    s.asked.get_or_insert_with(|| request.shown());
    if let Ok(stream) = s.stream(None)? {
        let mut conn = Conn::over(stream, s.tape.track());
        conn.send(&request.bytes, s.short());
        if let Ok(response) = conn.receive(false, s.short()) {
            refused(s, &request, response.status, || summary(&response))?;
        }
    }
    let (bytes, token) = ping(s);
    if let Ok(mut stream) = s.stream(None)? {
        stream.send(&bytes, s.short());
        if ponged(s, &mut stream, &token, s.short()).is_ok() {
            let asked = "an HTTP/2 preface and a PING in cleartext";
            let expected = "no HTTP/2 without TLS";
            return Err(missed(asked, expected, "the PING was answered"));
        }
    }
    Ok(())
}

fn refused(
    s: &Session<'_>,
    request: &Request,
    status: u16,
    got: impl Fn() -> String,
) -> Outcome {
    match status {
        200..=299 => Err(s.miss(request, "no success without TLS", got())),
        _ => Ok(()),
    }
}

fn garbage(s: &mut Session<'_>) -> Outcome {
    for bytes in rubbish(s) {
        if let Ok(mut stream) = s.stream(None)? {
            s.tape.track().bytes(Said::Judge, &bytes);
            s.asked.get_or_insert_with(|| show(&bytes));
            stream.send(&bytes, s.short());
            stream.finish();
            // The server has seen it when it hangs up; many wait for more.
            let ends: Vec<_> = stream.ends().into_iter().collect();
            wait_read(&ends, s.short());
        }
    }
    changed(s)?;
    let stream = usual(s)?;
    answered(s, stream).map_err(|mut miss| {
        miss.got = format!("{} (after bytes that are no TLS)", miss.got);
        miss
    })
}

/// What is sent instead of a hello.
fn rubbish(s: &mut Session<'_>) -> Vec<Vec<u8>> {
    let mut noise = |len: i64| {
        let mut bytes = vec![0; s.rng.between(len / 2, len) as usize];
        s.rng.fill(&mut bytes);
        bytes
    };
    let random = noise(600);
    // Data before any handshake.
    let mut early = noise(200);
    let length = (early.len() - 5) as u16;
    early[..3].copy_from_slice(&[23, 3, 3]);
    early[3..5].copy_from_slice(&length.to_be_bytes());
    // A record longer than any may be.
    let mut long = noise(600);
    long[..5].copy_from_slice(&[22, 3, 1, 0xff, 0xff]);
    let alert = vec![21, 3, 3, 0, 2, 2, 40];
    let offer = Offer {
        version: 0x0303,
        versions: &[],
        suites: &[0xc02f, 0xc030],
        alpn: own_alpn(s),
    };
    let mut cut = client(&offer, &mut s.rng);
    cut.truncate(s.rng.between(6, cut.len() as i64 - 1) as usize);
    vec![random, early, long, alert, cut]
}

/// A request in a record that was changed on the way.
fn changed(s: &mut Session<'_>) -> Outcome {
    let mut stream = usual(s)?;
    let path = s.sum_path().to_string();
    let request = match s.profile.protocol {
        Protocol::Http1Tls => {
            let ask = document(s);
            s.request(&ask)
        }
        _ => s.get(&path),
    };
    let mut wire = stream.sealed(&request.bytes, usize::MAX);
    // In its content, beyond its header.
    let at = s.rng.between(5, wire.len() as i64 - 1) as usize;
    wire[at] ^= 1 << s.rng.below(8);
    stream.send_raw(&wire, s.short());
    let mut conn = Conn::over(stream, s.tape.track());
    match conn.receive(false, s.short()) {
        Ok(response) => {
            let expected = "an alert or a close: the record is forged";
            Err(s.miss(&request, expected, summary(&response)))
        }
        Err(_) => Ok(()),
    }
}
