//! The daemon's own limits. A container that asks for more than its daemon may
//! have does not start, unless the daemon may raise limits (CAP_SYS_RESOURCE).

use std::{fmt, fs};

/// The capability that allows raising a hard limit.
const CAP_SYS_RESOURCE: u32 = 24;
/// What is asked for where nothing limits it; the kernel's default `nr_open`.
const NOFILE_WANTED: i64 = 1 << 20;
/// How the engine spells "no limit".
const UNLIMITED: i64 = -1;

/// The two limits entries need, as the engine wants them (-1 is "no limit").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Open files; one per connection.
    pub nofile: i64,
    /// Locked memory in bytes; io_uring buffers.
    pub memlock: i64,
}

impl Limits {
    /// What to ask for when the daemon is free to raise limits.
    pub(super) const WANTED: Self =
        Self { nofile: NOFILE_WANTED, memlock: UNLIMITED };

    /// The limits of the running daemon, or `None` if its process is not to be
    /// seen from here; containers then get the engine's defaults.
    pub(super) fn of_daemon() -> Option<Self> {
        let pid = daemon_pid()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        if may_raise(&status) {
            return Some(Self::WANTED);
        }
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        Some(Self::clamped(&limits))
    }

    /// [`Self::WANTED`], lowered to the hard limits in `/proc/<pid>/limits`.
    fn clamped(limits: &str) -> Self {
        let hard = |name| hard_limit(limits, name).unwrap_or(i64::MAX);
        let memlock = hard("Max locked memory");
        Self {
            nofile: hard("Max open files").min(NOFILE_WANTED),
            memlock: if memlock == i64::MAX { UNLIMITED } else { memlock },
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} open files, ", self.nofile)?;
        match self.memlock {
            UNLIMITED => f.write_str("unlimited locked memory"),
            bytes => write!(f, "{bytes} bytes of locked memory"),
        }
    }
}

/// The pid file first; a scan for where it is not readable or was moved.
fn daemon_pid() -> Option<u32> {
    let is_daemon = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|comm| comm.trim() == "dockerd")
    };
    ["/run/docker.pid", "/var/run/docker.pid"]
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
        .chain(
            fs::read_dir("/proc")
                .into_iter()
                .flatten()
                .filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()),
        )
        .find(is_daemon)
}

/// Whether `/proc/<pid>/status` grants CAP_SYS_RESOURCE.
fn may_raise(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .is_some_and(|bits| bits >> CAP_SYS_RESOURCE & 1 == 1)
}

/// The hard column of one line of `/proc/<pid>/limits`; "unlimited" is `MAX`.
fn hard_limit(limits: &str, name: &str) -> Option<i64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().nth(1)? {
        "unlimited" => Some(i64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max locked memory         8388608              8388608              bytes     
Max open files            1024                 20000                files     
";

    #[test]
    fn a_weak_daemon_lowers_both_limits_to_its_hard_ones() {
        let limits = Limits::clamped(LIMITS);
        assert_eq!(limits, Limits { nofile: 20_000, memlock: 8_388_608 });
        assert!(limits.to_string().starts_with("20000 open files, 8388608"));
    }

    #[test]
    fn an_unlimited_daemon_lowers_nothing() {
        let text = "Max open files unlimited unlimited files\n\
                    Max locked memory unlimited unlimited bytes\n";
        assert_eq!(Limits::clamped(text), Limits::WANTED);
    }

    #[test]
    fn an_unreadable_table_lowers_nothing() {
        assert_eq!(Limits::clamped("Max open files\n???"), Limits::WANTED);
    }

    #[track_caller]
    fn raises(caps: &str, expected: bool) {
        assert_eq!(may_raise(&format!("Name:\tx\n{caps}\n")), expected);
    }

    #[test]
    fn only_the_right_capability_bit_allows_raising() {
        raises("CapEff:\t000001ffffffffff", true);
        raises("CapEff:\t000001fffeffffff", false);
        raises("CapEff:\tnonsense", false);
        raises("CapPrm:\t000001ffffffffff", false);
    }
}
