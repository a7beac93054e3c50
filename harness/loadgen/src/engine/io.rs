//! What all drivers do with a connection's bytes.

use super::driver::Driver;
use super::worker::{State, Worker};
use crate::clock::Ns;
use crate::session::{Over, Session};

impl<S: Session, D: Driver> Worker<S, D> {
    /// Draws what may be in flight on `index`. Whether anything may be sent
    /// on it at all.
    #[inline]
    pub(super) fn refill(&mut self, index: usize) -> bool {
        let slot = &mut self.slots[index];
        let linked = matches!(slot.state, State::Greeting | State::Up);
        if !linked || slot.broken.is_some() {
            return false;
        }
        if slot.state == State::Greeting && slot.session.is_ready() {
            self.up(index);
        }
        let slot = &mut self.slots[index];
        if self.shift.draws && slot.state == State::Up {
            slot.session.fill(self.now, &mut self.desk, &mut self.kit);
            self.offer(index);
        }
        true
    }

    /// In an open loop, a connection with room is kept for what is due next.
    #[inline]
    fn offer(&mut self, index: usize) {
        let slot = &self.slots[index];
        if self.desk.lanes[slot.lane].pace.is_open()
            && slot.session.has_room(&self.desk)
        {
            self.agenda.offer(index, slot.lane);
        }
    }

    /// The kernel took `n` bytes; the clock said `at` just before that.
    #[inline]
    pub(super) fn wrote(&mut self, index: usize, n: usize, at: Ns) {
        self.slots[index].session.wrote(n, at, &mut self.desk);
        self.desk.books.bytes(n, 0);
    }

    /// The server closed the connection at `index`.
    pub(super) fn closed(&mut self, index: usize, now: Ns) -> Over {
        let slot = &mut self.slots[index];
        match slot.broken {
            Some(errno) => Over::Error(errno),
            None => slot.session.closed(now, &mut self.desk, &mut self.kit),
        }
    }
}
