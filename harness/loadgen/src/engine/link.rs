//! Sockets: opening them, and what to call their errors.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// Where a connection goes to and comes from.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The server.
    pub target: SocketAddr,
    /// Connections one source address can hold; beyond it the next loopback
    /// address is used.
    pub per_source: u32,
}

impl Route {
    /// The source of connection `index`, counted over all threads. The first
    /// ones leave the choice to the system.
    fn source(&self, index: u32) -> Option<SocketAddr> {
        let nth = index / self.per_source.max(1);
        if nth == 0 || !self.target.ip().is_loopback() {
            return None;
        }
        let base = u32::from(Ipv4Addr::LOCALHOST);
        let ip = Ipv4Addr::from(base.checked_add(nth)?);
        self.target.is_ipv4().then_some(SocketAddr::new(IpAddr::V4(ip), 0))
    }

    /// A socket for connection `index`.
    pub fn socket(
        &self,
        index: u32,
        nonblocking: bool,
    ) -> Result<OwnedFd, Errno> {
        let family = match self.target {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let mut flags = SocketFlags::CLOEXEC;
        flags.set(SocketFlags::NONBLOCK, nonblocking);
        let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        // A close is a reset: no port is left waiting on our side.
        sockopt::set_socket_linger(&fd, Some(Duration::ZERO))?;
        if let Some(source) = self.source(index) {
            net::bind(&fd, &source)?;
        }
        Ok(fd)
    }

    /// Begins connection `index`; whether it is made already, as it mostly
    /// is on loopback.
    pub fn open(&self, index: u32) -> Result<(OwnedFd, bool), Errno> {
        let fd = self.socket(index, true)?;
        // On loopback the handshake is over before the first call returns,
        // but only a second one says so; it saves a round through the queue.
        for _ in 0..2 {
            match net::connect(&fd, &self.target) {
                Ok(()) | Err(Errno::ISCONN) => return Ok((fd, true)),
                Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok((fd, false))
    }
}

/// The name of an errno as in the manual pages.
pub fn errno_name(errno: Errno) -> String {
    let name = match errno {
        Errno::ACCESS => "EACCES",
        Errno::ADDRINUSE => "EADDRINUSE",
        Errno::ADDRNOTAVAIL => "EADDRNOTAVAIL",
        Errno::AFNOSUPPORT => "EAFNOSUPPORT",
        Errno::AGAIN => "EAGAIN",
        Errno::CONNABORTED => "ECONNABORTED",
        Errno::CONNREFUSED => "ECONNREFUSED",
        Errno::CONNRESET => "ECONNRESET",
        Errno::HOSTUNREACH => "EHOSTUNREACH",
        Errno::INVAL => "EINVAL",
        Errno::MFILE => "EMFILE",
        Errno::NETUNREACH => "ENETUNREACH",
        Errno::NFILE => "ENFILE",
        Errno::NOBUFS => "ENOBUFS",
        Errno::NOMEM => "ENOMEM",
        Errno::PERM => "EPERM",
        Errno::PIPE => "EPIPE",
        Errno::TIMEDOUT => "ETIMEDOUT",
        other => return format!("errno-{}", other.raw_os_error()),
    };
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn more_connections_than_ports_come_from_more_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let route = Route { target, per_source: 2 };
        let sources: Vec<String> = (0..5)
            .map(|index| {
                let _open = route.open(index).unwrap();
                listener.accept().unwrap().1.ip().to_string()
            })
            .collect();
        let [a, b, c] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
        assert_eq!(sources, [a, a, b, b, c]);
    }

    #[test]
    fn errnos_have_the_names_of_the_manual() {
        assert_eq!(errno_name(Errno::CONNREFUSED), "ECONNREFUSED");
        assert_eq!(errno_name(Errno::from_raw_os_error(999)), "errno-999");
    }
}
