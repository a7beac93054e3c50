//! The certificate and what is agreed upon over it.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, bail};
use tokio_rustls::rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// rustls's own defaults: TLS 1.2 and 1.3 with its suites.
#[derive(Clone)]
pub struct Tls {
    config: ServerConfig,
}

impl Tls {
    /// `None` without a certificate: then nothing is served over TLS.
    pub fn load(cert: &Path, key: &Path) -> Result<Option<Self>> {
        if !cert.exists() || !key.exists() {
            return Ok(None);
        }
        let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect)
            .with_context(|| format!("{} is no PEM", cert.display()))?;
        if chain.is_empty() {
            bail!("{} holds no certificate", cert.display());
        }
        let key = PrivateKeyDer::from_pem_file(key).with_context(|| {
            format!("{} holds no private key", key.display())
        })?;
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .context("certificate and key do not fit")?;
        Ok(Some(Self { config }))
    }

    /// As the listener needs it that speaks `protocol` alone.
    pub fn speaking(&self, protocol: &str) -> Arc<ServerConfig> {
        let mut config = self.config.clone();
        config.alpn_protocols = vec![protocol.into()];
        Arc::new(config)
    }
}
