//! `/static/`: nothing outside of the folder is ever served.

use super::STATIC;
use crate::http::{Fault, Request};
use crate::link::Exchange as _;
use crate::probe::{BLANK, Outcome, Probe, Stage};
use crate::session::{Session, summary};

pub(super) const PROBES: &[Probe] = &[Probe {
    id: "static.traversal",
    version: 1,
    profiles: STATIC,
    stage: Stage::Rough,
    rule: "No path under /static/ leads out of the folder, in any spelling.",
    source: "contract, endpoint STATIC; RFC 9110 section 17.3",
    legal: "3xx, 4xx, 5xx or a close; never success",
    hint: "decode the path once, refuse `..`, backslashes and absolute \
           paths, and only then open the file",
    run,
    ..BLANK
}];

/// Paths below `/static/`, first to the dataset beside the folder, then to a
/// file that every system has.
const WAYS: &[&str] = &[
    "../dataset.json",
    "%2e%2e/dataset.json",
    "..%2fdataset.json",
    "%2e%2e%2fdataset.json",
    ".%2e/dataset.json",
    "%252e%252e%252fdataset.json",
    "..\\dataset.json",
    "..%5cdataset.json",
    "....//dataset.json",
    "x/../../dataset.json",
    "./../dataset.json",
    "..;/dataset.json",
    "../../../../../../../../etc/passwd",
    "..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/etc/passwd",
    "%2fetc%2fpasswd",
];

fn run(s: &mut Session<'_>) -> Outcome {
    for way in WAYS {
        let request = s.get(&format!("/static/{way}"));
        refused(s, &request)?;
    }
    Ok(())
}

fn refused(s: &mut Session<'_>, request: &Request) -> Outcome {
    let mut conn = s.link()?;
    s.asked.get_or_insert_with(|| request.shown());
    let by = s.deadline();
    match conn.exchange(request, by) {
        Ok(response) if response.is_success() => {
            let expected = "anything but success";
            Err(s.miss(request, expected, summary(&response)))
        }
        Ok(_) => Ok(()),
        Err(Fault::Ended { .. } | Fault::Reset(_) | Fault::Goaway(_)) => Ok(()),
        Err(fault) => Err(s.faulty(request, &fault)),
    }
}
