//! A TLS server in memory, and one connection of the gun to it without a
//! socket.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::{Arc, LazyLock};

use loadgen::desk::Desk;
use loadgen::plan::Plan;
use loadgen::session::{Http1, Over, Session, Tls};
use profiles::sample::Fault;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ServerConfig, ServerConnection, SupportedCipherSuite,
    SupportedProtocolVersion,
};

use crate::peer;

/// The arena's own certificate and key.
pub fn identity() -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    static IDENTITY: LazyLock<profiles::data::Identity> =
        LazyLock::new(profiles::data::identity);
    let certificate = IDENTITY.certificate.as_bytes();
    (
        vec![CertificateDer::from_pem_slice(certificate).unwrap()],
        PrivateKeyDer::from_pem_slice(IDENTITY.key.as_bytes()).unwrap(),
    )
}

/// A server that speaks `http/1.1` and takes only `suites`.
pub fn config(suites: &[SupportedCipherSuite]) -> ServerConfig {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: suites.to_vec(),
        ..aws_lc_rs::default_provider()
    });
    let version = |s: &SupportedCipherSuite| match s.tls13() {
        Some(_) => &TLS13,
        None => &TLS12,
    };
    let mut versions: Vec<&SupportedProtocolVersion> =
        suites.iter().map(version).collect();
    versions.dedup_by_key(|v| v.version);
    let (chain, key) = identity();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Every suite a server with an RSA certificate can choose.
pub fn suites() -> Vec<SupportedCipherSuite> {
    let name = |s: &SupportedCipherSuite| format!("{:?}", s.suite());
    let all = aws_lc_rs::ALL_CIPHER_SUITES.iter().copied();
    all.filter(|s| !name(s).contains("ECDSA")).collect()
}

/// One of each version.
pub fn one_of_each() -> [SupportedCipherSuite; 2] {
    use aws_lc_rs::cipher_suite as suite;
    [
        suite::TLS13_AES_128_GCM_SHA256,
        suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ]
}

/// What the books say of a few requests.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    pub sent: u64,
    pub right: u64,
    pub wrong: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub surplus: u64,
}

impl Tally {
    /// So many requests with right answers.
    pub fn right(n: u64) -> Tally {
        Tally { sent: n, right: n, ..Tally::default() }
    }

    /// That many and one that ended in a fault.
    pub fn and(mut self, fault: Fault) -> Tally {
        self.sent += 1;
        *self.faults.entry(fault).or_default() += 1;
        self
    }
}

/// A shot's plan over TLS.
pub fn plan(definition: &str) -> Plan {
    let definition = over_tls(definition);
    let spec = peer::spec(&definition, "127.0.0.1:1".parse().unwrap(), 1);
    let (_data, input) = peer::on_disk(&spec);
    Plan::new(&std::fs::read_to_string(input).unwrap()).unwrap()
}

/// The definition of a profile, moved to TLS.
pub fn over_tls(definition: &str) -> String {
    let tls =
        definition.replace("protocol = \"http1\"", "protocol = \"http1-tls\"");
    assert_ne!(tls, definition);
    tls
}

/// Both ends of a connection.
pub struct Wire {
    pub session: Tls<Http1>,
    pub server: ServerConnection,
    pub desk: Desk,
    pub kit: <Tls<Http1> as Session>::Kit,
    pub now: u64,
    /// What the server read.
    pub heard: Vec<u8>,
}

impl Wire {
    /// Not connected.
    pub fn down(plan: &Plan, config: &Arc<ServerConfig>) -> Wire {
        let mut desk = Desk::new(plan, 0).unwrap();
        desk.books.open();
        Wire {
            session: Tls::new(0),
            server: ServerConnection::new(config.clone()).unwrap(),
            desk,
            kit: Tls::<Http1>::kit(plan).unwrap(),
            now: 1,
            heard: Vec::new(),
        }
    }

    /// With the handshake behind it.
    pub fn up(plan: &Plan, config: &Arc<ServerConfig>) -> Wire {
        let mut wire = Wire::down(plan, config);
        assert_eq!(wire.greet(usize::MAX), None);
        assert!(wire.session.is_ready() && !wire.server.is_handshaking());
        wire
    }

    /// Shakes hands, the server's bytes in pieces of at most `size`.
    pub fn greet(&mut self, size: usize) -> Option<Over> {
        let Wire { session, desk, kit, now, .. } = self;
        session.open(*now, desk, kit).unwrap();
        assert!(!self.session.is_ready());
        for _ in 0..4 {
            self.flush();
            let words = self.words();
            if let Some(over) = self.feed(&words, size) {
                return Some(over);
            }
        }
        None
    }

    /// Hands the server all that the session has to send; how much that was.
    pub fn flush(&mut self) -> usize {
        let text = self.session.out().text().unwrap().to_vec();
        self.now += 1;
        self.session.wrote(text.len(), self.now, &mut self.desk);
        self.hear(&text);
        text.len()
    }

    /// The server reads `bytes`.
    pub fn hear(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.server.read_tls(&mut bytes).unwrap();
            // What it thinks of them is in its next words.
            let _ = self.server.process_new_packets();
            let _ = self.server.reader().read_to_end(&mut self.heard);
        }
    }

    /// What the server has to send.
    pub fn words(&mut self) -> Vec<u8> {
        let mut words = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut words).unwrap();
        }
        words
    }

    /// What the server sends to say `text`.
    pub fn say(&mut self, text: &str) -> Vec<u8> {
        self.server.writer().write_all(text.as_bytes()).unwrap();
        self.words()
    }

    /// The session receives `bytes` in pieces of at most `size`.
    pub fn feed(&mut self, bytes: &[u8], size: usize) -> Option<Over> {
        let Wire { session, desk, kit, now, .. } = self;
        *now += 1;
        bytes
            .to_vec()
            .chunks_mut(size)
            .find_map(|piece| session.received(piece, *now, desk, kit))
    }

    /// Draws what may be in flight and sends it.
    pub fn ask(&mut self) -> String {
        self.now += 1;
        self.session.fill(self.now, &mut self.desk, &mut self.kit);
        self.heard.clear();
        self.flush();
        String::from_utf8(self.heard.clone()).unwrap()
    }

    /// The connection is over; what the books say.
    pub fn end(&mut self, over: Over) -> Tally {
        self.session.end(over, self.now, &mut self.desk);
        let books = &self.desk.books;
        Tally {
            sent: books.sent,
            right: books.right,
            wrong: books.wrong_by.values().sum(),
            faults: books.faults.clone(),
            surplus: books.surplus,
        }
    }

    /// The server closed the socket.
    pub fn close(&mut self) -> Tally {
        let Wire { session, desk, kit, now, .. } = self;
        let over = session.closed(*now, desk, kit);
        self.end(over)
    }
}

/// The right answers to all requests in `text`, none of which has a body
/// with an empty line in it.
pub fn answers(text: &str) -> String {
    let mut replies = String::new();
    let mut rest = text;
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let (head, number) = (head.to_string(), 0);
        let mut request = peer::Request { head, body: Vec::new(), number };
        rest = after;
        if let Some((_, n)) = request.head.split_once("Content-Length: ") {
            let (body, after) = rest.split_at(n.parse().unwrap());
            (request.body, rest) = (body.into(), after);
        } else if request.head.contains("chunked") {
            let mut parts = rest.splitn(3, "\r\n");
            request.body = parts.nth(1).unwrap().into();
            rest = parts.next().unwrap().strip_prefix("0\r\n\r\n").unwrap();
        }
        replies.push_str(&peer::ok(&request.right()));
    }
    replies
}
