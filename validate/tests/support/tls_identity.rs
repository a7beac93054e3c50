//! Certificates and configurations of TLS servers.

use std::sync::{Arc, OnceLock};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use profiles::data::{Identity, identity};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{default_provider, sign};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

use crate::tls_front::Habit;

fn mounted() -> &'static Identity {
    static MADE: OnceLock<Identity> = OnceLock::new();
    MADE.get_or_init(identity)
}

/// The certificate that entries find, in DER.
pub fn certificate() -> Vec<u8> {
    der().to_vec()
}

fn der() -> CertificateDer<'static> {
    let pem = mounted().certificate.as_bytes();
    CertificateDer::from_pem_slice(pem).unwrap()
}

/// Certificate and key for a habit, and for a client that knows TLS 1.3 or
/// does not.
fn key(habit: Habit, new: bool) -> Arc<CertifiedKey> {
    static MADE: OnceLock<[Arc<CertifiedKey>; 3]> = OnceLock::new();
    let [right, own, wrong] = MADE.get_or_init(|| {
        let pem = mounted().key.as_bytes();
        let rsa = PrivateKeyDer::from_pem_slice(pem).unwrap();
        let rsa = sign::any_supported_type(&rsa).unwrap();
        let (own, ed) = own();
        let ed = sign::any_eddsa_type(&ed.into()).unwrap();
        let other = other_rsa();
        [(der(), rsa), (own, ed), (der(), other)]
            .map(|(cert, key)| Arc::new(CertifiedKey::new(vec![cert], key)))
    });
    match habit {
        Habit::OwnCertificate => own.clone(),
        Habit::OwnFor12 if !new => own.clone(),
        Habit::WrongKey => wrong.clone(),
        _ => right.clone(),
    }
}

/// A key that is not the certificate's.
fn other_rsa() -> Arc<dyn rustls::sign::SigningKey> {
    let size = aws_lc_rs::rsa::KeySize::Rsa2048;
    let pair = aws_lc_rs::rsa::KeyPair::generate(size).unwrap();
    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let key =
        rustls::pki_types::PrivatePkcs8KeyDer::from(der.as_ref().to_vec());
    sign::any_supported_type(&key.into()).unwrap()
}

/// An Ed25519 certificate for `CN=localhost` and its key, both new.
fn own() -> (CertificateDer<'static>, Vec<u8>) {
    let pair = Ed25519KeyPair::generate().unwrap();
    let public = pair.public_key().as_ref();
    let algorithm = tlv(0x30, &[&[6, 3, 0x2b, 0x65, 0x70]]);
    let common_name = [6, 3, 0x55, 4, 3];
    let value = tlv(0x0c, &[b"localhost"]);
    let attribute = tlv(0x30, &[&common_name, &value]);
    let name = tlv(0x30, &[&tlv(0x31, &[&attribute])]);
    let day = |text: &str| tlv(0x17, &[text.as_bytes()]);
    let validity = tlv(0x30, &[&day("260101000000Z"), &day("450101000000Z")]);
    let bits = tlv(3, &[&[0], public]);
    let info = tlv(0x30, &[&algorithm, &bits]);
    let version = [0xa0, 3, 2, 1, 2];
    let serial = [2, 1, 7];
    // A certificate authority, as the mounted one says of itself.
    let constraint = tlv(4, &[&[0x30, 3, 1, 1, 0xff]]);
    let constraint = tlv(0x30, &[&[6, 3, 0x55, 0x1d, 0x13], &constraint]);
    let extensions = tlv(0xa3, &[&tlv(0x30, &[&constraint])]);
    let body = tlv(
        0x30,
        &[
            &version,
            &serial,
            &algorithm,
            &name,
            &validity,
            &name,
            &info,
            &extensions,
        ],
    );
    let signature = pair.sign(&body);
    let signature = tlv(3, &[&[0], signature.as_ref()]);
    let certificate = tlv(0x30, &[&body, &algorithm, &signature]);
    let key = pair.to_pkcs8v1().unwrap().as_ref().to_vec();
    (certificate.into(), key)
}

/// One DER value of these parts.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut out = vec![tag];
    match body.len() {
        n @ ..=127 => out.push(n as u8),
        n @ ..=255 => out.extend([0x81, n as u8]),
        n => out.extend([0x82, (n >> 8) as u8, n as u8]),
    }
    out.extend(body);
    out
}

/// The configuration for a client, which knows TLS 1.3 or not; none for one
/// that is turned away.
pub fn config(
    habit: Habit,
    port: u16,
    hello: &ClientHello<'_>,
    new: bool,
) -> Option<Arc<ServerConfig>> {
    let versions: &[_] = match habit {
        Habit::Only12 => &[&TLS12],
        Habit::Only13 => &[&TLS13],
        _ => &[&TLS12, &TLS13],
    };
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Always(key(habit, new))));
    let offered: Option<Vec<Vec<u8>>> =
        hello.alpn().map(|list| list.map(<[u8]>::to_vec).collect());
    let offered = match (offered, habit) {
        (None, Habit::AlpnWanted) => return None,
        (offered, _) => offered.unwrap_or_default(),
    };
    let (h1, h2) = (b"http/1.1".to_vec(), b"h2".to_vec());
    let first = offered.first().cloned().unwrap_or_default();
    let own = if port == 8443 { h2.clone() } else { h1.clone() };
    config.alpn_protocols = match habit {
        Habit::NoAlpn => vec![],
        Habit::Both => vec![h2, h1],
        Habit::H1ForBoth if offered.len() > 1 => vec![h1],
        Habit::H2First if first == h2 && offered.len() > 1 => vec![h2],
        Habit::H2Last if offered.len() > 1 && first != h2 => vec![h2],
        Habit::H2Alone if offered == [h2.clone()] => vec![h2],
        Habit::EchoAlpn if first.starts_with(b"x-") => vec![first],
        _ => vec![own],
    };
    match habit {
        Habit::NoTickets => config.send_tls13_tickets = 0,
        Habit::Tickets => {
            config.ticketer =
                rustls::crypto::aws_lc_rs::Ticketer::new().unwrap();
        }
        _ => {}
    }
    Some(Arc::new(config))
}

#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}
