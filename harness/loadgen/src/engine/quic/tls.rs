//! How connections are made: QUIC's own settings and its TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use aws_lc_rs::hmac;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, EndpointConfig, IdleTimeout, NoneTokenStore, TransportConfig,
};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;

use crate::trust::Holder;

/// The one protocol the contract allows.
pub(super) const ALPN: &[u8] = b"h3";
/// Longer than any request may take.
const IDLE: Duration = Duration::from_secs(120);
/// Unidirectional streams a server may have open. Three are of use.
const MAX_UNI: u32 = 16;

/// What every connection of a thread begins with.
pub(super) fn client() -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(default_provider());
    let holder = Holder::of(&provider);
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .context("TLS 1.3 is not there")?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(holder))
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
    // Signs stateless resets. None is ever sent, so any key will do.
    let key = hmac::Key::new(hmac::HMAC_SHA256, &[0; 32]);
    EndpointConfig::new(Arc::new(key))
}
