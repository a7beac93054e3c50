//! What the system must allow before a shot: descriptors and ports.

use std::{fs, net::SocketAddr};

use profiles::profile::Protocol;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::clock::timespec;
use crate::engine::{self, Route};
use crate::plan::{LaneLoad, Plan, share};

/// Descriptors beside the connections: queues, pipes, files.
const SPARE_FILES: u64 = 64;
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// What Linux has where that cannot be read.
const USUAL_PORTS: (u32, u32) = (32_768, 60_999);

/// Says so when the kernel cannot wait for less than a millisecond: a gun that
/// rounded would be that late with an open loop, and nothing would tell.
pub fn waits() -> Result<(), String> {
    let waited = epoll::create(epoll::CreateFlags::CLOEXEC).and_then(|queue| {
        let mut events = Vec::with_capacity(1);
        let room = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(&queue, room, Some(&timespec(1)))
    });
    match waited {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(format!(
            "epoll_pwait2 is refused ({errno}); use Linux 5.11 or newer, \
             without a filter on that call"
        )),
    }
}

/// Raises the soft limit of open files as far as the shot needs, or says
/// what stands in the way.
pub fn open_files(plan: &Plan) -> Result<(), String> {
    let connections = plan.connections();
    let need =
        u64::from(sockets(plan)) + u64::from(plan.spec.threads) + SPARE_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|n| n >= need) {
        return Ok(());
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < need) {
        return Err(format!(
            "{connections} connections need {need} open files, the hard limit \
             is {hard}; raise it (`ulimit -Hn`) or ask for fewer connections"
        ));
    }
    let raised = Rlimit { current: Some(need), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).map_err(|errno| {
        format!("the limit of open files cannot be raised to {need}: {errno}")
    })
}

/// How the connections reach the target without running out of ports.
pub fn route(plan: &Plan) -> Result<Route, String> {
    route_to(plan.spec.target, plan.connections(), sockets(plan))
}

/// Sockets the shot needs.
fn sockets(plan: &Plan) -> u32 {
    sockets_of(plan.profile.protocol, &plan.lanes(), plan.spec.threads)
}

/// One for each connection, but over QUIC some share one.
fn sockets_of(protocol: Protocol, lanes: &[LaneLoad], threads: u32) -> u32 {
    let held = |thread| -> u32 {
        let share = |lane: &LaneLoad| share(lane.connections, threads, thread);
        lanes.iter().map(share).sum()
    };
    let needed = |held: u32| match protocol {
        Protocol::Http3 => engine::sockets(held as usize) as u32,
        _ => held,
    };
    (0..threads).map(held).map(needed).sum()
}

fn route_to(
    target: SocketAddr,
    connections: u32,
    sockets: u32,
) -> Result<Route, String> {
    let (low, high) = fs::read_to_string(PORT_RANGE)
        .ok()
        .and_then(|text| port_range(&text))
        .unwrap_or(USUAL_PORTS);
    // Other programs hold ports of the range, too.
    let per_source = ((high - low + 1) / 10 * 9).max(1);
    let route = Route { target, per_source };
    let spread = target.is_ipv4() && target.ip().is_loopback();
    if sockets <= per_source || spread {
        return Ok(route);
    }
    Err(format!(
        "{connections} connections to {target} need {sockets} ports, about \
         {per_source} of {low}-{high} are free; widen {PORT_RANGE}"
    ))
}

fn port_range(text: &str) -> Option<(u32, u32)> {
    let mut ends = text.split_whitespace().map(str::parse::<u32>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use profiles::profile::Lane;

    use super::*;

    /// BC-44: more connections than ports is said with both numbers.
    #[test]
    fn more_connections_than_ports_to_one_address_are_refused() {
        let addr = "192.0.2.1:80".parse().unwrap();
        let why = route_to(addr, 65_536, 65_536).unwrap_err();
        assert!(why.contains("65536 connections to 192.0.2.1:80"), "{why}");
        assert!(why.contains("are free; widen /proc/sys/net"), "{why}");
        assert!(route_to(addr, 1, 1).is_ok());
        // Over QUIC they share sockets, and with them ports.
        assert!(route_to(addr, 65_536, 8_192).is_ok());
        // Loopback has more than one address to come from.
        let loopback = "127.0.0.1:80".parse().unwrap();
        assert!(route_to(loopback, 65_536, 65_536).is_ok());
    }

    #[test]
    fn connections_over_quic_share_sockets_and_others_do_not() {
        let lanes = |connections| {
            let lane = Lane::Main;
            let (in_flight, per_connection, rate_per_s) = (1, None, None);
            [LaneLoad {
                lane,
                connections,
                in_flight,
                per_connection,
                rate_per_s,
            }]
        };
        for (connections, threads, quic) in
            [(40, 2, 6), (1, 1, 1), (2, 8, 8), (8, 1, 1), (65_536, 2, 128)]
        {
            let lanes = lanes(connections);
            let sockets = |protocol| sockets_of(protocol, &lanes, threads);
            assert_eq!(sockets(Protocol::Http3), quic, "{connections}");
            assert_eq!(sockets(Protocol::Http2Tls), connections);
        }
    }

    #[test]
    fn the_port_range_is_read_as_the_kernel_prints_it() {
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(port_range("9 3"), None);
        assert_eq!(port_range("x"), None);
    }
}
