//! Whose a container is: a process that lives will remove it itself.

use std::fs;
use std::process;

/// This process, as `<pid>:<start time>`: numbers are used again, pairs are
/// not.
pub(super) fn this() -> String {
    let pid = process::id();
    format!("{pid}:{}", started(pid).unwrap_or_default())
}

/// Whether the process that made something with this label still lives. A
/// label that is not ours to understand counts as alive.
pub(super) fn lives(label: &str) -> bool {
    let Some((pid, start)) = label.split_once(':') else { return true };
    match pid.parse() {
        Ok(pid) => started(pid).is_some_and(|now| now == start),
        Err(_) => true,
    }
}

/// Start time in ticks since boot: field 22 of `/proc/<pid>/stat`.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold spaces and brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_number_with_another_start_does_not() {
        assert!(lives(&this()));
        assert!(!lives(&format!("{}:1", process::id())));
    }

    #[test]
    fn a_number_nobody_has_is_dead() {
        assert!(!lives("4294967295:5"));
    }

    #[test]
    fn a_label_of_another_form_is_left_alone() {
        assert!(lives(""));
        assert!(lives("someone:7"));
    }
}
