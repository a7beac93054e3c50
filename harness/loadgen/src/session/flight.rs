//! A request on its way, whatever the protocol.

use profiles::ask::Ask;

use crate::clock::Ns;

/// A request that is queued or in flight.
#[derive(Clone, Debug)]
pub struct Flight {
    /// The class's index in the profile.
    pub class: usize,
    /// What is asked.
    pub ask: Ask,
    /// When the schedule of an open loop wanted it sent.
    pub(crate) due: Option<Ns>,
    /// When its first byte was handed to the kernel.
    pub(crate) sent: Option<Ns>,
    /// How often it was given back unprocessed.
    pub(crate) refused: u8,
}

impl Flight {
    /// A request that was just drawn.
    pub fn new(class: usize, ask: Ask, due: Option<Ns>) -> Flight {
        Flight { class, ask, due, sent: None, refused: 0 }
    }

    /// Whether any byte of it was sent.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    /// The moment its answer's time counts from: the scheduled send, or the
    /// send itself in a closed loop. `None` while it is not sent.
    #[inline]
    pub fn since(&self) -> Option<Ns> {
        self.sent.map(|sent| self.due.unwrap_or(sent))
    }

    /// How long it has been waiting at `now`; 0 while it is not sent.
    #[inline]
    pub fn age(&self, now: Ns) -> Ns {
        self.since().map_or(0, |since| now.saturating_sub(since))
    }

    /// How long ago it was sent, whenever it was due; 0 while it is not. By
    /// this it is given up, by its [`Flight::age`] an answer is late: were a
    /// request of an open loop that was sent late given up by its age, no
    /// answer to it could ever come, and no backlog would be worked off.
    #[inline]
    pub fn waited(&self, now: Ns) -> Ns {
        self.sent.map_or(0, |sent| now.saturating_sub(sent))
    }

    /// The method and target, for a message.
    pub fn words(&self) -> String {
        format!("{} {}", self.ask.method(), self.ask.target())
    }
}
