//! The TLS configuration, made once from the mounted certificate.

use std::{io, path::Path, sync::Arc};

use anyhow::{Context, Result};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{self, PemObject},
        },
    },
};

pub const HTTP2: &[u8] = b"h2";

/// `None` where there is no certificate: it is mounted only where a profile
/// needs it, and the rest is served without.
pub fn load(certificate: &Path, key: &Path) -> Result<Option<TlsAcceptor>> {
    let chain = match CertificateDer::pem_file_iter(certificate) {
        Err(pem::Error::Io(e)) if e.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        chain => chain.and_then(Iterator::collect::<Result<Vec<_>, _>>),
    };
    let chain = chain.with_context(|| {
        format!("cannot read the certificate {}", certificate.display())
    })?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("cannot read the key {}", key.display()))?;
    // A client that offers protocols but not this one is refused by rustls.
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the key are no pair")?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

#[cfg(test)]
#[path = "tls_test.rs"]
mod tests;
