//! Flow control: what each side lets the other send.

/// The window a connection and its streams begin with.
pub(super) const FIRST: u32 = 65_535;
/// No window may be larger.
pub(super) const MOST: i64 = 0x7fff_ffff;

/// What we let the server send.
///
/// What it used is given back by halves of the window. It has that much more
/// only once the words that say so are handed to the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inflow {
    size: u32,
    used: u32,
    /// Given back, in words that end there in the text we send.
    given: u32,
    at: u64,
}

/// What the bytes that came mean for the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Flow {
    /// There is room.
    Fine,
    /// So much is to be given back.
    Give(u32),
    /// The server was not let send so much.
    Overrun,
}

impl Inflow {
    pub(super) fn new(size: u32) -> Inflow {
        Inflow { size, ..Inflow::default() }
    }

    /// The server sent `n` bytes. Of our text `sent` is handed over.
    #[inline]
    pub(super) fn take(&mut self, n: usize, sent: u64) -> Flow {
        self.used = self.used.saturating_add(n as u32);
        if self.used <= self.size / 2 {
            return Flow::Fine;
        }
        self.past_half(sent)
    }

    #[cold]
    fn past_half(&mut self, sent: u64) -> Flow {
        if self.given > 0 && sent >= self.at {
            self.used -= self.given;
            self.given = 0;
        }
        if self.used > self.size {
            Flow::Overrun
        } else if self.given == 0 && self.used > self.size / 2 {
            Flow::Give(self.used)
        } else {
            Flow::Fine
        }
    }

    /// `n` is given back, in words that end at `at`.
    pub(super) fn give(&mut self, n: u32, at: u64) {
        (self.given, self.at) = (n, at);
    }
}

/// The windows we give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Of each stream: more than any answer we ask for, so that a right
    /// server is never kept waiting.
    pub(super) stream: u32,
    /// Of the connection.
    pub(super) connection: u32,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows { stream: 16 << 20, connection: 1 << 30 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_given_back_by_halves_once_the_server_can_know() {
        let mut inflow = Inflow::new(10);
        assert_eq!(inflow.take(5, 0), Flow::Fine);
        assert_eq!(inflow.take(1, 0), Flow::Give(6));
        inflow.give(6, 100);
        assert_eq!(inflow.take(4, 99), Flow::Fine);
        let mut late = inflow;
        assert_eq!(late.take(1, 99), Flow::Overrun);
        assert_eq!(inflow.take(1, 100), Flow::Fine);
        assert_eq!(inflow.take(1, 100), Flow::Give(6));
        inflow.give(6, 200);
        assert_eq!(inflow.take(10, 200), Flow::Give(10));
        inflow.give(10, 300);
        assert_eq!(inflow.take(1, 200), Flow::Overrun);
    }
}
