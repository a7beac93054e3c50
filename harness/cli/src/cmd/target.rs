//! `--target`: a server that somebody else started, and what is beside it.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use profiles::profile::Profile;
use validate::Target;

use crate::exit::{Class, fail};
use crate::print;

/// What may be said beside an address.
const FORMS: &str = "write http://127.0.0.1 for all ports of the contract, \
                     8443=127.0.0.1:9443 for one port, or database=URL, \
                     auth=HOST:PORT, secret=TEXT, certificate=FILE, \
                     statics=DIR";

/// Reads all of them; ports that are not said are those of the contract.
pub fn read(texts: &[String], profiles: &[&Profile]) -> anyhow::Result<Target> {
    let mut target = Target::default();
    let (mut auth, mut secret) = (None, None);
    for text in texts {
        let (name, value) = text.split_once('=').unwrap_or(("", text));
        target = match name {
            _ if text.contains("://") && !name.starts_with("database") => {
                whole(target, text, profiles)?
            }
            "database" => target.with_database(value),
            "certificate" => target.with_certificate(der(value)?),
            "statics" => target.with_statics(Path::new(value)),
            "auth" => {
                auth = Some(address(value, text)?);
                target
            }
            "secret" => {
                secret = Some(value);
                target
            }
            port => match port.parse() {
                Ok(port) => target.with(port, address(value, text)?),
                Err(_) => return Err(bad(text)),
            },
        };
    }
    Ok(match (auth, secret) {
        (Some(auth), Some(secret)) => target.with_auth(auth, secret),
        (None, None) => target,
        _ => {
            return Err(fail(
                Class::Usage,
                "auth= and secret= belong together: say both",
            ));
        }
    })
}

/// `http://HOST` or `http://HOST:PORT`, where PORT stands for 8080.
fn whole(
    mut target: Target,
    text: &str,
    profiles: &[&Profile],
) -> anyhow::Result<Target> {
    let (scheme, rest) = text.split_once("://").ok_or_else(|| bad(text))?;
    let usual = match scheme {
        "http" => 8080,
        "https" => 8443,
        _ => return Err(bad(text)),
    };
    let rest = rest.trim_end_matches('/');
    let (host, given) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    for profile in profiles {
        if target.address(profile.port).is_none() {
            let at = format!("{host}:{}", profile.port);
            target = target.with(profile.port, address(&at, text)?);
        }
    }
    if let Some(port) = given {
        target = target.with(usual, address(&format!("{host}:{port}"), text)?);
    }
    Ok(target)
}

fn address(value: &str, text: &str) -> anyhow::Result<SocketAddr> {
    let found = value.to_socket_addrs().map_err(|_| bad(text))?;
    let found: Vec<SocketAddr> = found.collect();
    // Entries listen on all interfaces; `localhost` is best asked over IPv4.
    let v4 = found.iter().find(|a| a.is_ipv4());
    v4.or(found.first()).copied().ok_or_else(|| bad(text))
}

fn bad(text: &str) -> anyhow::Error {
    let shown = print::safe(text);
    fail(Class::Usage, format!("`{shown}` is not a target; {FORMS}"))
}

/// The first certificate of a PEM file.
fn der(path: &str) -> anyhow::Result<Vec<u8>> {
    let found = std::fs::read(path)
        .map_err(|e| e.to_string())
        .and_then(|pem| validate::certificate(&pem));
    found.map_err(|why| {
        let shown = print::safe(path);
        fail(Class::Usage, format!("`{shown}` holds no certificate: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use profiles::catalog::Catalog;

    fn of(texts: &[&str]) -> anyhow::Result<Target> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalog = Catalog::load(&root).unwrap();
        let profiles: Vec<&Profile> = catalog.profiles.iter().collect();
        let texts: Vec<String> = texts.iter().map(|t| t.to_string()).collect();
        read(&texts, &profiles)
    }

    #[test]
    fn a_host_has_the_ports_of_the_contract_but_for_those_that_are_said() {
        let target =
            of(&["8443=127.0.0.2:9443", "http://127.0.0.1:18080"]).unwrap();
        let at = |port: u16| target.address(port).unwrap().to_string();
        assert_eq!(at(8080), "127.0.0.1:18080");
        assert_eq!(at(8081), "127.0.0.1:8081");
        assert_eq!(at(8082), "127.0.0.1:8082");
        assert_eq!(at(8443), "127.0.0.2:9443");
        let one = of(&["8080=127.0.0.1:1"]).unwrap();
        assert_eq!(one.address(8443), None);
        let six = of(&["http://[::1]:1"]).unwrap();
        assert_eq!(six.address(8080).unwrap().to_string(), "[::1]:1");
    }

    #[test]
    fn what_is_no_target_is_refused_with_the_forms() {
        for text in
            ["8080", "ftp://a", "x=127.0.0.1:1", "8080=", "http://", "="]
        {
            let why = of(&[text]).unwrap_err().to_string();
            assert!(why.contains("is not a target"), "{text}: {why}");
        }
        let half = of(&["auth=127.0.0.1:1"]).unwrap_err().to_string();
        assert!(half.contains("say both"), "{half}");
        let none = of(&["certificate=/no/such"]).unwrap_err().to_string();
        assert!(none.contains("no certificate"), "{none}");
    }
}
