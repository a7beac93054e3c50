//! Keys from a real handshake, in memory.

use std::io::Read as _;
use std::sync::Arc;

use profiles::data::identity;
use profiles::profile::Protocol;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ServerConfig, ServerConnection, SupportedProtocolVersion, crypto, version,
};

use super::handshake::{Handshake, Offer};
use super::keys::Keys;

fn shake(
    version: &'static SupportedProtocolVersion,
) -> (Keys, ServerConnection) {
    let identity = identity();
    let chain = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain.unwrap()], key.unwrap())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();
    let offer = Offer::new(Protocol::GrpcTls).unwrap();
    let mut out = Vec::new();
    let mut client = Handshake::begin(&offer, &mut out).unwrap();
    let mut done = false;
    while !done {
        hear(&mut server, &out);
        let mut words = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut words).unwrap();
        }
        out.clear();
        done = client.received(&words, &mut out).unwrap();
    }
    hear(&mut server, &out);
    (client.finish().unwrap().0, server)
}

fn hear(server: &mut ServerConnection, mut bytes: &[u8]) -> String {
    let mut heard = Vec::new();
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).unwrap();
        server.process_new_packets().unwrap();
        let _ = server.reader().read_to_end(&mut heard);
    }
    String::from_utf8(heard).unwrap()
}

#[test]
fn worn_keys_are_replaced_where_the_version_can() {
    for (version, updates) in [(&version::TLS13, 3), (&version::TLS12, 0)] {
        let (mut keys, mut server) = shake(version);
        keys.rekey_at = 3;
        let mut out = Vec::new();
        for _ in 0..10 {
            keys.seal(b"word ", &mut out).unwrap();
        }
        let over = if updates == 0 { 8 + 16 } else { 1 + 16 };
        let (data, update) = (10 * (5 + 5 + over), updates * (5 + 5 + over));
        assert_eq!(out.len(), data + update);
        assert_eq!(hear(&mut server, &out), "word ".repeat(10));
    }
}

#[test]
fn a_record_may_hold_as_much_as_any_and_no_more() {
    for version in [&version::TLS13, &version::TLS12] {
        let (mut keys, mut server) = shake(version);
        let text = "x".repeat(super::MAX_PLAIN);
        let mut out = Vec::new();
        keys.seal(text.as_bytes(), &mut out).unwrap();
        assert!(out.len() <= super::MAX_RECORD);
        assert_eq!(hear(&mut server, &out), text);
    }
}
