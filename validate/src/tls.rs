//! TLS as the judge speaks it: any certificate is taken and remembered, but
//! the server must prove that it holds the key.

use std::sync::Arc;

use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    SupportedProtocolVersion,
};

/// The name in every handshake, as the load sends it.
pub(crate) const SERVER_NAME: &str = "localhost";

/// A client that offers these protocols in ALPN, in this order, over TLS 1.2
/// and 1.3. Nothing of one connection is kept for the next.
pub(crate) fn config(alpn: &[&[u8]]) -> Arc<ClientConfig> {
    config_of(alpn, rustls::ALL_VERSIONS)
}

/// The same over these versions alone.
pub(crate) fn config_of(
    alpn: &[&[u8]],
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(Holder(provider.clone()));
    // The provider has suites for both versions.
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("the provider's own versions")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
    config.resumption = rustls::client::Resumption::disabled();
    Arc::new(config)
}

/// Takes any certificate; which one it must be is a probe's question.
#[derive(Debug)]
struct Holder(Arc<CryptoProvider>);

impl ServerCertVerifier for Holder {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let schemes = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let schemes = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
