//! Facts about processes, from `/proc`.
//!
//! A process may end between two reads, so nothing here fails: what cannot be
//! read is left out.

use std::{fs, path::Path};

use profiles::cpuset::CpuSet;
use profiles::oracle::is_hidden;

/// Linux tells process times in ticks of this length on every architecture.
pub const TICK_NS: u64 = 10_000_000;

/// The few fields of `/proc/<pid>/stat` we use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stat {
    /// The parent.
    pub parent: i32,
    /// User and system time of its own, in ticks.
    pub ticks: u64,
    /// The same of children that ended and were waited for.
    pub child_ticks: u64,
    /// When it began, in ticks since boot: tells a reused pid.
    pub start: u64,
}

impl Stat {
    /// Of one live process; one that only waits to be buried is none.
    pub fn of(pid: i32) -> Option<Stat> {
        parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name in parentheses may hold spaces and parentheses.
    let rest = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |i: usize| fields.get(i)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
        child_ticks: number(13)? + number(14)?,
        start: number(19)?,
    })
}

/// All process ids.
pub fn all() -> Vec<i32> {
    numbers(Path::new("/proc"))
}

fn numbers(dir: &Path) -> Vec<i32> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// `root` and everything below it.
pub fn tree(root: i32) -> Vec<i32> {
    let parents: Vec<(i32, i32)> = all()
        .into_iter()
        .filter_map(|pid| Some((pid, Stat::of(pid)?.parent)))
        .collect();
    if !parents.iter().any(|(pid, _)| *pid == root) {
        return Vec::new();
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        for (pid, of) in &parents {
            if *of == parent && !found.contains(pid) {
                found.push(*pid);
            }
        }
        next += 1;
    }
    found
}

/// CPU time of all live threads of a process, and of its children that have
/// ended. Exact to the scheduler's clock for the threads.
pub fn cpu_ns(pid: i32) -> u64 {
    let tasks = format!("/proc/{pid}/task");
    let threads: u64 = numbers(Path::new(&tasks))
        .into_iter()
        .filter_map(|tid| {
            let path = format!("{tasks}/{tid}/schedstat");
            let text = fs::read_to_string(path).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        })
        .sum();
    let Some(stat) = Stat::of(pid) else { return threads };
    threads.max(stat.ticks * TICK_NS) + stat.child_ticks * TICK_NS
}

/// Anonymous and page-table memory of a process, without file cache.
pub fn memory_bytes(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some((field("RssAnon:")? + field("VmPTE:").unwrap_or(0)) * 1024)
}

/// The CPUs each thread of a process may use now.
pub fn allowed(pid: i32) -> Vec<(i32, CpuSet)> {
    let tasks = format!("/proc/{pid}/task");
    numbers(Path::new(&tasks))
        .into_iter()
        .filter_map(|tid| {
            let path = format!("{tasks}/{tid}/status");
            let text = fs::read_to_string(path).ok()?;
            let line = text
                .lines()
                .find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?;
            Some((tid, line.trim().parse().ok()?))
        })
        .collect()
}

/// The first thread of `pids` that may run outside `cpus`, in words.
pub fn strayed(pids: &[i32], cpus: &CpuSet) -> Option<String> {
    pids.iter().flat_map(|pid| allowed(*pid)).find_map(|(tid, may)| {
        may.iter().any(|cpu| !cpus.contains(cpu)).then(|| {
            format!("thread {tid} may run on cpus {may}, expected {cpus}")
        })
    })
}

/// The name of a process, without its arguments, which may hold secrets.
pub fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    printable(&name.unwrap_or_default())
}

/// The command line of a process, or its name in brackets; made safe to print.
pub fn command(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&line).replace('\0', " ");
    let text =
        if text.trim().is_empty() { format!("[{}]", name(pid)) } else { text };
    printable(&text)
}

fn printable(text: &str) -> String {
    text.trim().chars().filter(|c| !is_hidden(*c)).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text =
            "7 (a) b) (c) S 3 7 7 0 -1 0 1 2 3 4 10 20 30 40 20 0 1 0 99";
        let expected =
            Stat { parent: 3, ticks: 30, child_ticks: 70, start: 99 };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("7 (cut"), None);
        assert_eq!(parse_stat(&text.replace(" S ", " Z ")), None);
    }

    #[test]
    fn this_process_is_seen_with_its_time_memory_and_cpus() {
        let me = std::process::id() as i32;
        assert!(tree(me).contains(&me));
        assert!(cpu_ns(me) > 0);
        assert!(memory_bytes(me).unwrap() > 0);
        assert!(!allowed(me).is_empty());
        assert!(!command(me).is_empty());
    }

    #[test]
    fn a_thread_outside_its_cpus_is_named() {
        let me = [std::process::id() as i32];
        let none: CpuSet = "4095".parse().unwrap();
        assert!(strayed(&me, &none).unwrap().contains("expected 4095"));
        let all: CpuSet = "0-4095".parse().unwrap();
        assert_eq!(strayed(&me, &all), None);
    }
}
