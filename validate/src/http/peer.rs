//! Has the server read what was sent? The kernel knows, if the server runs
//! on this machine: then a pause can be as long as it must be, and a busy
//! machine does not hide what the pause is there to show.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

const LOOK_AGAIN: Duration = Duration::from_millis(5);
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The two ports of a connection: the server's, then ours.
pub(crate) type Ports = (u16, u16);

/// Waits until the server has read everything on these connections, at most
/// until `deadline`; false when it has not. Where the server's side is not
/// to be seen it counts as read.
pub(crate) fn has_read(ports: &BTreeSet<Ports>, deadline: Instant) -> bool {
    loop {
        let tables = TABLES.map(|t| fs::read_to_string(t).unwrap_or_default());
        if !tables.iter().any(|t| unread(t, ports)) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Whether a socket of the table is the server's end of one of these
/// connections and has bytes that nobody has read.
fn unread(table: &str, ports: &BTreeSet<Ports>) -> bool {
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let mut port = || {
            let (_, port) = fields.next()?.rsplit_once(':')?;
            u16::from_str_radix(port, 16).ok()
        };
        let (Some(local), Some(remote)) = (port(), port()) else {
            return false;
        };
        let queue = fields.nth(1).and_then(|q| q.split_once(':'));
        ports.contains(&(local, remote))
            && queue.is_some_and(|(_, rx)| rx.bytes().any(|b| b != b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt
   0: 0100007F:1F90 0100007F:C350 01 00000000:0000002A 00:00000000 00000000
   1: 0100007F:1F90 0100007F:C351 01 00000000:00000000 00:00000000 00000000
   2: 0100007F:C350 0100007F:1F90 01 0000002A:00000000 00:00000000 00000000
";

    #[test]
    fn only_the_servers_end_with_bytes_in_its_queue_is_unread() {
        let of = |port| unread(TABLE, &BTreeSet::from([(8080, port)]));
        assert!(of(50_000));
        assert!(!of(50_001));
        assert!(!of(50_002));
        assert!(!unread("", &BTreeSet::from([(8080, 50_000)])));
        assert!(!unread("x\n1: junk", &BTreeSet::from([(8080, 50_000)])));
    }
}
