//! What the gun believes of a server, over TLS and over QUIC alike.

use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// The name in every handshake; nothing is verified against it.
pub const SERVER_NAME: &str = "localhost";

/// Believes any certificate: the arena's is signed by itself and its key is
/// public. That the server holds the key is checked all the same, or it
/// could save itself the dearest step of the handshake.
#[derive(Debug)]
pub struct Holder(WebPkiSupportedAlgorithms);

impl Holder {
    /// One that checks signatures as `provider` does.
    pub fn of(provider: &CryptoProvider) -> Holder {
        Holder(provider.signature_verification_algorithms)
    }
}

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
        verify_tls12_signature(message, cert, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
