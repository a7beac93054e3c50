//! From a connected socket to traffic keys, by rustls.

use std::fmt;
use std::sync::Arc;

use anyhow::Context as _;
use profiles::profile::Protocol;
use rustls::client::{ClientConfig, Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};

use super::keys::Keys;
use super::words;
use crate::trust::{Holder, SERVER_NAME};

/// A handshake is over within so many bytes of the server.
const MOST_BYTES: usize = 128 * 1024;
const BROKEN: &str = "the server's TLS handshake is against the rules";

/// What every handshake of a thread offers.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    protocol: &'static str,
}

impl Offer {
    /// For the protocol of a profile: one application protocol, TLS 1.3 and
    /// 1.2, nothing of an earlier connection.
    pub(super) fn new(protocol: Protocol) -> anyhow::Result<Offer> {
        let protocol = match protocol {
            Protocol::Http2Tls | Protocol::GrpcTls => "h2",
            _ => "http/1.1",
        };
        let provider = Arc::new(provider());
        let holder = Holder::of(&provider);
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[
                &rustls::version::TLS13,
                &rustls::version::TLS12,
            ])
            .context("TLS 1.2 and 1.3 with one provider")?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(holder))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        // We check, so that the words can name what the server chose.
        config.check_selected_alpn = false;
        config.resumption = Resumption::disabled();
        config.enable_early_data = false;
        config.enable_secret_extraction = true;
        let name = ServerName::try_from(SERVER_NAME)
            .context("the name of every entry")?;
        Ok(Offer { config: Arc::new(config), name, protocol })
    }
}

/// The cheapest suite goes first, as in browsers; a server may choose any.
fn provider() -> CryptoProvider {
    use aws_lc_rs::{cipher_suite as suite, kx_group};
    CryptoProvider {
        cipher_suites: vec![
            suite::TLS13_AES_128_GCM_SHA256,
            suite::TLS13_AES_256_GCM_SHA384,
            suite::TLS13_CHACHA20_POLY1305_SHA256,
            suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ],
        kx_groups: vec![
            kx_group::X25519,
            kx_group::SECP256R1,
            kx_group::SECP384R1,
        ],
        ..aws_lc_rs::default_provider()
    }
}

/// A handshake under way; dropped when it is done.
pub(super) struct Handshake {
    tls: UnbufferedClientConnection,
    offered: &'static str,
    /// What came and was not used yet.
    incoming: Vec<u8>,
    /// What the server said before it heard our last word.
    early: Vec<u8>,
}

impl Handshake {
    /// Begins one; its first words go to `out`.
    pub(super) fn begin(
        offer: &Offer,
        out: &mut Vec<u8>,
    ) -> Result<Handshake, &'static str> {
        let config = offer.config.clone();
        let tls = UnbufferedClientConnection::new(config, offer.name.clone())
            .map_err(|_| "a TLS handshake could not be begun")?;
        let (incoming, early) = Default::default();
        let offered = offer.protocol;
        let mut handshake = Handshake { tls, offered, incoming, early };
        handshake.advance(out)?;
        Ok(handshake)
    }

    /// Bytes came; whether the handshake is done.
    pub(super) fn received(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, &'static str> {
        if self.incoming.len() > MOST_BYTES {
            return Err("the server's TLS handshake is too long");
        }
        self.incoming.extend_from_slice(input);
        self.advance(out)
    }

    fn advance(&mut self, out: &mut Vec<u8>) -> Result<bool, &'static str> {
        loop {
            // What comes behind the handshake is not for rustls to read.
            let done = !self.tls.is_handshaking();
            let upto = if done { 0 } else { self.incoming.len() };
            let UnbufferedStatus { discard, state, .. } =
                self.tls.process_tls_records(&mut self.incoming[..upto]);
            let mut over = None;
            match state.map_err(|error| words::handshake(&error))? {
                ConnectionState::EncodeTlsData(mut data) => {
                    // Asked with no room, it says how much it needs.
                    let Err(EncodeError::InsufficientSize(need)) =
                        data.encode(&mut [])
                    else {
                        return Err(BROKEN);
                    };
                    let start = out.len();
                    out.resize(start + need.required_size, 0);
                    data.encode(&mut out[start..]).map_err(|_| BROKEN)?;
                }
                ConnectionState::TransmitTlsData(sent) => sent.done(),
                ConnectionState::ReadTraffic(mut data) => {
                    while let Some(record) = data.next_record() {
                        let record = record.map_err(|_| BROKEN)?;
                        self.early.extend_from_slice(record.payload);
                    }
                }
                ConnectionState::BlockedHandshake => over = Some(false),
                ConnectionState::WriteTraffic(_) => over = Some(true),
                _ => return Err("the server closed TLS in the handshake"),
            }
            self.incoming.drain(..discard);
            if let Some(done) = over {
                return Ok(done);
            }
        }
    }

    /// The keys, what the server said already, and the bytes behind the
    /// handshake, if the server speaks the protocol that was offered.
    pub(super) fn finish(
        self,
    ) -> Result<(Keys, Vec<u8>, Vec<u8>), &'static str> {
        let answer = self.tls.alpn_protocol();
        if answer != Some(self.offered.as_bytes()) {
            return Err(words::alpn(self.offered, answer));
        }
        let (secrets, kernel) = self
            .tls
            .dangerous_into_kernel_connection()
            .map_err(|error| words::handshake(&error))?;
        Ok((Keys::new(secrets, kernel)?, self.early, self.incoming))
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake").finish_non_exhaustive()
    }
}
