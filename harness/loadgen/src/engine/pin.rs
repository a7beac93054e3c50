//! Threads on their CPUs.

use profiles::cpuset::CpuSet;
use rustix::thread::{CpuSet as Mask, sched_setaffinity};

/// Keeps the calling thread, and those it will start, within `cpus`.
pub fn all(cpus: Option<&CpuSet>) -> Result<(), String> {
    match cpus {
        Some(cpus) => set(cpus.iter(), &cpus.to_string()),
        None => Ok(()),
    }
}

/// Keeps the calling thread, number `index`, on one of `cpus`, in turn.
pub fn one(cpus: Option<&CpuSet>, index: u32) -> Result<(), String> {
    let Some(cpus) = cpus else { return Ok(()) };
    let nth = index as usize % cpus.count();
    match cpus.iter().nth(nth) {
        Some(cpu) => set([cpu].into_iter(), &cpu.to_string()),
        None => Ok(()),
    }
}

fn set(cpus: impl Iterator<Item = u16>, text: &str) -> Result<(), String> {
    let mut mask = Mask::new();
    for cpu in cpus {
        if usize::from(cpu) >= Mask::MAX_CPU {
            return Err(format!("cpu {cpu} is beyond {}", Mask::MAX_CPU));
        }
        mask.set(cpu.into());
    }
    sched_setaffinity(None, &mask).map_err(|errno| {
        format!(
            "cpus {text} refused a thread: {errno}; name cpus this process \
             may use"
        )
    })
}
