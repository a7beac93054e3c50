//! Where the server listens and finds its files: the contract's environment
//! variables, with the contract's defaults; and QUIC's own settings.

use std::{env, io, path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use quinn::{ServerConfig, crypto::rustls::QuicServerConfig};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};

pub struct Config {
    pub port: u16,
    pub static_dir: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Config {
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            port: port(env::var("ARENA_H3_PORT").ok().as_deref())?,
            static_dir: path("STATIC_DIR", "/data/static"),
            certificate: path("TLS_CERT", "/certs/server.crt"),
            key: path("TLS_KEY", "/certs/server.key"),
        })
    }

    /// `None` where there is no certificate.
    pub fn quic(&self) -> Result<Option<ServerConfig>> {
        let chain = match CertificateDer::pem_file_iter(&self.certificate) {
            Err(pem::Error::Io(e)) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            chain => chain.and_then(Iterator::collect::<Result<Vec<_>, _>>),
        };
        let chain = chain.with_context(|| {
            let path = self.certificate.display();
            format!("cannot read the certificate {path}")
        })?;
        let key =
            PrivateKeyDer::from_pem_file(&self.key).with_context(|| {
                format!("cannot read the key {}", self.key.display())
            })?;
        let mut tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .context("the certificate and the key are no pair")?;
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let tls = QuicServerConfig::try_from(tls)?;
        Ok(Some(ServerConfig::with_crypto(Arc::new(tls))))
    }
}

fn port(value: Option<&str>) -> Result<u16> {
    let Some(value) = value else { return Ok(8443) };
    value.parse().with_context(|| {
        format!("ARENA_H3_PORT is {value:?}, expected a port (0 to 65535)")
    })
}

fn path(variable: &str, default: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| default.into(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn config(dir: &std::path::Path) -> Config {
        Config {
            port: 0,
            static_dir: dir.into(),
            certificate: dir.join("a"),
            key: dir.join("b"),
        }
    }

    #[test]
    fn a_port_is_the_contracts_unless_told_otherwise() {
        assert_eq!(port(None).unwrap(), 8443);
        assert_eq!(port(Some("0")).unwrap(), 0);
        let message = format!("{:#}", port(Some("http")).unwrap_err());
        assert!(message.contains("ARENA_H3_PORT is \"http\""), "{message}");
    }

    #[test]
    fn without_a_certificate_there_is_no_quic() {
        let dir = tempfile::tempdir().unwrap();
        assert!(config(dir.path()).quic().unwrap().is_none());
    }

    #[test]
    fn a_certificate_that_is_none_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        let text = "-----BEGIN CERTIFICATE-----\n!\n";
        fs::write(&config.certificate, text).unwrap();
        let message = format!("{:#}", config.quic().err().unwrap());
        let expected = config.certificate.display().to_string();
        assert!(message.contains(&expected), "{message}");
    }
}
