//! `/upload`: is the body really read? Cut, late and aborted bodies tell.

use std::time::Duration;

use profiles::profile::Framing;
use profiles::verdict::Verdict;

use super::upload::draw;
use crate::http::{Fault, Request, wait_read};
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};

/// An answer within this, while the body is held back, is too early.
const HELD_BACK: Duration = Duration::from_millis(150);
const ABORTS: usize = 8;

const BASE: Probe = Probe {
    profiles: &["upload"],
    source: "contract, profile upload",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "upload.early",
        rule: "Success is not answered before the body has been received.",
        legal: "no answer while the body is held back, then the number of \
                its bytes",
        hint: "answer after the last byte of the body has been read, not \
               when the head is complete",
        run: early,
        ..BASE
    },
    Probe {
        id: "upload.cut",
        stage: Stage::Rough,
        rule: "A body that ends before its declared length, or before its \
               last chunk, is not answered with success.",
        source: "RFC 9112 section 8; contract, profile upload",
        legal: "4xx, 5xx, a close or a reset; silence is a warning",
        hint: "count bytes as they are read; when the connection ends \
               before the body does, answer 400 or close",
        run: cut,
        ..BASE
    },
    Probe {
        id: "upload.abort",
        stage: Stage::Rough,
        rule: "Uploads that the client aborts harm no later one.",
        legal: "a right answer after the aborted uploads",
        hint: "treat a reset in mid-body as the end of that connection only",
        run: abort,
        ..BASE
    },
];

fn early(s: &mut Session<'_>) -> Outcome {
    for framing in [Framing::Length, Framing::Chunked] {
        let len = s.rng.between(5000, 60_000) as u32;
        let ask = draw(s, len, framing);
        let request = s.request(&ask);
        s.asked.get_or_insert_with(|| request.shown());
        let mut conn = s.open()?;
        // The head, then half of the body: both times there is more to come.
        let half = request.body_at + request.bytes[request.body_at..].len() / 2;
        for (from, to) in [(0, request.body_at), (request.body_at, half)] {
            conn.send(&request.bytes[from..to], s.deadline());
            wait_read(conn.ends().as_slice(), s.short());
            let soon = s.within(HELD_BACK);
            match conn.receive(false, soon) {
                Err(Fault::Late { .. }) => {}
                Err(fault) => return Err(s.faulty(&request, &fault)),
                Ok(response) => {
                    let got = format!(
                        "an answer after {} of {len} body bytes; {}",
                        to - request.body_at,
                        summary(&response)
                    );
                    let expected = "no answer before the body has come";
                    return Err(s.miss(&request, expected, got));
                }
            }
        }
        let by = s.deadline();
        conn.send(&request.bytes[half..], by);
        let response = conn
            .receive(false, by)
            .map_err(|fault| s.faulty(&request, &fault))?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}

fn cut(s: &mut Session<'_>) -> Outcome {
    let declared = s.rng.between(900, 2000);
    let sent = s.rng.between(100, 800);
    let filler = "x".repeat(sent as usize);
    for (extra, body) in [
        (format!("Content-Length: {declared}\r\n"), filler.clone()),
        (
            "Transfer-Encoding: chunked\r\n".into(),
            format!("{declared:x}\r\n{filler}"),
        ),
        (
            "Transfer-Encoding: chunked\r\n".into(),
            format!("{sent:x}\r\n{filler}\r\n"),
        ),
    ] {
        let request = Request::new("POST", "/upload", &s.host, &extra);
        let request = request.with(body.as_bytes());
        s.asked.get_or_insert_with(|| request.shown());
        let mut conn = s.open()?;
        let by = s.deadline();
        conn.send(&request.bytes, by);
        conn.finish();
        match conn.receive(false, by) {
            Ok(response) if response.is_success() => {
                let expected = "no success: the body ended too soon";
                let got = summary(&response);
                return Err(s.miss(&request, expected, got));
            }
            Ok(_) | Err(Fault::Ended { .. }) => {}
            Err(fault @ Fault::Late { got: 0 }) => {
                let miss = s.faulty(&request, &fault);
                return Err(miss.as_verdict(Verdict::Warn));
            }
            Err(fault) => return Err(s.faulty(&request, &fault)),
        }
    }
    Ok(())
}

fn abort(s: &mut Session<'_>) -> Outcome {
    let extra = "Content-Length: 1048576\r\n";
    for _ in 0..ABORTS {
        let sent = s.rng.between(1, 65_536) as usize;
        let head = Request::new("POST", "/upload", &s.host, extra);
        let request = head.with(&vec![b'x'; sent]);
        let mut conn = s.open()?;
        conn.send(&request.bytes, s.deadline());
        conn.reset();
    }
    let len = s.rng.between(1000, 50_000) as u32;
    let ask = draw(s, len, Framing::Length);
    s.ask(&ask).map_err(|mut miss| {
        miss.got = format!("{} (after {ABORTS} aborted uploads)", miss.got);
        miss
    })
}
