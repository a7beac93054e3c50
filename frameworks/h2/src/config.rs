//! Where the server listens and finds its files: the contract's environment
//! variables, with the contract's defaults.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

pub struct Config {
    pub ports: Ports,
    pub dataset: PathBuf,
    pub static_dir: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// One for each listener; all of them speak HTTP/2 and serve everything.
pub struct Ports {
    /// Where the contract has gRPC in cleartext.
    pub grpc: u16,
    pub plain: u16,
    pub tls: u16,
}

impl Config {
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            ports: Ports {
                grpc: port("ARENA_HTTP_PORT", 8080)?,
                plain: port("ARENA_H2C_PORT", 8082)?,
                tls: port("ARENA_H2_PORT", 8443)?,
            },
            dataset: path("DATASET_PATH", "/data/dataset.json"),
            static_dir: path("STATIC_DIR", "/data/static"),
            certificate: path("TLS_CERT", "/certs/server.crt"),
            key: path("TLS_KEY", "/certs/server.key"),
        })
    }
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
        let read = read_port("ARENA_H2C_PORT", Some("http"), 8082);
        let message = format!("{:#}", read.unwrap_err());
        assert!(message.contains("ARENA_H2C_PORT is \"http\""), "{message}");
    }
}
