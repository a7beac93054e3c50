//! The twin's byte streams: TCP, or TLS with the arena's certificate.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

use profiles::data::identity;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub trait Io: Read + Write + Send {}
impl<T: Read + Write + Send> Io for T {}

/// The certificate in DER, and its key.
pub fn certified() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    static MADE: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    let (cert, key) = MADE.get_or_init(|| {
        let made = identity();
        let pem = made.certificate.as_bytes();
        let cert = CertificateDer::from_pem_slice(pem).unwrap();
        let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
        (cert.to_vec(), key.secret_der().to_vec())
    });
    let key = PrivateKeyDer::Pkcs8(key.clone().into());
    (CertificateDer::from(cert.clone()), key)
}

/// A server's TLS with these protocols in ALPN.
pub fn config(alpn: &[&[u8]]) -> Arc<ServerConfig> {
    let (cert, key) = certified();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
    Arc::new(config)
}

/// TCP as it is, or TLS on it.
pub fn over(tcp: TcpStream, tls: Option<Arc<ServerConfig>>) -> Box<dyn Io> {
    let _ = tcp.set_nodelay(true);
    match tls {
        None => Box::new(tcp),
        Some(config) => {
            let session = ServerConnection::new(config).unwrap();
            Box::new(StreamOwned::new(session, tcp))
        }
    }
}
