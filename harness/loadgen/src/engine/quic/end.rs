//! Why a connection is over, and what that makes of its requests.

use profiles::sample::Fault;
use quinn_proto::ConnectionError;
use rustix::io::Errno;

use super::names::{h3_name, quic_name};
use crate::engine::link::errno_name;
use crate::wire::http3::{Breach, Code};

/// QUIC's own codes (RFC 9000 section 20.1).
const QUIC_NO_ERROR: u64 = 0x0;
const QUIC_REFUSED: u64 = 0x2;

/// Why a connection is over.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// It got the answers it was opened for; the client closes.
    Enough,
    /// The server announced that it closes, and nothing is left to come.
    Announced,
    /// The warm-up's time is up, or the window's.
    Stopped,
    /// Nothing came for as long as a request may take.
    Silent,
    /// Nothing came for as long as both sides had agreed on.
    Idle,
    /// The server broke the protocol.
    Breach(Breach),
    /// It is lost: how, in words, and by the name for a failed connect.
    Lost(Fault, String),
    /// The server speaks none of the versions offered so far.
    Version,
}

impl End {
    /// As QUIC reports it.
    pub(super) fn lost(why: &ConnectionError) -> End {
        let closed = |fine: bool, name: String| {
            let words = format!("closed with {name}");
            match fine {
                true => End::Lost(Fault::Closed, words),
                false => End::Lost(Fault::Reset, words),
            }
        };
        match why {
            ConnectionError::VersionMismatch => End::Version,
            ConnectionError::ApplicationClosed(close) => {
                let code = close.error_code.into_inner();
                let fine = code == Code::NO_ERROR.0 || code == 0;
                closed(fine, h3_name(code))
            }
            ConnectionError::ConnectionClosed(close) => {
                match u64::from(close.error_code) {
                    QUIC_REFUSED => End::errno(Errno::CONNREFUSED),
                    code => closed(code == QUIC_NO_ERROR, quic_name(code)),
                }
            }
            ConnectionError::Reset => End::errno(Errno::CONNRESET),
            ConnectionError::TimedOut => End::Idle,
            ConnectionError::TransportError(error) => {
                let name = quic_name(error.code.into());
                let words = format!("QUIC broken: {name}");
                End::Lost(Fault::Malformed, words)
            }
            other => End::Lost(Fault::System, other.to_string()),
        }
    }

    /// What a request ends in whose connection idled out; `torn` when a part
    /// of its answer had come. Both sides do that, so it is no refusal by the
    /// system.
    pub(super) fn idled(torn: bool) -> (Fault, &'static str) {
        let fault = if torn { Fault::Torn } else { Fault::Closed };
        (fault, "the connection idled out")
    }

    /// As the system reports it.
    pub(super) fn errno(errno: Errno) -> End {
        let fault = match errno {
            // Nobody listens any more where a server was.
            Errno::CONNRESET | Errno::PIPE | Errno::CONNREFUSED => Fault::Reset,
            _ => Fault::System,
        };
        End::Lost(fault, errno_name(errno))
    }

    /// What to tell the server, if it can still hear.
    pub(super) fn code(&self) -> Code {
        match self {
            End::Breach(breach) => breach.code,
            _ => Code::NO_ERROR,
        }
    }

    /// The name under which a failed connect is counted.
    pub(super) fn name(&self) -> String {
        match self {
            End::Lost(_, words) => words.clone(),
            End::Breach(breach) => breach.why.to_string(),
            End::Silent | End::Idle => errno_name(Errno::TIMEDOUT),
            End::Version => "no common QUIC version".into(),
            End::Enough | End::Announced | End::Stopped => {
                "closed in the handshake".into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_idles_out_is_closed_or_torn() {
        let end = End::lost(&ConnectionError::TimedOut);
        assert!(matches!(end, End::Idle), "{end:?}");
        // In a handshake it is a time-out like any other.
        assert_eq!(end.name(), "ETIMEDOUT");
        assert_eq!(End::idled(false).0, Fault::Closed);
        assert_eq!(End::idled(true).0, Fault::Torn);
    }
}
