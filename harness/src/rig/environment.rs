//! The machine and its state: read, never typed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use profiles::oracle::is_hidden;
use profiles::record::Environment;
use sha2::{Digest, Sha256};

use super::topology::Topology;

/// Settings that change results, as files below `/proc/sys`.
const SYSCTLS: [&str; 9] = [
    "kernel/numa_balancing",
    "kernel/randomize_va_space",
    "net/core/somaxconn",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_fin_timeout",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_tw_reuse",
    "vm/swappiness",
];

/// What the system below `root` (`/` on a real machine) says of itself. The
/// busiest foreign processes are left to the quiet check.
pub fn capture(root: &Path, topology: &Topology, engine: &str) -> Environment {
    let text = |path: &str| {
        fs::read_to_string(root.join(path)).ok().map(|t| one_line(&t))
    };
    let cpu = model(&read(root, "proc/cpuinfo"));
    let cores: BTreeSet<u16> = topology.cpus.iter().map(|c| c.core).collect();
    let memory_bytes = memory(&read(root, "proc/meminfo"));
    Environment {
        rig: rig_digest(&cpu, topology, memory_bytes),
        cpu,
        cores: cores.len() as u32,
        threads: topology.cpus.len() as u32,
        memory_bytes,
        kernel: text("proc/sys/kernel/osrelease")
            .unwrap_or_else(|| "unknown".into()),
        os: os(&read(root, "etc/os-release")),
        governor: text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .unwrap_or_else(|| "unknown".into()),
        boost: boost(
            text("sys/devices/system/cpu/cpufreq/boost"),
            text("sys/devices/system/cpu/intel_pstate/no_turbo"),
        ),
        engine: engine.to_string(),
        rustc: rustc(),
        sysctls: SYSCTLS
            .iter()
            .filter_map(|name| {
                let value = text(&format!("proc/sys/{name}"))?;
                Some((name.replace('/', "."), value))
            })
            .collect::<BTreeMap<_, _>>(),
        load_before: load_average(root),
        load_after: None,
        foreign: Vec::new(),
    }
}

/// The load average over one minute.
pub fn load_average(root: &Path) -> f64 {
    let text = read(root, "proc/loadavg");
    text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
}

/// What makes results of two machines comparable: nothing that changes
/// between two runs on one of them. Memory is rounded to 64 MiB, since the
/// kernel keeps a slightly different share of it for itself after updates.
fn rig_digest(cpu: &str, topology: &Topology, memory_bytes: u64) -> String {
    let memory = memory_bytes >> 26;
    let text = format!("{cpu}\n{}\n{memory}\n", topology.describe());
    let hex: String = Sha256::digest(text.as_bytes())
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    hex[..16].to_string()
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !is_hidden(*c)).take(200).collect()
}

fn model(cpuinfo: &str) -> String {
    let value = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| one_line(value))
        })
    };
    // ARM tells no model name, only numbers.
    value("model name")
        .or_else(|| Some(format!("CPU part {}", value("CPU part")?)))
        .unwrap_or_else(|| "unknown".into())
}

fn memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0u64) * 1024
}

fn os(release: &str) -> String {
    let line = release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
    line.map_or("unknown".into(), |l| one_line(l.trim_matches('"')))
}

fn boost(boost: Option<String>, no_turbo: Option<String>) -> String {
    match (boost.as_deref(), no_turbo.as_deref()) {
        (Some("1"), _) | (_, Some("0")) => "on",
        (Some("0"), _) | (_, Some("1")) => "off",
        _ => "unknown",
    }
    .into()
}

fn rustc() -> String {
    Command::new("rustc")
        .arg("--version")
        .output()
        .ok()
        .filter(|o| o.status.success())
        .map(|o| one_line(&String::from_utf8_lossy(&o.stdout)))
        .unwrap_or_else(|| "none".into())
}

#[cfg(test)]
mod tests {
    use super::{super::topology::fake::machine, *};

    #[test]
    fn the_machine_describes_itself_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Big  CPU\n");
        put("proc/meminfo", "MemTotal:  1024 kB\nMemFree: 1 kB\n");
        put("proc/loadavg", "0.25 1 2 1/9 77\n");
        put("proc/sys/kernel/osrelease", "6.1.0\n");
        put("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
        put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 12\"\n");
        put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
        let env = capture(root.path(), &machine(2, 2, 1), "none");
        assert_eq!((env.cores, env.threads), (2, 4));
        assert_eq!(
            (env.cpu.as_str(), env.os.as_str()),
            ("Big CPU", "Debian 12")
        );
        assert_eq!(env.memory_bytes, 1 << 20);
        assert_eq!(
            (env.boost.as_str(), env.governor.as_str()),
            ("off", "unknown")
        );
        assert_eq!(env.load_before, 0.25);
        assert_eq!(env.sysctls["net.ipv4.ip_local_port_range"], "32768 60999");
    }

    #[test]
    fn the_rig_digest_changes_with_the_machine_and_not_with_its_mood() {
        let one = rig_digest("a", &machine(2, 1, 1), 1 << 34);
        assert_eq!(one, rig_digest("a", &machine(2, 1, 1), (1 << 34) + 4096));
        assert_ne!(one, rig_digest("b", &machine(2, 1, 1), 1 << 34));
        assert_ne!(one, rig_digest("a", &machine(1, 2, 1), 1 << 34));
        assert_ne!(one, rig_digest("a", &machine(2, 1, 1), 1 << 33));
    }
}
