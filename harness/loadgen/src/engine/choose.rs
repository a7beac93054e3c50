//! Which of the kernel's queues a shot is fired with, and why.

use profiles::profile::Protocol;
use profiles::spec::Engine;
use rustix::io::Errno;

use super::link::errno_name;
use super::uring;
use crate::plan::Plan;

/// A queue of the kernel's for sockets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Queue {
    Epoll,
    IoUring,
}

/// What was chosen, and the words for the sample.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Choice {
    pub(super) queue: Queue,
    pub(super) words: String,
}

impl Choice {
    /// What `plan` asks for, or what the system allows and serves it best.
    /// An error when it asks for what the system refuses.
    pub(super) fn new(plan: &Plan) -> Result<Choice, String> {
        let epoll = |why: &str| Choice {
            queue: Queue::Epoll,
            words: format!("epoll: {why}"),
        };
        let io_uring =
            Choice { queue: Queue::IoUring, words: "io_uring".into() };
        if plan.profile.protocol == Protocol::Http3 {
            return Ok(epoll("datagrams"));
        }
        match plan.spec.engine {
            Engine::Epoll => Ok(epoll("asked for")),
            Engine::IoUring => match refusal() {
                None => Ok(io_uring),
                Some(why) => Err(format!(
                    "{why}; allow it (sysctl kernel.io_uring_disabled=0, a \
                     seccomp profile that lets io_uring_setup pass, Linux \
                     6.1 or later) or ask for the engine `epoll`"
                )),
            },
            // An early answer must be seen between two writes.
            Engine::Auto if plan.block.is_some() => Ok(epoll("large bodies")),
            Engine::Auto => match refusal() {
                None => Ok(io_uring),
                Some(why) => Ok(epoll(&why)),
            },
        }
    }
}

/// What this system refuses of io_uring, tried out: the call and its errno.
pub fn refusal() -> Option<String> {
    let (call, error) = uring::probe().err()?;
    let errno = match error.raw_os_error() {
        Some(code) => errno_name(Errno::from_raw_os_error(code)),
        None => error.to_string(),
    };
    Some(format!("{call} {errno}"))
}
