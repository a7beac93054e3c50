//! What the system must allow before a shot: descriptors and ports.

use std::{fs, net::SocketAddr};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::engine::Route;
use crate::plan::Plan;

/// Descriptors beside the connections: queues, pipes, files.
const SPARE_FILES: u64 = 64;
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// What Linux has where that cannot be read.
const USUAL_PORTS: (u32, u32) = (32_768, 60_999);

/// Raises the soft limit of open files as far as the shot needs, or says
/// what stands in the way.
pub fn open_files(plan: &Plan) -> Result<(), String> {
    let connections = plan.connections();
    let need =
        u64::from(connections) + u64::from(plan.spec.threads) + SPARE_FILES;
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
    route_to(plan.spec.target, plan.connections())
}

fn route_to(target: SocketAddr, connections: u32) -> Result<Route, String> {
    let (low, high) = fs::read_to_string(PORT_RANGE)
        .ok()
        .and_then(|text| port_range(&text))
        .unwrap_or(USUAL_PORTS);
    // Other programs hold ports of the range, too.
    let per_source = ((high - low + 1) / 10 * 9).max(1);
    let route = Route { target, per_source };
    let spread = target.is_ipv4() && target.ip().is_loopback();
    if connections <= per_source || spread {
        return Ok(route);
    }
    Err(format!(
        "{connections} connections to {target} need as many ports, about \
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
    use super::*;

    /// BC-44: more connections than ports is said with both numbers.
    #[test]
    fn more_connections_than_ports_to_one_address_are_refused() {
        let addr = "192.0.2.1:80".parse().unwrap();
        let why = route_to(addr, 65_536).unwrap_err();
        assert!(why.contains("65536 connections to 192.0.2.1:80"), "{why}");
        assert!(why.contains("are free; widen /proc/sys/net"), "{why}");
        assert!(route_to(addr, 1).is_ok());
        // Loopback has more than one address to come from.
        let loopback = "127.0.0.1:80".parse().unwrap();
        assert!(route_to(loopback, 65_536).is_ok());
    }

    #[test]
    fn the_port_range_is_read_as_the_kernel_prints_it() {
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(port_range("9 3"), None);
        assert_eq!(port_range("x"), None);
    }
}
