//! The files a control group accounts in, version 1 or 2.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// One control group as two folders; in version 2 they are the same one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cgroup {
    /// The folder that accounts CPU time: of `cpuacct`, or the unified one.
    pub cpu: PathBuf,
    /// The folder that accounts memory, where that controller is there.
    pub memory: Option<PathBuf>,
}

/// Memory of a group without file cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Memory {
    /// Anonymous memory.
    pub anon_bytes: u64,
    /// Kernel memory charged to the group.
    pub kernel_bytes: u64,
}

impl Cgroup {
    /// The groups that `/proc/<pid>/cgroup` (as `lines`) names, found below
    /// `mount`, usually `/sys/fs/cgroup`. `None` when none is mounted.
    pub fn find(lines: &str, mount: &Path) -> Option<Cgroup> {
        let v1 = |wanted: &str| {
            lines.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':');
                let _id = parts.next()?;
                let names = parts.next()?;
                let path = parts.next()?;
                let has = names.split(',').any(|n| n == wanted);
                // Co-mounted controllers share a folder with either name.
                [names, wanted]
                    .iter()
                    .map(|n| below(&mount.join(n), path))
                    .find(|p| has && p.is_dir())
            })
        };
        if let Some(cpu) = v1("cpuacct") {
            return Some(Cgroup { cpu, memory: v1("memory") });
        }
        let path = lines.lines().find_map(|l| l.strip_prefix("0::"))?;
        let group = below(mount, path);
        let stat = group.join("memory.stat").is_file();
        group
            .join("cpu.stat")
            .is_file()
            .then(|| Cgroup { memory: stat.then(|| group.clone()), cpu: group })
    }

    /// The groups of a live process.
    pub fn of(pid: i32) -> Option<Cgroup> {
        let lines = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        Cgroup::find(&lines, Path::new("/sys/fs/cgroup"))
    }

    /// CPU time used by all processes that were ever in the group.
    pub fn cpu_ns(&self) -> io::Result<u64> {
        let v1 = self.cpu.join("cpuacct.usage");
        if v1.is_file() {
            return number(&fs::read_to_string(v1)?);
        }
        let text = fs::read_to_string(self.cpu.join("cpu.stat"))?;
        field(&text, "usage_usec").map(|us| us * 1000).ok_or_else(|| {
            io::Error::other("cpu.stat without usage_usec; is it a cgroup?")
        })
    }

    /// Memory now, without file cache; `None` where it is not accounted.
    pub fn memory(&self) -> Option<Memory> {
        let dir = self.memory.as_ref()?;
        let text = fs::read_to_string(dir.join("memory.stat")).ok()?;
        if let Some(anon_bytes) = field(&text, "anon") {
            let kernel = field(&text, "kernel").or_else(|| {
                ["kernel_stack", "pagetables", "percpu", "sock", "slab"]
                    .iter()
                    .map(|key| field(&text, key))
                    .sum()
            });
            let kernel_bytes = kernel.unwrap_or(0);
            return Some(Memory { anon_bytes, kernel_bytes });
        }
        let anon_bytes = field(&text, "total_rss")?;
        let kernel = dir.join("memory.kmem.usage_in_bytes");
        let kernel_bytes = fs::read_to_string(kernel)
            .ok()
            .and_then(|t| number(&t).ok())
            .unwrap_or(0);
        Some(Memory { anon_bytes, kernel_bytes })
    }

    /// Processes of the group that the kernel killed for want of memory.
    pub fn oom_kills(&self) -> u64 {
        let read = |name: &str| {
            let dir = self.memory.as_ref()?;
            let text = fs::read_to_string(dir.join(name)).ok()?;
            field(&text, "oom_kill")
        };
        read("memory.events")
            .or_else(|| read("memory.oom_control"))
            .unwrap_or(0)
    }

    /// The processes in it now.
    pub fn pids(&self) -> Vec<i32> {
        fs::read_to_string(self.cpu.join("cgroup.procs"))
            .unwrap_or_default()
            .lines()
            .filter_map(|l| l.trim().parse().ok())
            .collect()
    }
}

fn below(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim_start_matches('/'))
}

fn field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

fn number(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| {
        let start: String = text.chars().take(20).collect();
        io::Error::other(format!("`{start}` is not a number"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn version_1_counts_nanoseconds_and_leaves_file_cache_out() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("cpu,cpuacct/d/x/cpuacct.usage", "123\n"),
                ("memory/d/x/memory.stat", "total_cache 999\ntotal_rss 70\n"),
                ("memory/d/x/memory.kmem.usage_in_bytes", "7\n"),
                ("memory/d/x/memory.oom_control", "oom_kill 2\n"),
            ],
        );
        let lines = "4:memory:/d/x\n2:cpu,cpuacct:/d/x\n0::/\n";
        let group = Cgroup::find(lines, root.path()).unwrap();
        assert_eq!(group.cpu_ns().unwrap(), 123);
        let memory = group.memory().unwrap();
        assert_eq!((memory.anon_bytes, memory.kernel_bytes), (70, 7));
        assert_eq!(group.oom_kills(), 2);
    }

    #[test]
    fn version_2_counts_microseconds_and_leaves_file_cache_out() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("a/b/cpu.stat", "usage_usec 5\nuser_usec 3\n"),
                ("a/b/memory.stat", "anon 70\nfile 999\nkernel 7\n"),
                ("a/b/memory.events", "oom 1\noom_kill 1\n"),
                ("a/b/cgroup.procs", "12\n13\n"),
            ],
        );
        let group = Cgroup::find("0::/a/b\n", root.path()).unwrap();
        assert_eq!(group.cpu_ns().unwrap(), 5000);
        let memory = group.memory().unwrap();
        assert_eq!((memory.anon_bytes, memory.kernel_bytes), (70, 7));
        assert_eq!(group.oom_kills(), 1);
        assert_eq!(group.pids(), [12, 13]);
    }

    #[test]
    fn a_group_that_is_not_mounted_is_no_group() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Cgroup::find("0::/a\n", root.path()), None);
        assert_eq!(Cgroup::find("", root.path()), None);
    }
}
