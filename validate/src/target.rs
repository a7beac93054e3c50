//! Where an entry listens, and what else the judge may look at.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The services of a stack, as far as the judge may touch them.
pub trait Stack: Send + Sync {
    /// Stops a service from running on, without ending it.
    ///
    /// # Errors
    ///
    /// If there is no such service, or it cannot be stopped.
    fn pause(&self, service: &str) -> std::io::Result<()>;

    /// Lets it run on. One that was not paused is left alone.
    ///
    /// # Errors
    ///
    /// If it cannot be reached.
    fn resume(&self, service: &str) -> std::io::Result<()>;
}

/// The addresses behind the ports of the contract, and what was put beside
/// the entry. Requests name the port of the contract in their `Host` header,
/// wherever the entry really listens.
#[derive(Clone, Default)]
pub struct Target {
    ports: BTreeMap<u16, SocketAddr>,
    /// The database, as its owner sees it.
    pub(crate) database: Option<String>,
    /// The counters of the auth service.
    pub(crate) auth: Option<SocketAddr>,
    /// What tokens are signed with.
    pub(crate) secret: Option<String>,
    /// The certificate that was mounted, in DER.
    pub(crate) certificate: Option<Vec<u8>>,
    /// The folder that the entry serves static files from; its own copy.
    pub(crate) statics: Option<PathBuf>,
    pub(crate) stack: Option<Arc<dyn Stack>>,
}

impl Target {
    /// An entry whose cleartext HTTP/1.1 listener (8080) is at `address`.
    pub fn local(address: SocketAddr) -> Target {
        Target::default().with(8080, address)
    }

    /// The same entry, with the listener of `port` at `address`.
    #[must_use]
    pub fn with(mut self, port: u16, address: SocketAddr) -> Target {
        self.ports.insert(port, address);
        self
    }

    /// Where the listener of `port` is.
    pub fn address(&self, port: u16) -> Option<SocketAddr> {
        self.ports.get(&port).copied()
    }

    /// With the database at `url`, under a role that owns its tables.
    #[must_use]
    pub fn with_database(self, url: impl Into<String>) -> Target {
        Target { database: Some(url.into()), ..self }
    }

    /// With the counters of the auth service at `address`, and the secret
    /// that it verifies tokens with.
    #[must_use]
    pub fn with_auth(self, address: SocketAddr, secret: &str) -> Target {
        Target { auth: Some(address), secret: Some(secret.into()), ..self }
    }

    /// With the certificate, in DER, that the entry was given.
    #[must_use]
    pub fn with_certificate(self, der: Vec<u8>) -> Target {
        Target { certificate: Some(der), ..self }
    }

    /// With the folder the entry serves static files from. The judge replaces
    /// files in it and puts them back, so nobody else may read it.
    #[must_use]
    pub fn with_statics(self, dir: &Path) -> Target {
        Target { statics: Some(dir.into()), ..self }
    }

    /// With the services of a stack at hand.
    #[must_use]
    pub fn with_stack(self, stack: Arc<dyn Stack>) -> Target {
        Target { stack: Some(stack), ..self }
    }
}

/// The first certificate of a PEM text, in DER.
///
/// # Errors
///
/// If there is none, or it is broken.
pub fn certificate(pem: &[u8]) -> Result<Vec<u8>, String> {
    CertificateDer::from_pem_slice(pem)
        .map(|found| found.as_ref().to_vec())
        .map_err(|why| why.to_string())
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the database's password nor the secret is shown.
        f.debug_struct("Target").field("ports", &self.ports).finish()
    }
}
