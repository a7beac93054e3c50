//! TLS of the server: the generated certificate, around any protocol.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::answers::Answers;
use super::talk::{Heard, Talk};

/// The settings of a server that speaks `alpn`.
pub fn config(data: &Path, alpn: &[u8]) -> io::Result<ServerConfig> {
    let dir = data.join("certs");
    let certificates = CertificateDer::pem_file_iter(dir.join("server.crt"))
        .and_then(Iterator::collect)
        .map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(dir.join("server.key"))
        .map_err(io::Error::other)?;
    // Another crate of the build may have brought a second provider.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![alpn.to_vec()];
    Ok(config)
}

/// One connection.
pub struct Tls<T> {
    tls: ServerConnection,
    inner: T,
    plain: Vec<u8>,
    reply: Vec<u8>,
}

impl<T: Talk> Tls<T> {
    pub fn new(config: &Arc<ServerConfig>, inner: T) -> io::Result<Tls<T>> {
        let mut tls =
            ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        tls.set_buffer_limit(None);
        Ok(Tls { tls, inner, plain: vec![0; 32 * 1024], reply: Vec::new() })
    }

    /// What is whole in `bytes` goes to the protocol.
    fn open(&mut self, mut bytes: &[u8], answers: &Answers) -> Option<u32> {
        let mut answered = 0;
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).ok()?;
            self.tls.process_new_packets().ok()?;
            loop {
                match self.tls.reader().read(&mut self.plain) {
                    // The client said goodbye.
                    Ok(0) => return None,
                    Ok(n) => {
                        let plain = &self.plain[..n];
                        let reply = &mut self.reply;
                        match self.inner.hear(plain, answers, reply) {
                            Heard::Answered(n) => answered += n,
                            Heard::HangUp => return None,
                        }
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => return None,
                }
            }
        }
        Some(answered)
    }
}

impl<T: Talk> Talk for Tls<T> {
    fn hear(
        &mut self,
        bytes: &[u8],
        answers: &Answers,
        out: &mut Vec<u8>,
    ) -> Heard {
        let answered = self.open(bytes, answers);
        if self.tls.writer().write_all(&self.reply).is_err() {
            return Heard::HangUp;
        }
        self.reply.clear();
        while self.tls.wants_write() {
            if self.tls.write_tls(out).is_err() {
                return Heard::HangUp;
            }
        }
        answered.map_or(Heard::HangUp, Heard::Answered)
    }
}
