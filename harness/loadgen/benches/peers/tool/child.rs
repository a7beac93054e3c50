//! A child on one CPU, and what it cost from its start to its end.

use std::io::{self, Read, Write as _};
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    pub user_s: f64,
    pub system_s: f64,
}

impl Cpu {
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }
}

/// A child that has ended by itself.
#[derive(Debug)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    pub success: bool,
    pub cpu: Cpu,
}

/// Starts `command` on `cpu`; it inherits the CPUs of the thread that starts
/// it, so nothing of it ever runs elsewhere. `None` leaves it free.
pub fn spawn(command: &mut Command, cpu: Option<u16>) -> io::Result<Child> {
    let Some(cpu) = cpu else { return command.spawn() };
    let mine = sched_getaffinity(None)?;
    let mut one = CpuSet::new();
    one.set(cpu.into());
    sched_setaffinity(None, &one)?;
    let child = command.spawn();
    sched_setaffinity(None, &mine)?;
    child
}

/// Runs `command` to its end, which must come within `limit`.
pub fn run(
    command: &mut Command,
    cpu: Option<u16>,
    stdin: Option<&str>,
    limit: Duration,
) -> io::Result<Ended> {
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command, cpu)?;
    let pid = Pid::from_child(&child);
    let (Some(mut out), Some(mut err)) =
        (child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("a child without pipes"));
    };
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        pipe.write_all(text.as_bytes())?;
    }
    let errors = thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).map(|_| text)
    });
    // Not waited for before the guard is called off: its pid is its own.
    let (done, guarded) = channel::<()>();
    let guard = thread::spawn(move || {
        let hangs = guarded.recv_timeout(limit);
        let hangs = hangs == Err(RecvTimeoutError::Timeout);
        if hangs {
            let _ = kill_process(pid, Signal::KILL);
        }
        hangs
    });
    let mut stdout = String::new();
    let read = out.read_to_string(&mut stdout);
    drop(done);
    let hung = guard.join().unwrap_or(false);
    let ended = wait(&child);
    let stderr = errors.join();
    read?;
    let (success, cpu) = ended?;
    if hung {
        let text = format!("it did not end within {} s", limit.as_secs());
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    }
    let stderr = stderr.unwrap_or_else(|_| Ok(String::new()))?;
    Ok(Ended { stdout, stderr, success, cpu })
}

/// Waits for `child` and tells what it and its children cost.
fn wait(child: &Child) -> io::Result<(bool, Cpu)> {
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live locals of the right types.
        let got =
            unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
        if got == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: it is plain numbers, zeroed above and filled by the kernel.
    let usage = unsafe { usage.assume_init() };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let cpu = Cpu {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
    };
    Ok((libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, cpu))
}
