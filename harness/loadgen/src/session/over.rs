//! How a connection ended, and what that makes of its requests.

use profiles::sample::Fault;
use rustix::io::Errno;

use super::Flight;
use crate::clock::Ns;
use crate::desk::Desk;
use crate::wire::Why;

/// Why a connection is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Over {
    /// It got the answers it was opened for; the client closes.
    Enough,
    /// The server announced that it closes.
    Announced,
    /// The server closed.
    Closed,
    /// The system says so.
    Error(Errno),
    /// The stream cannot be read on.
    Broken(Why),
    /// Bytes came while nothing was in flight.
    Surplus,
    /// The oldest request waited too long.
    TimedOut,
    /// The warm-up's time is up, or the window's.
    Stopped,
}

impl Over {
    /// Books `flight`, which was sent and in flight when its connection
    /// ended so. `first` marks the oldest one, `torn` that part of its answer
    /// had come.
    pub(super) fn lose(
        self,
        flight: &Flight,
        first: bool,
        torn: bool,
        now: Ns,
        desk: &mut Desk,
    ) {
        let (fault, words) = match self {
            Over::TimedOut => return desk.books.timed_out(),
            Over::Stopped => return desk.unanswered(flight, now),
            Over::Broken(why) => {
                if why == Why::Early && first {
                    let words = || format!("{}: {why}", flight.words());
                    desk.books.surplus(words);
                }
                let fault = match why {
                    Why::Early => Fault::Surplus,
                    _ => Fault::Malformed,
                };
                return desk.fault(fault, flight, now, &why.to_string());
            }
            Over::Error(Errno::CONNRESET | Errno::PIPE) => {
                (Fault::Reset, "reset")
            }
            Over::Error(errno) => {
                let words = errno.to_string();
                return desk.fault(Fault::System, flight, now, &words);
            }
            Over::Surplus => (Fault::Surplus, "surplus bytes"),
            Over::Closed if torn && first => {
                (Fault::Torn, "closed in mid-answer")
            }
            Over::Closed | Over::Announced | Over::Enough => {
                (Fault::Closed, "closed")
            }
        };
        desk.fault(fault, flight, now, words);
    }
}
