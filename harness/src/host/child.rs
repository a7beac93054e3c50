//! What a child does to itself between fork and exec.

use std::process::Command;
use std::{fs::File, io, io::Write, os::unix::process::CommandExt};

use profiles::cpuset::CpuSet;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit,
    set_parent_process_death_signal, setrlimit,
};

/// Puts the child into the groups behind `entrances`, onto `cpus`, gives it
/// all open files it may have, and lets it die with this thread.
pub(crate) fn before_exec(
    command: &mut Command,
    cpus: Option<&CpuSet>,
    entrances: Vec<File>,
) {
    let parent = Pid::from_raw(std::process::id() as i32);
    let mask = cpus.map(crate::rig::mask);
    let nofile = getrlimit(Resource::Nofile);
    let prepare = move || -> io::Result<()> {
        // If the tool is killed outright, this is what is left to end it.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != parent {
            return Err(io::ErrorKind::Interrupted.into());
        }
        for mut entrance in &entrances {
            entrance.write_all(b"0")?;
        }
        if let Some(mask) = &mask {
            rustix::thread::sched_setaffinity(None, mask)?;
        }
        let all = Rlimit { current: nofile.maximum, maximum: nofile.maximum };
        setrlimit(Resource::Nofile, all)?;
        Ok(())
    };
    // SAFETY: only system calls on values made before the fork: no
    // allocation, no locks.
    unsafe {
        command.pre_exec(prepare);
    }
}
