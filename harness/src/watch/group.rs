//! A control group of our own around what we start: exact accounting, also of
//! children that have ended, and a kill that nothing escapes.
//!
//! Only the owner of the machine's control groups can make one. Elsewhere
//! processes are accounted one by one.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::cgroup::Cgroup;
use super::proc::Stat;

/// Every group of ours begins with this: the label that `clean` goes by.
const PREFIX: &str = "arena-";

/// A group that is emptied and removed when dropped.
#[derive(Debug)]
pub struct Group {
    cgroup: Cgroup,
}

impl Group {
    /// A new group below our own; `None` where that is not permitted.
    pub fn create() -> Option<Group> {
        let me = std::process::id() as i32;
        Group::below(&Cgroup::of(me)?, &label(me)?)
    }

    fn below(parent: &Cgroup, name: &str) -> Option<Group> {
        let unified = parent.memory.as_ref() == Some(&parent.cpu);
        let cpu = parent.cpu.join(name);
        fs::create_dir(&cpu).ok()?;
        let memory = match &parent.memory {
            Some(_) if unified => {
                // Accounted only if the parent hands the controller down.
                cpu.join("memory.stat").is_file().then(|| cpu.clone())
            }
            Some(dir) => {
                let dir = dir.join(name);
                fs::create_dir(&dir).is_ok().then_some(dir)
            }
            None => None,
        };
        Some(Group { cgroup: Cgroup { cpu, memory } })
    }

    /// Where it is accounted.
    pub fn cgroup(&self) -> &Cgroup {
        &self.cgroup
    }

    /// Files to which a process writes `0` to move itself in.
    pub fn entrances(&self) -> io::Result<Vec<File>> {
        folders(&self.cgroup)
            .map(|dir| {
                OpenOptions::new().write(true).open(dir.join("cgroup.procs"))
            })
            .collect()
    }

    /// Caps memory without swap. Says whether it could.
    pub fn limit_memory(&self, bytes: u64) -> bool {
        let Some(dir) = &self.cgroup.memory else { return false };
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            path.is_file() && fs::write(path, text).is_ok()
        };
        let text = bytes.to_string();
        let _ = write("memory.swap.max", "0");
        let set =
            write("memory.max", &text) || write("memory.limit_in_bytes", &text);
        let _ = write("memory.memsw.limit_in_bytes", &text);
        set
    }

    /// Kills everything in it, and what that forks meanwhile.
    pub fn kill(&self) {
        kill_all(&self.cgroup);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill_all(&self.cgroup);
        remove(&self.cgroup);
    }
}

/// Kills and removes the groups of tools that are no longer alive. Says how
/// many groups that were.
pub fn clean_abandoned() -> usize {
    let me = std::process::id() as i32;
    let Some(parent) = Cgroup::of(me) else { return 0 };
    let mut names: Vec<String> = folders(&parent)
        .flat_map(|dir| fs::read_dir(dir).into_iter().flatten())
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|name| owner(name).is_some_and(|o| !lives(o)))
        .collect();
    names.sort();
    names.dedup();
    for name in &names {
        let in_it = |dir: &PathBuf| dir.join(name);
        let cgroup = Cgroup {
            cpu: in_it(&parent.cpu),
            memory: parent.memory.as_ref().map(in_it),
        };
        kill_all(&cgroup);
        remove(&cgroup);
    }
    names.len()
}

/// `arena-<pid>-<start>-<n>`: names its tool for as long as the machine is up.
fn label(pid: i32) -> Option<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    Some(format!("{PREFIX}{pid}-{}-{n}", Stat::of(pid)?.start))
}

fn owner(name: &str) -> Option<(i32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let owner = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next()?.parse::<u32>().ok()?;
    parts.next().is_none().then_some(owner)
}

fn lives((pid, start): (i32, u64)) -> bool {
    Stat::of(pid).is_some_and(|s| s.start == start)
}

fn folders(cgroup: &Cgroup) -> impl Iterator<Item = &Path> {
    let memory = cgroup.memory.as_ref().filter(|m| **m != cgroup.cpu);
    [Some(&cgroup.cpu), memory].into_iter().flatten().map(PathBuf::as_path)
}

fn kill_all(cgroup: &Cgroup) {
    for _ in 0..100 {
        let pids = cgroup.pids();
        if pids.is_empty() {
            return;
        }
        for pid in pids.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn remove(cgroup: &Cgroup) {
    for dir in folders(cgroup) {
        // The kernel lets go of a group a moment after its last process.
        for _ in 0..100 {
            match fs::remove_dir(dir) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    thread::sleep(Duration::from_millis(5));
                }
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_names_its_tool_and_nothing_else_does() {
        let me = std::process::id() as i32;
        let mine = owner(&label(me).unwrap()).unwrap();
        assert!(lives(mine));
        assert!(!lives((mine.0, mine.1 + 1)));
        for foreign in ["arena", "arena-x", "arena-1-2", "arena-1-2-3-4", "x"] {
            assert_eq!(owner(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_dropped_group_takes_its_processes_with_it() {
        let Some(group) = Group::create() else {
            println!("skipped: no permission to make control groups");
            return;
        };
        let mut child =
            std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        for dir in folders(group.cgroup()) {
            fs::write(dir.join("cgroup.procs"), pid.to_string()).unwrap();
        }
        assert_eq!(group.cgroup().pids(), [pid]);
        let dir = group.cgroup().cpu.clone();
        drop(group);
        assert!(!child.wait().unwrap().success());
        assert!(!dir.exists());
    }
}
