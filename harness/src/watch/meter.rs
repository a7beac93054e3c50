//! The cost of one pool of processes, read at two moments.

use profiles::{record::Usage, stat::median};

use super::{cgroup::Cgroup, proc};
use crate::host::Server;

/// Where to read.
#[derive(Clone, Debug)]
pub enum Meter {
    /// A control group: exact, exited children included.
    Group(Cgroup),
    /// A process and everything below it.
    Tree(i32),
    /// Several together.
    Sum(Vec<Meter>),
}

impl Meter {
    /// The best there is for a started server.
    pub fn of(server: &dyn Server) -> Option<Meter> {
        let services = server.services();
        if !services.is_empty() {
            let of = |(_, service): (_, &dyn Server)| Meter::of(service);
            return Some(Meter::Sum(
                services.into_iter().filter_map(of).collect(),
            ));
        }
        match server.cgroup() {
            Some(cgroup) => Some(Meter::Group(cgroup.clone())),
            None => server.pids().first().copied().map(Meter::Tree),
        }
    }

    /// CPU time used so far; grows only.
    pub fn cpu_ns(&self) -> u64 {
        match self {
            Meter::Sum(all) => all.iter().map(Meter::cpu_ns).sum(),
            Meter::Group(cgroup) => cgroup.cpu_ns().unwrap_or(0),
            Meter::Tree(root) => {
                proc::tree(*root).into_iter().map(proc::cpu_ns).sum()
            }
        }
    }

    /// Memory held now, without file cache.
    pub fn memory_bytes(&self) -> Option<u64> {
        let by_process = |pids: Vec<i32>| {
            let held: Vec<u64> =
                pids.into_iter().filter_map(proc::memory_bytes).collect();
            (!held.is_empty()).then(|| held.iter().sum())
        };
        match self {
            // A part that does not tell makes the sum unknown.
            Meter::Sum(all) => all.iter().map(Meter::memory_bytes).sum(),
            Meter::Group(cgroup) => match cgroup.memory() {
                Some(m) => Some(m.anon_bytes + m.kernel_bytes),
                None => by_process(cgroup.pids()),
            },
            Meter::Tree(root) => by_process(proc::tree(*root)),
        }
    }
}

/// A meter over one window.
#[derive(Clone, Debug)]
pub struct Reading {
    meter: Meter,
    opened: Option<u64>,
    used: u64,
    memory: Vec<u64>,
}

impl Reading {
    /// Not open yet.
    pub fn new(meter: Meter) -> Reading {
        Reading { meter, opened: None, used: 0, memory: Vec::new() }
    }

    /// The window opens now.
    pub fn open(&mut self) {
        self.opened = Some(self.meter.cpu_ns());
        self.look();
    }

    /// Within the window, from time to time.
    pub fn look(&mut self) {
        self.memory.extend(self.meter.memory_bytes());
    }

    /// The window closes now.
    pub fn close(&mut self) {
        if let Some(opened) = self.opened.take() {
            self.used = self.meter.cpu_ns().saturating_sub(opened);
            self.look();
        }
    }

    /// What was used between open and close.
    pub fn usage(&self) -> Usage {
        let values: Vec<f64> = self.memory.iter().map(|m| *m as f64).collect();
        Usage {
            cpu_ns: self.used,
            memory_median_bytes: median(&values).map(|m| m as u64),
            memory_peak_bytes: self.memory.iter().copied().max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_between_open_and_close_is_counted_and_none_after() {
        let mut reading = Reading::new(Meter::Tree(std::process::id() as i32));
        reading.open();
        let mut x = 1u64;
        for i in 0..20_000_000u64 {
            x = std::hint::black_box(x.wrapping_mul(i | 1));
        }
        reading.close();
        let usage = reading.usage();
        assert!(usage.cpu_ns > 0, "{x}");
        assert!(usage.memory_median_bytes <= usage.memory_peak_bytes);
        assert!(usage.memory_peak_bytes.unwrap() > 100_000);
        reading.close();
        assert_eq!(reading.usage(), usage);
    }
}
