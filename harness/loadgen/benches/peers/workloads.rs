//! The workloads, and what loadgen must reach in each.

use crate::server::Speaks;
use crate::tool::Peer;
use crate::tool::profile::{CALL, ECHO, FILES, JSON, SUM, SUM2, definition};

/// One row of the table.
pub struct Workload {
    pub name: &'static str,
    pub title: &'static str,
    pub speaks: Speaks,
    /// As in a profile's definition.
    protocol: &'static str,
    pub connections: u32,
    pub in_flight: u32,
    /// The class that loadgen draws from, in a profile's words.
    class: &'static str,
    /// What a peer asks, of the same size.
    pub target: &'static str,
    /// `None` is a row of loadgen alone.
    pub peer: Option<Peer>,
    /// CPU per answer, loadgen over the peer, at most.
    pub goal: Option<f64>,
    /// The same of user time alone.
    pub user_goal: Option<f64>,
}

const H1: Workload = Workload {
    name: "h1-64",
    title: "HTTP/1.1 keep-alive, 64 connections",
    speaks: Speaks::Http1,
    protocol: "http1",
    connections: 64,
    in_flight: 1,
    class: SUM,
    target: "/baseline11?a=1234&b=4321",
    peer: Some(Peer::Wrk),
    goal: Some(0.90),
    user_goal: Some(1.0),
};

const H2C: Workload = Workload {
    name: "h2c",
    title: "HTTP/2 with prior knowledge, 100 streams",
    speaks: Speaks::Http2,
    protocol: "http2-cleartext",
    connections: 16,
    in_flight: 100,
    class: SUM2,
    target: "/baseline2?a=1234&b=4321",
    peer: Some(Peer::H2load),
    goal: Some(0.50),
    user_goal: None,
};

/// All of them, in the order of the table.
pub const WORKLOADS: &[Workload] = &[
    H1,
    Workload {
        name: "h1-512",
        title: "HTTP/1.1 keep-alive, 512 connections",
        connections: 512,
        ..H1
    },
    Workload {
        name: "h1-pipelined",
        title: "HTTP/1.1, 16 in flight, bursts answered in one write",
        in_flight: 16,
        class: "ask = \"pipeline\"",
        target: "/pipeline",
        peer: Some(Peer::WrkPipeline),
        goal: Some(0.60),
        user_goal: None,
        ..H1
    },
    Workload {
        name: "h1-static",
        title: "HTTP/1.1, bodies of 200 KiB, each compared",
        class: FILES,
        target: "/static/components.css",
        goal: Some(1.0),
        user_goal: None,
        ..H1
    },
    Workload {
        name: "h1-tls",
        title: "HTTP/1.1 over TLS, the bodies of json-tls",
        speaks: Speaks::Http1Tls,
        protocol: "http1-tls",
        class: JSON,
        // The mean of the counts that loadgen draws.
        target: "/json/21?m=50",
        peer: Some(Peer::WrkTls),
        goal: Some(0.85),
        user_goal: None,
        ..H1
    },
    Workload {
        name: "h2-tls",
        title: "HTTP/2 over TLS, 32 streams",
        speaks: Speaks::Http2Tls,
        protocol: "http2-tls",
        peer: Some(Peer::H2loadTls),
        goal: Some(0.60),
        in_flight: 32,
        ..H2C
    },
    H2C,
    Workload {
        name: "grpc",
        title: "gRPC unary, 100 streams",
        protocol: "grpc",
        class: CALL,
        target: "/benchmark.BenchmarkService/GetSum",
        peer: Some(Peer::H2loadGrpc),
        goal: Some(0.60),
        ..H2C
    },
    Workload {
        name: "h3",
        title: "HTTP/3, 64 streams",
        speaks: Speaks::Http3,
        protocol: "http3",
        connections: 16,
        in_flight: 64,
        peer: Some(Peer::OhaHttp3),
        goal: Some(0.35),
        ..H2C
    },
    Workload {
        name: "ws",
        title: "WebSocket echo, one in flight",
        speaks: Speaks::WebSocket,
        protocol: "websocket",
        class: ECHO,
        target: "/ws",
        peer: None,
        goal: None,
        user_goal: None,
        ..H1
    },
    Workload {
        name: "ws-pipelined",
        title: "WebSocket echo, 16 in flight",
        speaks: Speaks::WebSocket,
        protocol: "websocket",
        in_flight: 16,
        class: ECHO,
        target: "/ws",
        peer: None,
        goal: None,
        user_goal: None,
        ..H1
    },
];

impl Workload {
    /// The definition loadgen is given.
    pub fn definition(&self) -> String {
        definition(self.title, self.protocol, self.in_flight, self.class)
    }
}
