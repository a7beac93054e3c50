//! The machine: its CPUs, how they are shared out, and its state.

mod environment;
mod pools;
mod quiet;
mod split;
mod topology;

use std::{fs, path::Path};

use profiles::{
    cpuset::CpuSet,
    record::{Environment, Pools},
};
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{sched_getaffinity, sched_setaffinity},
};

pub use environment::load_average;
pub use pools::{PoolError, budget, check, derive};
pub use quiet::note as busy_note;
pub use split::split;
pub use topology::{Cpu, Topology};

/// The machine as it can be used now.
#[derive(Clone, Debug)]
pub struct Rig {
    /// Its CPUs.
    pub topology: Topology,
    /// Who gets which.
    pub pools: Pools,
    /// What a level must fit into.
    pub limits: Limits,
}

/// What bounds the number of connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Open files one process may have.
    pub open_files: u64,
    /// Local ports connections to one address may come from.
    pub local_ports: u32,
}

impl Rig {
    /// Derives everything from this machine. Raises our own limit of open
    /// files as far as permitted, since children inherit it.
    pub fn here() -> Rig {
        let topology = Topology::read(Path::new("/"), &allowed());
        let pools = derive(&topology);
        Rig { topology, pools, limits: Limits::raise() }
    }

    /// The same with pools chosen by hand.
    pub fn with_pools(
        mut self,
        server: CpuSet,
        load: CpuSet,
    ) -> Result<Rig, PoolError> {
        check(&self.topology, &server, &load)?;
        let compromises = vec![
            "pools were chosen by hand".into(),
            format!("aux shares cpus {load} with load"),
        ];
        self.pools = Pools { server, aux: load.clone(), load, compromises };
        Ok(self)
    }

    /// The machine's description, with what runs on it besides us.
    pub fn environment(&self, engine: &str) -> Environment {
        let root = Path::new("/");
        let mut env = environment::capture(root, &self.topology, engine);
        env.foreign = quiet::foreign();
        env
    }
}

impl Limits {
    fn raise() -> Limits {
        let now = getrlimit(Resource::Nofile);
        let all = Rlimit { current: now.maximum, maximum: now.maximum };
        let _ = setrlimit(Resource::Nofile, all);
        let open_files =
            getrlimit(Resource::Nofile).current.unwrap_or(u64::from(u32::MAX));
        let range =
            fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        Limits { open_files, local_ports: ports(&range.unwrap_or_default()) }
    }
}

fn ports(range: &str) -> u32 {
    let mut ends = range.split_whitespace().map(|n| n.parse::<u32>());
    match (ends.next(), ends.next()) {
        (Some(Ok(low)), Some(Ok(high))) if low <= high => high - low + 1,
        // The kernel's default range.
        _ => 28_232,
    }
}

/// The CPUs this thread may use; what a container or a cpuset leaves of them.
pub fn allowed() -> CpuSet {
    let mask = sched_getaffinity(None).ok();
    let set = mask.and_then(|mask| {
        CpuSet::new(
            (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|cpu| mask.is_set(*cpu))
                .map(|cpu| cpu as u16),
        )
    });
    set.unwrap_or_else(|| "0".parse().expect("cpu 0 is a set"))
}

/// A set in the kernel's form. CPUs above the mask's size are left out.
pub fn mask(set: &CpuSet) -> rustix::thread::CpuSet {
    let mut mask = rustix::thread::CpuSet::new();
    for cpu in set.iter().map(usize::from) {
        if cpu < rustix::thread::CpuSet::MAX_CPU {
            mask.set(cpu);
        }
    }
    mask
}

/// Keeps this thread, and what it starts, on some CPUs until dropped.
#[derive(Debug)]
pub struct Pinned(CpuSet);

impl Pinned {
    /// Moves this thread. What the machine does not allow is no harm: the
    /// tool is then only a little more in the way.
    pub fn to(cpus: &CpuSet) -> Pinned {
        let before = allowed();
        let _ = sched_setaffinity(None, &mask(cpus));
        Pinned(before)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &mask(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_pools_within_what_is_allowed() {
        let rig = Rig::here();
        let may = allowed();
        for pool in [&rig.pools.server, &rig.pools.load, &rig.pools.aux] {
            assert!(pool.iter().all(|cpu| may.contains(cpu)), "{pool}");
        }
        assert!(rig.limits.open_files > 0);
        assert!(rig.limits.local_ports > 0);
    }

    #[test]
    fn pinning_ends_with_its_guard() {
        let before = allowed();
        let last = before.iter().last().unwrap();
        let one = CpuSet::new([last]).unwrap();
        let pinned = Pinned::to(&one);
        assert_eq!(allowed(), one);
        drop(pinned);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn the_port_range_is_counted_with_both_ends() {
        assert_eq!(ports("32768\t60999\n"), 28_232);
        assert_eq!(ports("10 10"), 1);
        assert_eq!(ports("nonsense"), 28_232);
    }
}
