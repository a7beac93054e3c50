//! All probes, in the order they are listed and reported.

mod alive;
mod comp;
mod conn;
mod crud;
mod database;
mod framing;
mod grpc;
mod grpc_wrong;
mod http1;
mod http1_odd;
mod http2;
mod http2_flow;
mod http2_frames;
mod http2_wrong;
mod http3;
mod json;
mod pipelined;
mod production;
mod production_cache;
mod replaced;
mod split;
mod stack;
mod statics;
mod sum;
mod sum_forms;
mod sweep;
mod tls;
mod tls_alpn;
mod tls_hello;
mod tls_records;
mod traversal;
mod upload;
mod upload_body;
pub(crate) mod websocket;
mod websocket_asks;
mod websocket_frames;

use crate::probe::Probe;

/// Every probe of this version.
pub(crate) fn all() -> impl Iterator<Item = &'static Probe> {
    [
        sum::PROBES,
        sum_forms::PROBES,
        http1::PROBES,
        framing::PROBES,
        http1_odd::PROBES,
        conn::PROBES,
        pipelined::PROBES,
        json::PROBES,
        comp::PROBES,
        upload::PROBES,
        upload_body::PROBES,
        statics::PROBES,
        traversal::PROBES,
        replaced::PROBES,
        split::PROBES,
        tls::PROBES,
        tls_alpn::PROBES,
        tls_hello::PROBES,
        tls_records::PROBES,
        http2::PROBES,
        http2_flow::PROBES,
        http2_frames::PROBES,
        http2_wrong::PROBES,
        http3::PROBES,
        database::PROBES,
        crud::PROBES,
        production::PROBES,
        production_cache::PROBES,
        stack::PROBES,
        grpc::PROBES,
        grpc_wrong::PROBES,
        websocket::PROBES,
        websocket_frames::PROBES,
        alive::PROBES,
    ]
    .into_iter()
    .flatten()
}

/// The profiles that send sums to `/baseline11`, bodies among them.
const SUM: &[&str] = &["baseline", "limited-conn"];
/// Sums by GET, on every transport.
const SUM_GET: &[&str] = &[
    "baseline",
    "limited-conn",
    "api-4",
    "api-16",
    "baseline-h2",
    "baseline-h2c",
    "baseline-h3",
    "gateway-64",
    "gateway-h3",
    "production-stack",
];
/// Documents, on every transport.
const JSON: &[&str] = &[
    "json",
    "json-comp",
    "json-tls",
    "json-h2c",
    "api-4",
    "api-16",
    "gateway-64",
    "gateway-h3",
    "production-stack",
];
/// Static files, on every transport.
const STATIC: &[&str] = &[
    "static",
    "static-h2",
    "static-h3",
    "gateway-64",
    "gateway-h3",
    "production-stack",
];
/// Every profile over HTTP/2.
const HTTP2: &[&str] = &[
    "baseline-h2",
    "static-h2",
    "baseline-h2c",
    "json-h2c",
    "gateway-64",
    "production-stack",
    "unary-grpc",
    "unary-grpc-tls",
    "stream-grpc",
    "stream-grpc-tls",
];
/// Every profile that is asked in requests and answers.
const ASKED: &[&str] = &[
    "baseline",
    "pipelined",
    "limited-conn",
    "json",
    "json-comp",
    "json-tls",
    "upload",
    "static",
    "async-db",
    "crud",
    "api-4",
    "api-16",
    "baseline-h2",
    "static-h2",
    "baseline-h2c",
    "json-h2c",
    "baseline-h3",
    "static-h3",
    "gateway-64",
    "gateway-h3",
    "production-stack",
    "unary-grpc",
    "unary-grpc-tls",
    "stream-grpc",
    "stream-grpc-tls",
];
/// Every profile.
pub(crate) const EVERY: &[&str] = &[
    "baseline",
    "pipelined",
    "limited-conn",
    "json",
    "json-comp",
    "json-tls",
    "upload",
    "static",
    "async-db",
    "crud",
    "api-4",
    "api-16",
    "baseline-h2",
    "static-h2",
    "baseline-h2c",
    "json-h2c",
    "baseline-h3",
    "static-h3",
    "gateway-64",
    "gateway-h3",
    "production-stack",
    "unary-grpc",
    "unary-grpc-tls",
    "stream-grpc",
    "stream-grpc-tls",
    "echo-ws",
    "echo-ws-pipeline",
];
