//! Has the server read what was sent? The kernel knows, if the server runs
//! on this machine: then a pause can be as long as it must be, and a busy
//! machine does not hide what the pause is there to show.
//!
//! The question goes over netlink (`sock_diag(7)`), one socket at a time:
//! the tables under `/proc/net` take milliseconds to print on a machine that
//! has just been under load.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink,
    recv, sendto, socket_with,
};

const LOOK_AGAIN: Duration = Duration::from_millis(3);

const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
/// Where an answer has the receive queue: after the header, four bytes, the
/// id of the socket and its timer.
const QUEUE_AT: usize = HEADER + 4 + 48 + 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const TCP: u8 = 6;

/// The two ends of a connection: the server's, then ours.
pub(crate) type Ends = (SocketAddr, SocketAddr);

/// Waits until the server has read everything on these connections, at most
/// until `deadline`. Where its end is not to be seen it counts as read.
pub(crate) fn wait_read(ends: &[Ends], deadline: Instant) {
    let flags = SocketFlags::CLOEXEC;
    let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
    let diag = socket_with(family, kind, flags, Some(netlink::SOCK_DIAG));
    let Ok(diag) = diag else { return };
    for end in ends {
        while unread(&diag, end).is_some_and(|n| n > 0) {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Bytes that the server has not read yet; `None` where the kernel does not
/// know the socket or does not say.
fn unread(diag: &OwnedFd, (server, ours): &Ends) -> Option<u32> {
    let mut ask = Vec::with_capacity(REQUEST);
    ask.extend((REQUEST as u32).to_ne_bytes());
    ask.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    ask.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence and port: one question at a time needs neither.
    ask.extend([0; 8]);
    let family = match server {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    ask.extend([family.as_raw() as u8, TCP, 0, 0]);
    // Sockets in any state.
    ask.extend(u32::MAX.to_ne_bytes());
    ask.extend(server.port().to_be_bytes());
    ask.extend(ours.port().to_be_bytes());
    for end in [server, ours] {
        let mut address = [0; 16];
        match end.ip() {
            IpAddr::V4(ip) => address[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => address = ip.octets(),
        }
        ask.extend(address);
    }
    // Any interface, and no cookie.
    ask.extend([0; 4]);
    ask.extend([0xff; 8]);
    let kernel = netlink::SocketAddrNetlink::new(0, 0);
    sendto(diag, &ask, SendFlags::empty(), &kernel).ok()?;
    let mut answer = [0; 512];
    let (_, len) = recv(diag, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
    let answer = &answer[..len];
    let kind = answer.get(4..6)?.try_into().ok()?;
    if u16::from_ne_bytes(kind) != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let queue = answer.get(QUEUE_AT..QUEUE_AT + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(queue))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[track_caller]
    fn counts(listen: &str) {
        let Ok(listener) = TcpListener::bind(listen) else {
            eprintln!("skipped: this machine has no {listen}");
            return;
        };
        let to = listener.local_addr().unwrap();
        let mut ours = TcpStream::connect(to).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(b"12345").unwrap();
        let diag = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        );
        let ends = (to, ours.local_addr().unwrap());
        let Some(n) = diag.as_ref().ok().and_then(|d| unread(d, &ends)) else {
            eprintln!("skipped: this kernel has no sock_diag for TCP");
            return;
        };
        assert_eq!(n, 5);
        theirs.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(unread(&diag.unwrap(), &ends), Some(0));
        wait_read(&[ends], Instant::now());
    }

    #[test]
    fn bytes_count_until_the_server_reads_them() {
        counts("127.0.0.1:0");
        counts("[::1]:0");
    }
}
