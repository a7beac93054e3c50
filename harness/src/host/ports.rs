//! Who listens on a port. A stranger there is named, and no entry is blamed.

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::HostError;
use crate::watch::proc;

/// A process that listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Holder {
    /// The port.
    pub port: u16,
    /// Its id; `None` when it belongs to a user we may not look at.
    pub pid: Option<i32>,
    /// Its command line, or whose it is.
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid} (`{}`)", self.command),
            None => f.write_str(&self.command),
        }
    }
}

/// One listening socket.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Listener {
    inode: u64,
    uid: u32,
}

/// Refuses a port that somebody listens on already.
pub fn free(port: u16) -> Result<(), HostError> {
    match holders(port).first() {
        None => Ok(()),
        Some(holder) => Err(HostError::Unfit(format!(
            "port {port} is held by {holder}; entries must listen there: \
             stop it, then start again"
        ))),
    }
}

/// The same with a moment's grace: whoever was there may just be letting go.
pub fn free_soon(port: u16) -> Result<(), HostError> {
    let started = Instant::now();
    loop {
        match free(port) {
            Err(_) if started.elapsed() < Duration::from_millis(500) => {
                thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}

/// Proves that every listener on `port` belongs to one of `pids`.
pub fn belongs_to(port: u16, pids: &[i32]) -> Result<(), String> {
    let found = holders(port);
    if found.is_empty() {
        return Err(format!("nobody listens on port {port}"));
    }
    match found.iter().find(|h| h.pid.is_none_or(|p| !pids.contains(&p))) {
        None => Ok(()),
        Some(stranger) => Err(format!(
            "{stranger} listens on port {port} too; stop it, so that answers \
             surely come from the entry"
        )),
    }
}

/// The kernel's tables of sockets, and the state in them of one that hears
/// from anybody: TCP's LISTEN, and UDP's of a socket without a peer.
const TABLES: [(&str, &str); 4] = [
    ("/proc/net/tcp", "0A"),
    ("/proc/net/tcp6", "0A"),
    ("/proc/net/udp", "07"),
    ("/proc/net/udp6", "07"),
];

/// Everyone who listens on a port of this machine, TCP or UDP.
pub fn holders(port: u16) -> Vec<Holder> {
    let mut listeners = BTreeSet::new();
    for (table, listens) in TABLES {
        let text = fs::read_to_string(table).unwrap_or_default();
        listeners.extend(parse(&text, port, listens));
    }
    if listeners.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Holder> = Vec::new();
    let mut seen = BTreeSet::new();
    for pid in proc::all() {
        let held = sockets(pid);
        let ours = listeners.iter().filter(|l| held.contains(&l.inode));
        let ours: Vec<u64> = ours.map(|l| l.inode).collect();
        if !ours.is_empty() {
            seen.extend(ours);
            let command = proc::command(pid);
            found.push(Holder { port, pid: Some(pid), command });
        }
    }
    for l in listeners.iter().filter(|l| !seen.contains(&l.inode)) {
        let command = format!("a process of user {} that is hidden", l.uid);
        found.push(Holder { port, pid: None, command });
    }
    found
}

/// The sockets on `port` in a table of `/proc/net` that are in this state.
fn parse(table: &str, port: u16, listens: &str) -> Vec<Listener> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (_, hex) = fields.get(1)?.rsplit_once(':')?;
            let at = u16::from_str_radix(hex, 16).ok()?;
            (at == port && *fields.get(3)? == listens).then_some(())?;
            Some(Listener {
                uid: fields.get(7)?.parse().ok()?,
                inode: fields.get(9)?.parse().ok()?,
            })
        })
        .collect()
}

fn sockets(pid: i32) -> BTreeSet<u64> {
    let dir = format!("/proc/{pid}/fd");
    fs::read_dir(Path::new(&dir))
        .into_iter()
        .flatten()
        .filter_map(|e| {
            let link = fs::read_link(e.ok()?.path()).ok()?;
            let text = link.to_str()?.strip_prefix("socket:[")?;
            text.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn the_holder_of_a_port_is_named_and_no_entry_is_blamed() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = std::process::id() as i32;
        let Err(HostError::Unfit(text)) = free(port) else { panic!() };
        assert!(text.contains(&format!("process {me} (`")), "{text}");
        assert_eq!(belongs_to(port, &[me]), Ok(()));
        let why = belongs_to(port, &[1]).unwrap_err();
        assert!(why.contains(&me.to_string()), "{why}");
        drop(listener);
        assert_eq!(free(port), Ok(()));
        assert!(belongs_to(port, &[me]).unwrap_err().contains("nobody"));
    }

    #[test]
    fn a_port_may_be_held_over_udp() {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        let me = std::process::id() as i32;
        assert_eq!(belongs_to(port, &[me]), Ok(()));
        assert!(free(port).is_err());
    }

    #[test]
    fn only_listening_sockets_of_that_port_are_read() {
        let table = "  sl  local_address rem_address   st ...\n\
          0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 33 0 77 1 0\n\
          1: 0100007F:1F90 0100007F:9999 01 0:0 00:0 0 33 0 78 1 0\n\
          2: 0100007F:0050 00000000:0000 0A 0:0 00:0 0 33 0 79 1 0\n\
          3: cut";
        assert_eq!(parse(table, 8080, "0A"), [Listener { inode: 77, uid: 33 }]);
    }
}
