//! `/upload`: the number of bytes that were read.

use profiles::ask::{Ask, MAX_BODY};
use profiles::data::UPLOAD_BODY_BYTES;
use profiles::profile::Framing;

use crate::http::{Request, Style, encode};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;

const BASE: Probe = Probe {
    profiles: &["upload"],
    source: "contract, profile upload",
    legal: "200, text/plain, and the number of body bytes",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "upload.length",
        rule: "POST /upload answers the number of body bytes, for bodies \
               of none, one, and any number of bytes.",
        hint: "read the body to its end and answer the count as text/plain",
        run: length,
        ..BASE
    },
    Probe {
        id: "upload.large",
        rule: "Bodies of the sizes of the load, up to 20 MiB, are taken in \
               whole.",
        hint: "raise the body limit of the framework to 25 MiB; its default \
               is often lower",
        run: large,
        ..BASE
    },
    Probe {
        id: "upload.chunked",
        rule: "A chunked body, which has no length to echo, is counted \
               without its framing.",
        hint: "count the decoded body bytes; do not answer from a header",
        run: chunked,
        ..BASE
    },
    Probe {
        id: "upload.chunk-forms",
        rule: "Chunk sizes may have leading zeros, upper-case digits and \
               extensions.",
        source: "RFC 9112 sections 7.1 and 7.1.1",
        hint: "parse the whole grammar of the chunk-size line",
        run: chunk_forms,
        ..BASE
    },
];

pub(super) fn draw(s: &mut Session<'_>, len: u32, framing: Framing) -> Ask {
    let last = u64::from(MAX_BODY - len);
    Ask::Upload { offset: s.rng.below(last + 1) as u32, len, framing }
}

fn length(s: &mut Session<'_>) -> Outcome {
    let some = s.rng.between(100, 5000) as u32;
    let more = s.rng.between(60_000, 300_000) as u32;
    let mut conn = s.open()?;
    for len in [17, 48, 0, 1, some, more] {
        let ask = draw(s, len, Framing::Length);
        s.ask_on(&mut conn, &ask)?;
    }
    Ok(())
}

fn large(s: &mut Session<'_>) -> Outcome {
    for size in UPLOAD_BODY_BYTES {
        let ask = draw(s, size as u32, Framing::Length);
        s.ask(&ask)?;
    }
    let len = s.rng.between(1 << 20, 6 << 20) as u32;
    let ask = draw(s, len, Framing::Length);
    s.ask(&ask)
}

/// Asks with the body in chunks of these sizes.
fn in_chunks(
    s: &mut Session<'_>,
    len: u32,
    sizes: &[usize],
    style: Style,
) -> Outcome {
    let ask = draw(s, len, Framing::Chunked);
    let Ask::Upload { offset, .. } = ask else { return Ok(()) };
    let body = s.block().body(offset as usize, len as usize);
    let wire = encode(body.unwrap_or_default(), sizes, style);
    let extra = "Transfer-Encoding: chunked\r\n";
    let request = Request::new("POST", "/upload", &s.host, extra).with(&wire);
    let response = s.exchange(&request)?;
    s.judge(&ask, &request, &response)
}

fn chunked(s: &mut Session<'_>) -> Outcome {
    let plain = Style::default();
    let odd = s.rng.between(3, 4000) as usize;
    let len = s.rng.between(2000, 90_000) as u32;
    let long = s.rng.between(1 << 20, 2 << 20) as u32;
    in_chunks(s, 0, &[], plain)?;
    in_chunks(s, 19, &[1], plain)?;
    in_chunks(s, len, &[odd, 1, 2 * odd + 1], plain)?;
    in_chunks(s, long, &[65_537, 16_384, 7], plain)
}

fn chunk_forms(s: &mut Session<'_>) -> Outcome {
    let len = s.rng.between(2000, 40_000) as u32;
    let plain = Style::default();
    for style in [
        Style { upper: true, ..plain },
        Style { zeros: 4, ..plain },
        Style { extension: ";part=one", ..plain },
    ] {
        in_chunks(s, len, &[171, 2748], style)?;
    }
    Ok(())
}
