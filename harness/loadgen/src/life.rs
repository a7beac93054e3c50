//! When the process must stop before its time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{io, process, thread};

use rustix::process::getppid;
use signal_hook::consts::{SIGINT, SIGTERM};

const LOOK: Duration = Duration::from_millis(200);

/// A flag that SIGINT and SIGTERM raise.
pub fn on_signal() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// Ends the process when its parent is gone, so that no load is left behind.
///
/// The kernel's death signal would do that too, but it comes when the parent
/// *thread* ends, and a rig may well start guns from short-lived threads.
pub fn die_with_parent() {
    let parent = getppid();
    thread::spawn(move || {
        while getppid() == parent {
            thread::sleep(LOOK);
        }
        process::exit(1);
    });
}
