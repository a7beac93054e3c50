//! How connections are made: QUIC's own settings and its TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, EndpointConfig, IdleTimeout, NoneTokenStore, TransportConfig,
};
use rustls::client::Resumption;
use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// The one protocol the contract allows.
pub(super) const ALPN: &[u8] = b"h3";
/// The name in the handshake; nothing is verified against it.
pub(super) const SERVER_NAME: &str = "localhost";
/// Longer than any request may take.
const IDLE: Duration = Duration::from_secs(120);
/// Unidirectional streams a server may have open. Three are of use.
const MAX_UNI: u32 = 16;

/// What every connection of a thread begins with.
pub(super) fn client() -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .context("TLS 1.3 is not there")?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified))
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    // Every handshake is a full one, so that all cost the server the same.
    tls.resumption = Resumption::disabled();
    let tls = QuicClientConfig::try_from(tls)?;
    let mut client = ClientConfig::new(Arc::new(tls));
    client.token_store(Arc::new(NoneTokenStore));
    client.transport_config(Arc::new(transport()?));
    Ok(client)
}

fn transport() -> anyhow::Result<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        // Nothing a server could ask on a stream of its own is answered.
        .max_concurrent_bidi_streams(0u32.into())
        .max_concurrent_uni_streams(MAX_UNI.into())
        .max_idle_timeout(Some(IdleTimeout::try_from(IDLE)?))
        .datagram_receive_buffer_size(None);
    Ok(transport)
}

/// What every UDP socket begins with.
pub(super) fn endpoint() -> EndpointConfig {
    let key = aws_lc_rs_key();
    EndpointConfig::new(key)
}

/// Signs stateless resets. None is ever sent, so any key will do.
fn aws_lc_rs_key() -> Arc<dyn quinn_proto::crypto::HmacKey> {
    use aws_lc_rs_crate::hmac;
    Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &[0; 32]))
}

use ::aws_lc_rs as aws_lc_rs_crate;

/// Takes any certificate: the contract's is signed by itself, and this is a
/// measurement, not a secret.
#[derive(Debug)]
struct Unverified;

impl ServerCertVerifier for Unverified {
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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
