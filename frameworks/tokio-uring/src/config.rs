//! Where the server listens and finds its files: the contract's environment
//! variables, with the contract's defaults.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

/// Port of the cleartext HTTP/1.1 profiles.
const HTTP_PORT: u16 = 8080;

pub struct Config {
    pub http_port: u16,
    pub dataset: PathBuf,
    pub static_dir: PathBuf,
}

impl Config {
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            http_port: port(env::var("ARENA_HTTP_PORT").ok().as_deref())?,
            dataset: path("DATASET_PATH", "/data/dataset.json"),
            static_dir: path("STATIC_DIR", "/data/static"),
        })
    }
}

fn port(value: Option<&str>) -> Result<u16> {
    let Some(value) = value else { return Ok(HTTP_PORT) };
    value.parse().with_context(|| {
        format!("ARENA_HTTP_PORT is {value:?}, expected a port (0 to 65535)")
    })
}

fn path(variable: &str, default: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| default.into(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_the_contracts_unless_told_otherwise() {
        assert_eq!(port(None).unwrap(), 8080);
        assert_eq!(port(Some("0")).unwrap(), 0);
        assert_eq!(port(Some("18080")).unwrap(), 18080);
    }

    #[test]
    fn a_port_that_is_none_is_named() {
        let message = format!("{:#}", port(Some("http")).unwrap_err());
        assert!(message.contains("\"http\""), "{message}");
    }
}
