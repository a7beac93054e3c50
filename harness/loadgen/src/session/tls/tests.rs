//! Keys from a real handshake, in memory.

use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use profiles::data::{Identity, identity};
use profiles::profile::Protocol;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ServerConfig, ServerConnection, SupportedProtocolVersion, crypto, version,
};

use super::handshake::{Handshake, Offer};
use super::keys::{Keys, Word};
use super::record::{ALERT, CHANGE_CIPHER_SPEC, DATA, HANDSHAKE, Key};

/// Made once: a key takes its time.
static IDENTITY: LazyLock<Identity> = LazyLock::new(identity);

fn shake(
    version: &'static SupportedProtocolVersion,
) -> (Keys, ServerConnection) {
    let chain = CertificateDer::from_pem_slice(IDENTITY.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(IDENTITY.key.as_bytes());
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain.unwrap()], key.unwrap())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.enable_secret_extraction = true;
    config.send_tls13_tickets = 0;
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

/// Both ends' keys; the server's seals whatever a test wants said.
fn ends(version: &'static SupportedProtocolVersion) -> (Keys, Key) {
    let (keys, server) = shake(version);
    let secrets = server.dangerous_extract_secrets().unwrap();
    (keys, Key::new(secrets.tx, version == &version::TLS13).unwrap())
}

/// What the client makes of one record.
fn opened(
    keys: &mut Keys,
    server: &mut Key,
    kind: u8,
    content: &[u8],
) -> Result<(u8, Vec<u8>), &'static str> {
    let mut record = Vec::new();
    server.seal(kind, content, &mut record).unwrap();
    let (kind, content) = keys.rx.open(&mut record)?;
    Ok((kind, record[content].to_vec()))
}

#[test]
fn padding_is_taken_off_and_records_may_be_empty() {
    let (mut keys, mut server) = ends(&version::TLS13);
    let mut open = |content| opened(&mut keys, &mut server, 0, content);
    assert_eq!(open(b"text\x17\0\0"), Ok((DATA, b"text".into())));
    assert_eq!(open(b"\x17"), Ok((DATA, vec![])));
    assert_eq!(open(b"\0\0"), Err("a TLS record without a content type"));
    for version in [&version::TLS13, &version::TLS12] {
        let (mut keys, mut server) = ends(version);
        let empty = opened(&mut keys, &mut server, DATA, b"");
        assert_eq!(empty, Ok((DATA, vec![])));
    }
}

#[test]
fn more_than_a_record_may_hold_is_refused() {
    for version in [&version::TLS13, &version::TLS12] {
        let (mut keys, mut server) = ends(version);
        let long = vec![b'x'; super::MAX_PLAIN + 1];
        let opened = opened(&mut keys, &mut server, DATA, &long);
        assert_eq!(opened, Err("a TLS record is longer than any may be"));
    }
}

#[test]
fn words_of_the_protocol_are_understood() {
    let wants_new = [24, 0, 0, 1, 1];
    let has_new = [24, 0, 0, 1, 0];
    let ticket = [4, 0, 0, 1, 7];
    let says = |version, kind, content: &[u8]| {
        let (mut keys, _) = ends(version);
        keys.word(kind, content)
    };
    let (new, old) = (&version::TLS13, &version::TLS12);
    for version in [new, old] {
        assert_eq!(says(version, ALERT, &[1, 0]), Ok(Word::Close));
        assert!(says(version, ALERT, &[2, 40]).is_err());
        assert!(says(version, ALERT, &[2]).is_err());
        assert!(says(version, CHANGE_CIPHER_SPEC, &[1]).is_err());
        assert!(says(version, HANDSHAKE, &[]).is_err());
    }
    assert_eq!(says(new, HANDSHAKE, &wants_new), Ok(Word::Rekey));
    assert_eq!(says(new, HANDSHAKE, &has_new), Ok(Word::Nothing));
    assert_eq!(says(new, HANDSHAKE, &ticket), Ok(Word::Nothing));
    // The level of an alert means nothing in TLS 1.3.
    assert_eq!(says(new, ALERT, &[2, 90]), Ok(Word::Nothing));
    assert!(says(new, ALERT, &[1, 100]).is_err());
    assert_eq!(says(old, ALERT, &[1, 100]), Ok(Word::Nothing));
    assert_eq!(says(old, HANDSHAKE, &[0, 0, 0, 0]), Ok(Word::Nothing));
    assert!(says(old, HANDSHAKE, &wants_new).is_err());
}

#[test]
fn data_inside_a_message_is_refused() {
    let (mut keys, _) = ends(&version::TLS13);
    assert!(keys.takes_data());
    assert_eq!(keys.word(HANDSHAKE, &[4, 0, 0, 2, 1]), Ok(Word::Nothing));
    assert!(!keys.takes_data());
    assert!(keys.word(DATA, b"x").is_err());
}
