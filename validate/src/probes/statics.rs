//! `/static/{file}`: every byte of every file under every coding.

use profiles::ask::Ask;
use profiles::data::STATIC_FILES;

use super::STATIC;
use super::comp::names_vary;
use super::sum_forms::head_of;
use crate::probe::{BLANK, Miss, Outcome, Probe};
use crate::session::{Session, summary};

/// What the load sends.
pub(super) const LOAD: &str = "br;q=1, gzip;q=0.8";

const BASE: Probe = Probe {
    profiles: STATIC,
    source: "contract, endpoint STATIC",
    legal: "200, the content type of the table, and the file's exact bytes",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "static.identity",
        rule: "Without Accept-Encoding every file comes uncompressed, byte \
               for byte, with its content type.",
        hint: "serve the file itself; compress only when the request has \
               an Accept-Encoding",
        run: |s| every(s, None),
        ..BASE
    },
    Probe {
        id: "static.encoded",
        rule: "With the Accept-Encoding of the load every file, decoded, is \
               the file byte for byte.",
        hint: "serve each precompressed sibling under its own \
               Content-Encoding, and do not compress it again",
        run: |s| every(s, Some(LOAD)),
        ..BASE
    },
    Probe {
        id: "static.codings",
        rule: "Only a coding that the request accepts is used, for every \
               file.",
        source: "RFC 9110 section 12.5.3; contract, endpoint STATIC",
        hint: "parse Accept-Encoding: q=0 refuses a coding, and one that is \
               not named is not accepted",
        run: codings,
        ..BASE
    },
    Probe {
        id: "static.missing",
        rule: "A file that is not there is answered with 404.",
        legal: "404",
        hint: "answer 404, not an empty 200, when the file does not exist",
        run: missing,
        ..BASE
    },
    Probe {
        id: "static.head",
        rule: "The answer to HEAD has no body, and a request after it on the \
               same connection is answered as usual.",
        source: "RFC 9110 section 9.3.2",
        legal: "the headers of GET, or 405, 501 or 404; never a body",
        hint: "send no body in answer to HEAD",
        run: head,
        ..BASE
    },
    Probe {
        id: "static.vary",
        rule: "A compressed answer names Accept-Encoding in Vary.",
        source: "contract, endpoint STATIC; RFC 9110 section 12.5.5",
        legal: "Vary with Accept-Encoding; its absence is a warning",
        hint: "send Vary: Accept-Encoding with every compressed file",
        run: vary,
        ..BASE
    },
];

pub(super) fn file(file: usize, accept: Option<&str>) -> Ask {
    Ask::Static { file, accept_encoding: accept.map(Into::into) }
}

/// All files, in an order of their own, on one connection.
fn every(s: &mut Session<'_>, accept: Option<&str>) -> Outcome {
    let mut conn = s.link()?;
    for i in order(s)? {
        s.ask_on(&mut conn, &file(i, accept))?;
    }
    Ok(())
}

/// The files in a random order. An oracle over fewer files asks fewer.
pub(super) fn order(s: &mut Session<'_>) -> Result<Vec<usize>, Box<Miss>> {
    let mut files: Vec<usize> = (0..STATIC_FILES.len())
        .filter(|i| s.oracle.file(*i).is_some())
        .collect();
    if files.is_empty() {
        let why = "the right bytes of no file are known";
        return Err(Miss::skip(why, "generate the data first"));
    }
    s.rng.shuffle(&mut files);
    Ok(files)
}

fn codings(s: &mut Session<'_>) -> Outcome {
    let lists = [
        "gzip",
        "br",
        "gzip;q=0",
        "br;q=0, gzip;q=1",
        "gzip;q=0, br;q=0.5",
        "identity",
        "br;q=0.0, gzip;q=0, *;q=0.1",
    ];
    let mut conn = s.link()?;
    for (n, i) in order(s)?.into_iter().enumerate() {
        // Each file with the two single codings, and with one of the rest.
        for accept in [lists[0], lists[1], lists[2 + n % 5]] {
            s.ask_on(&mut conn, &file(i, Some(accept)))?;
        }
    }
    Ok(())
}

fn missing(s: &mut Session<'_>) -> Outcome {
    let n = s.rng.between(10_000, 99_999);
    for name in [format!("missing-{n}.txt"), format!("missing-{n}.css")] {
        let request = s.get(&format!("/static/{name}"));
        let response = s.exchange(&request)?;
        if response.status != 404 {
            return Err(s.miss(&request, "404", summary(&response)));
        }
    }
    Ok(())
}

fn head(s: &mut Session<'_>) -> Outcome {
    let i = order(s)?[0];
    let length = s.oracle.file(i).map_or(0, <[u8]>::len);
    let ask = file(i, None);
    let kinds = STATIC_FILES[i].content_types;
    head_of(s, &ask.target(), kinds, length, &ask)
}

fn vary(s: &mut Session<'_>) -> Outcome {
    for i in order(s)? {
        if STATIC_FILES[i].compressed {
            let request = s.request(&file(i, Some(LOAD)));
            let response = s.exchange(&request)?;
            return names_vary(s, &request, &response);
        }
    }
    Ok(())
}
