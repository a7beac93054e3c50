//! Stacks: who serves what, seen by stopping the server behind the edge.

use std::time::Duration;

use profiles::ask::Ask;
use profiles::data::STATIC_FILES;

use crate::http::Request;
use crate::link::Exchange as _;
use crate::probe::{BLANK, Miss, Outcome, Probe, Stage};
use crate::session::{Session, summary};

/// The service that answers what is not a file.
const SERVER: &str = "server";
/// An answer that is kept at the edge comes within this.
const KEPT: Duration = Duration::from_millis(700);

const BASE: Probe = Probe {
    profiles: &["gateway-64", "gateway-h3", "production-stack"],
    stage: Stage::Alone,
    source: "contract, stacks",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "stack.static-at-edge",
        rule: "Static files are served by the edge: they are right also while \
               the server behind it stands still.",
        legal: "the files, byte for byte",
        hint: "edge: serve /static from its own mount; do not pass it on",
        run: files,
        ..BASE
    },
    Probe {
        id: "stack.no-edge-cache",
        rule: "The edge keeps no answer of the server: what was asked a moment \
               ago is not answered while the server stands still, and rightly \
               when it goes on.",
        legal: "502, 503, 504, another error, or no answer; then the right \
                answer",
        hint: "edge: switch its cache off for everything but /static",
        run: no_cache,
        ..BASE
    },
];

/// Runs `work` while the server stands still; it goes on in any case.
fn paused(
    s: &mut Session<'_>,
    work: impl FnOnce(&mut Session<'_>) -> Outcome,
) -> Outcome {
    let Some(stack) = s.target.stack.clone() else {
        return Err(Miss::skip(
            "the services of the stack are not at hand",
            "let the arena start the stack, so that it can stop its server",
        ));
    };
    stack.pause(SERVER).map_err(|e| {
        let why = format!("the service `{SERVER}` was not stopped: {e}");
        Miss::skip(&why, "does the stack have a service of that name?")
    })?;
    let found = work(s);
    stack.resume(SERVER).map_err(|e| {
        let why = format!("the service `{SERVER}` was not let go on: {e}");
        Miss::skip(&why, "start the stack anew")
    })?;
    found
}

fn files(s: &mut Session<'_>) -> Outcome {
    paused(s, |s| {
        for _ in 0..4 {
            let file = s.rng.below(STATIC_FILES.len() as u64) as usize;
            s.ask(&Ask::Static { file, accept_encoding: None })?;
        }
        Ok(())
    })
}

/// Questions whose answers must come from the server.
fn dynamic(s: &mut Session<'_>) -> Vec<Ask> {
    let count = s.rng.between(1, 50) as u32;
    let mut all = vec![
        s.sum(1, 9999, None),
        Ask::Json {
            path: s.json_path().into(),
            count,
            multiplier: None,
            accept_encoding: None,
            must_encode: false,
        },
    ];
    if s.profile.name.as_str() == "production-stack" {
        let id = s.rng.between(1, 10_000);
        all.push(Ask::ItemRead { id, accept_encoding: None });
        all.push(Ask::Me { id: 42, accept_encoding: None });
    } else {
        let min = s.rng.between(1, 400);
        let (max, limit, accept_encoding) = (min + 20, 10, None);
        all.push(Ask::AsyncDb { min, max, limit, accept_encoding });
    }
    all
}

fn no_cache(s: &mut Session<'_>) -> Outcome {
    let all = dynamic(s);
    // Twice before, so that whoever keeps answers has them.
    for ask in all.iter().chain(&all) {
        s.ask(ask)?;
    }
    let requests: Vec<Request> = all.iter().map(|ask| s.request(ask)).collect();
    paused(s, |s| {
        for request in &requests {
            let mut link = s.link()?;
            let soon = s.within(KEPT);
            match link.exchange(request, soon) {
                Ok(r) if r.status == 200 => {
                    let expected = "no answer from a server that stands still";
                    return Err(s.miss(request, expected, summary(&r)));
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    for ask in &all {
        s.ask(ask)?;
    }
    Ok(())
}
