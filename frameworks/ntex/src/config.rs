//! Where the server listens and finds its files: the contract's environment
//! variables, with the contract's defaults.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

pub struct Config {
    pub http_port: u16,
    /// HTTP/1.1 over TLS.
    pub https_port: u16,
    /// HTTP/2 in cleartext.
    pub h2c_port: u16,
    /// HTTP/2 over TLS, and HTTP/3.
    pub h2_port: u16,
    pub dataset: PathBuf,
    pub tls_cert: PathBuf,
    pub tls_key: PathBuf,
    pub database_url: Option<String>,
    pub database_max_connections: usize,
}

impl Config {
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            http_port: number("ARENA_HTTP_PORT", 8080)?,
            https_port: number("ARENA_HTTPS_PORT", 8081)?,
            h2c_port: number("ARENA_H2C_PORT", 8082)?,
            h2_port: number("ARENA_H2_PORT", 8443)?,
            dataset: path("DATASET_PATH", "/data/dataset.json"),
            tls_cert: path("TLS_CERT", "/certs/server.crt"),
            tls_key: path("TLS_KEY", "/certs/server.key"),
            database_url: text("DATABASE_URL"),
            database_max_connections: number("DATABASE_MAX_CONN", 256)?.into(),
        })
    }
}

fn number(variable: &str, default: u16) -> Result<u16> {
    match env::var(variable) {
        Ok(value) => parse(variable, &value),
        Err(_) => Ok(default),
    }
}

fn parse(variable: &str, value: &str) -> Result<u16> {
    value.parse().with_context(|| {
        format!("{variable} is {value:?}, expected a number from 0 to 65535")
    })
}

fn text(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

fn path(variable: &str, default: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| default.into(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_contracts_unless_told_otherwise() {
        assert_eq!(number("ARENA_NO_SUCH_PORT", 8081).unwrap(), 8081);
        assert_eq!(parse("ARENA_HTTP_PORT", "0").unwrap(), 0);
        assert_eq!(parse("ARENA_HTTP_PORT", "18080").unwrap(), 18080);
    }

    #[test]
    fn a_number_that_is_none_is_named() {
        let error = parse("ARENA_H2_PORT", "http").unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("ARENA_H2_PORT"), "{message}");
        assert!(message.contains("\"http\""), "{message}");
    }
}
