//! The certificate and what is agreed upon over it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// rustls's own defaults: TLS 1.2 and 1.3 with its suites. `None` without a
/// certificate: then nothing is served over TLS.
pub fn load(cert: &Path, key: &Path) -> Result<Option<ServerConfig>> {
    if !cert.exists() || !key.exists() {
        return Ok(None);
    }
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .with_context(|| format!("{} is no PEM", cert.display()))?;
    if chain.is_empty() {
        bail!("{} holds no certificate", cert.display());
    }
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("{} holds no private key", key.display()))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("certificate and key do not fit")?;
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_certificate_there_is_no_tls_and_no_error() {
        let nowhere = Path::new("/nowhere/server.crt");
        assert!(load(nowhere, nowhere).unwrap().is_none());
    }

    #[test]
    fn a_file_that_is_no_certificate_is_named() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("server.crt");
        std::fs::write(&path, "no PEM").unwrap();
        let message = format!("{:#}", load(&path, &path).unwrap_err());
        assert!(message.contains("server.crt"), "{message}");
    }
}
