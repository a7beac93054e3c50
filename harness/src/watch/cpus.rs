//! How busy the CPUs of the pools were, with whatever ran on them.

use std::fs;

use profiles::cpuset::CpuSet;

use super::proc::TICK_NS;

/// Busy time of `cpus` so far: tasks of all processes, and time a hypervisor
/// took away. Interrupts are left out, since the load itself causes them.
/// The kernel counts it in ticks, so short intervals are rough.
pub fn busy_ns(cpus: &CpuSet) -> Option<u64> {
    parse(&fs::read_to_string("/proc/stat").ok()?, cpus)
}

fn parse(text: &str, cpus: &CpuSet) -> Option<u64> {
    let mut busy = None;
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(name) = fields.next().and_then(|f| f.strip_prefix("cpu"))
        else {
            continue;
        };
        let Ok(cpu) = name.parse() else { continue };
        if !cpus.contains(cpu) {
            continue;
        }
        // user nice system idle iowait irq softirq steal
        let ticks: Vec<u64> = fields.filter_map(|f| f.parse().ok()).collect();
        let at = |i: usize| ticks.get(i).copied().unwrap_or(0);
        let own = at(0) + at(1) + at(2) + at(7);
        busy = Some(busy.unwrap_or(0) + own * TICK_NS);
    }
    busy
}

/// The share of the pools' CPU time that was neither server nor gun. Ticks of
/// the kernel's clock are forgiven, two a CPU.
pub fn foreign_share(
    busy_ns: u64,
    ours_ns: u64,
    window_ns: u64,
    cpus: usize,
) -> f64 {
    let whole = window_ns as f64 * cpus as f64;
    if whole <= 0.0 {
        return 0.0;
    }
    let rough = 2 * TICK_NS * cpus as u64;
    busy_ns.saturating_sub(ours_ns).saturating_sub(rough) as f64 / whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pools_cpus_and_only_tasks_and_steal_are_counted() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 100 100 100 4 0 0\n\
                    cpu1 50 0 0 0 0 0 0 0\nintr 5\n";
        let busy = |set: &str| parse(text, &set.parse().unwrap());
        assert_eq!(busy("0"), Some(10 * TICK_NS));
        assert_eq!(busy("0-1"), Some(60 * TICK_NS));
        assert_eq!(busy("7"), None);
    }

    #[test]
    fn what_server_and_gun_used_is_not_foreign() {
        let second = 1_000_000_000;
        assert_eq!(foreign_share(second, second, second, 2), 0.0);
        let share = foreign_share(2 * second, second, second, 2);
        assert!((share - 0.48).abs() < 1e-9, "{share}");
        assert_eq!(foreign_share(1, 0, 0, 1), 0.0);
    }
}
