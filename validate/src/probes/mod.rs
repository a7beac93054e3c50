//! All probes, in the order they are listed and reported.

mod alive;
mod comp;
mod conn;
mod framing;
mod http1;
mod json;
mod pipelined;
mod split;
mod statics;
mod sum;
mod sum_forms;
mod sweep;
mod traversal;
mod upload;
mod upload_body;

use crate::probe::Probe;

/// Every probe of this version.
pub(crate) fn all() -> impl Iterator<Item = &'static Probe> {
    [
        sum::PROBES,
        sum_forms::PROBES,
        http1::PROBES,
        framing::PROBES,
        conn::PROBES,
        pipelined::PROBES,
        json::PROBES,
        comp::PROBES,
        upload::PROBES,
        upload_body::PROBES,
        statics::PROBES,
        traversal::PROBES,
        split::PROBES,
        alive::PROBES,
    ]
    .into_iter()
    .flatten()
}

/// The profiles whose endpoint is `/baseline11`.
const SUM: &[&str] = &["baseline", "limited-conn"];
/// Every profile over cleartext HTTP/1.1 without a database.
const PLAIN: &[&str] = &[
    "baseline",
    "pipelined",
    "limited-conn",
    "json",
    "json-comp",
    "upload",
    "static",
];
