//! Where an entry listens.

use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The addresses behind the ports of the contract. Requests name the port of
/// the contract in their `Host` header, wherever the entry really listens.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Target {
    ports: BTreeMap<u16, SocketAddr>,
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
}
