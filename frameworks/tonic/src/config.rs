//! Where the server listens and finds its certificate: the contract's
//! environment variables, with the contract's defaults.

use std::{env, fs, io, path::PathBuf};

use anyhow::{Context, Result};
use tonic::transport::Identity;

pub struct Config {
    pub port: u16,
    pub tls_port: u16,
    /// `None` where there is no certificate: it is mounted only where a
    /// profile needs it, and the rest is served without.
    pub identity: Option<Identity>,
}

impl Config {
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            port: port("ARENA_HTTP_PORT", 8080)?,
            tls_port: port("ARENA_H2_PORT", 8443)?,
            identity: identity(
                path("TLS_CERT", "/certs/server.crt"),
                path("TLS_KEY", "/certs/server.key"),
            )?,
        })
    }
}

fn identity(certificate: PathBuf, key: PathBuf) -> Result<Option<Identity>> {
    let certificate = match fs::read(&certificate) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| {
            format!("cannot read the certificate {}", certificate.display())
        })?,
    };
    let key = fs::read(&key)
        .with_context(|| format!("cannot read the key {}", key.display()))?;
    Ok(Some(Identity::from_pem(certificate, key)))
}

fn port(variable: &str, default: u16) -> Result<u16> {
    read_port(variable, env::var(variable).ok().as_deref(), default)
}

fn read_port(variable: &str, value: Option<&str>, default: u16) -> Result<u16> {
    let Some(value) = value else { return Ok(default) };
    value.parse().with_context(|| {
        format!("{variable} is {value:?}, expected a port (0 to 65535)")
    })
}

fn path(variable: &str, default: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| default.into(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_the_contracts_unless_told_otherwise() {
        let read = |value| read_port("ARENA_HTTP_PORT", value, 8080).unwrap();
        assert_eq!(read(None), 8080);
        assert_eq!(read(Some("0")), 0);
        assert_eq!(read(Some("18080")), 18080);
    }

    #[test]
    fn a_port_that_is_none_is_named() {
        let read = read_port("ARENA_H2_PORT", Some("https"), 8443);
        let message = format!("{:#}", read.unwrap_err());
        assert!(message.contains("ARENA_H2_PORT is \"https\""), "{message}");
    }

    #[test]
    fn only_a_missing_certificate_is_no_error() {
        let here = PathBuf::from(file!());
        let away = PathBuf::from("/nowhere/at/all");
        assert!(identity(away.clone(), here).unwrap().is_none());
        let certificate = PathBuf::from("Cargo.toml");
        let message = identity(certificate, away).unwrap_err().to_string();
        assert!(message.contains("/nowhere/at/all"), "{message}");
    }
}
