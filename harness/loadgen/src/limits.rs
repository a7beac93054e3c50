//! What the system must allow before a shot: descriptors and ports.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use profiles::spec::Spec;

use crate::engine::Route;

/// Descriptors beside the connections: queues, pipes, files.
const SPARE_FILES: u64 = 64;
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// What Linux has where that cannot be read.
const USUAL_PORTS: (u32, u32) = (32_768, 60_999);

/// Raises the soft limit of open files as far as the shot needs, or says
/// what stands in the way.
pub fn open_files(spec: &Spec) -> Result<(), String> {
    let need =
        u64::from(spec.connections) + u64::from(spec.threads) + SPARE_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|n| n >= need) {
        return Ok(());
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < need) {
        return Err(format!(
            "{} connections need {need} open files, the hard limit is {hard}; \
             raise it (`ulimit -Hn`) or ask for fewer connections",
            spec.connections
        ));
    }
    let raised = Rlimit { current: Some(need), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).map_err(|errno| {
        format!("the limit of open files cannot be raised to {need}: {errno}")
    })
}

/// How the connections reach the target without running out of ports.
pub fn route(spec: &Spec) -> Result<Route, String> {
    let (low, high) = fs::read_to_string(PORT_RANGE)
        .ok()
        .and_then(|text| port_range(&text))
        .unwrap_or(USUAL_PORTS);
    // Other programs hold ports of the range, too.
    let per_source = ((high - low + 1) / 10 * 9).max(1);
    let route = Route { target: spec.target, per_source };
    let spread = spec.target.is_ipv4() && spec.target.ip().is_loopback();
    if spec.connections <= per_source || spread {
        return Ok(route);
    }
    Err(format!(
        "{} connections to {} need as many ports, about {per_source} of \
         {low}-{high} are free; widen {PORT_RANGE}",
        spec.connections, spec.target
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
        let spec = |target, connections| Spec {
            schema: 1,
            profile: "test".parse().unwrap(),
            definition: String::new(),
            target,
            connections,
            threads: 1,
            cpus: None,
            seed: 1,
            connect_timeout_ns: 1,
            warmup_ns: 0,
            gap_ns: 0,
            window_ns: 1,
            timeout_ns: 1,
            data_dir: Default::default(),
        };
        let why = route(&spec(addr, 65_536)).unwrap_err();
        assert!(why.contains("65536 connections to 192.0.2.1:80"), "{why}");
        assert!(why.contains("are free; widen /proc/sys/net"), "{why}");
        assert!(route(&spec(addr, 1)).is_ok());
        // Loopback has more than one address to come from.
        let loopback = "127.0.0.1:80".parse().unwrap();
        assert!(route(&spec(loopback, 65_536)).is_ok());
    }

    #[test]
    fn the_port_range_is_read_as_the_kernel_prints_it() {
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(port_range("9 3"), None);
        assert_eq!(port_range("x"), None);
    }
}
