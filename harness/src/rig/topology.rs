//! Which CPUs there are, and which of them share a core, socket or memory.

use std::{collections::BTreeMap, fs, path::Path};

use profiles::cpuset::CpuSet;

/// One logical CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cpu {
    /// Its number.
    pub id: u16,
    /// The lowest number among its SMT siblings: names the physical core.
    pub core: u16,
    /// The socket.
    pub package: u16,
    /// The memory node.
    pub node: u16,
}

/// All CPUs we may use, ordered by socket, node, core and number.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Topology {
    /// The CPUs.
    pub cpus: Vec<Cpu>,
}

impl Topology {
    /// Reads sysfs below `root` (`/` on a real machine), keeping only the CPUs
    /// of `allowed`.
    pub fn read(root: &Path, allowed: &CpuSet) -> Topology {
        let base = root.join("sys/devices/system/cpu");
        let text = |path: &Path| {
            fs::read_to_string(path).ok().map(|t| t.trim().to_string())
        };
        let nodes = nodes(&root.join("sys/devices/system/node"));
        let online: Option<CpuSet> =
            text(&base.join("online")).and_then(|t| t.parse().ok());
        let mut cpus: Vec<Cpu> = allowed
            .iter()
            .filter(|id| online.as_ref().is_none_or(|o| o.contains(*id)))
            .map(|id| {
                let dir = base.join(format!("cpu{id}/topology"));
                let siblings: Option<CpuSet> =
                    ["core_cpus_list", "thread_siblings_list"]
                        .iter()
                        .find_map(|n| text(&dir.join(n))?.parse().ok());
                let package = text(&dir.join("physical_package_id"));
                Cpu {
                    id,
                    core: siblings.and_then(|s| s.iter().next()).unwrap_or(id),
                    // Some virtual machines say -1.
                    package: package.and_then(|p| p.parse().ok()).unwrap_or(0),
                    node: nodes.get(&id).copied().unwrap_or(0),
                }
            })
            .collect();
        cpus.sort_by_key(|c| (c.package, c.node, c.core, c.id));
        Topology { cpus }
    }

    /// The CPUs of each physical core, in order.
    pub fn cores(&self) -> Vec<Vec<u16>> {
        let mut cores: Vec<(u16, Vec<u16>)> = Vec::new();
        for cpu in &self.cpus {
            match cores.last_mut() {
                Some((core, ids)) if *core == cpu.core => ids.push(cpu.id),
                _ => cores.push((cpu.core, vec![cpu.id])),
            }
        }
        cores.into_iter().map(|(_, ids)| ids).collect()
    }

    /// The SMT siblings of `cpu` without itself.
    pub fn siblings(&self, cpu: u16) -> Vec<u16> {
        let Some(own) = self.cpus.iter().find(|c| c.id == cpu) else {
            return Vec::new();
        };
        let same = |c: &&Cpu| c.core == own.core && c.id != cpu;
        self.cpus.iter().filter(same).map(|c| c.id).collect()
    }

    /// Whether the CPU is there and ours to use.
    pub fn has(&self, cpu: u16) -> bool {
        self.cpus.iter().any(|c| c.id == cpu)
    }

    /// How many different sockets (`by` the socket) or nodes a set touches.
    pub fn spread(&self, set: &CpuSet, by: fn(&Cpu) -> u16) -> usize {
        let mut seen: Vec<u16> =
            self.cpus.iter().filter(|c| set.contains(c.id)).map(by).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    }

    /// One line that names every CPU's core, socket and node.
    pub fn describe(&self) -> String {
        let one =
            |c: &Cpu| format!("{}:{}:{}:{}", c.id, c.core, c.package, c.node);
        self.cpus.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

fn nodes(dir: &Path) -> BTreeMap<u16, u16> {
    let mut out = BTreeMap::new();
    for item in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = item.file_name();
        let Some(node) = name
            .to_str()
            .and_then(|n| n.strip_prefix("node"))
            .and_then(|n| n.parse().ok())
        else {
            continue;
        };
        let list = fs::read_to_string(item.path().join("cpulist"));
        let set: Option<CpuSet> = list.ok().and_then(|t| t.trim().parse().ok());
        for cpu in set.iter().flat_map(CpuSet::iter) {
            out.insert(cpu, node);
        }
    }
    out
}

#[cfg(test)]
pub(crate) mod fake {
    use super::*;

    /// A sysfs tree of `cores` cores on `sockets` sockets with `smt` threads
    /// each, numbered as Linux does: first threads first.
    pub fn machine(cores: u16, smt: u16, sockets: u16) -> Topology {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("sys/devices/system/cpu");
        let put = |path: std::path::PathBuf, text: String| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let all = format!("0-{}", cores * smt - 1);
        put(base.join("online"), all.clone());
        let per_socket = cores / sockets;
        for id in 0..cores * smt {
            let core = id % cores;
            let dir = base.join(format!("cpu{id}/topology"));
            let list: Vec<String> =
                (0..smt).map(|t| (core + t * cores).to_string()).collect();
            put(dir.join("thread_siblings_list"), list.join(",") + "\n");
            let package = core / per_socket;
            put(dir.join("physical_package_id"), format!("{package}\n"));
        }
        for node in 0..sockets {
            let of_node =
                (0..cores * smt).filter(|id| (id % cores) / per_socket == node);
            let set = CpuSet::new(of_node).unwrap();
            let dir = root.path().join("sys/devices/system/node");
            put(dir.join(format!("node{node}/cpulist")), format!("{set}\n"));
        }
        Topology::read(root.path(), &all.parse().unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::{fake::machine, *};

    #[test]
    fn siblings_share_a_core_and_sockets_are_told_apart() {
        let t = machine(4, 2, 2);
        assert_eq!(t.cores(), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(t.siblings(1), [5]);
        let set = "0-1,4-5".parse().unwrap();
        assert_eq!(t.spread(&set, |c| c.package), 1);
        assert_eq!(t.spread(&"1-2".parse().unwrap(), |c| c.node), 2);
    }

    #[test]
    fn a_machine_that_tells_nothing_has_one_core_a_cpu() {
        let root = tempfile::tempdir().unwrap();
        let t = Topology::read(root.path(), &"0-1".parse().unwrap());
        assert_eq!(t.cores(), [[0], [1]]);
        assert!(!t.has(2));
        assert!(t.siblings(9).is_empty());
    }
}
