//! Flow control: what each side lets the other send.

/// The window a connection and its streams begin with.
pub(super) const FIRST: u32 = 65_535;
/// No window may be larger.
pub(super) const MOST: i64 = 0x7fff_ffff;

/// What we let the server send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inflow {
    size: u32,
    used: u32,
}

impl Inflow {
    pub(super) fn new(size: u32) -> Inflow {
        Inflow { size, used: 0 }
    }

    /// The server sent `n` bytes; whether it was let.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> bool {
        self.used = self.used.saturating_add(n as u32);
        self.used <= self.size
    }

    /// What to give back, once that is half of it.
    #[inline]
    pub(super) fn refill(&mut self) -> Option<u32> {
        if self.used <= self.size / 2 {
            return None;
        }
        Some(std::mem::take(&mut self.used))
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
    fn the_window_is_given_back_by_halves() {
        let mut inflow = Inflow::new(10);
        assert!(inflow.take(5));
        assert_eq!(inflow.refill(), None);
        assert!(inflow.take(1));
        assert_eq!(inflow.refill(), Some(6));
        assert!(inflow.take(10));
        assert!(!inflow.take(1));
    }
}
