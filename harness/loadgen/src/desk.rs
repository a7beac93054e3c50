//! What one thread needs to ask and to check, shared by its connections and
//! by no other thread.

use std::collections::VecDeque;
use std::sync::Arc;

use profiles::ask::Drawer;
use profiles::data::UploadBlock;
use profiles::oracle::Wrong;
use profiles::rng::Rng;
use profiles::sample::Fault;

use crate::books::Books;
use crate::check::Checker;
use crate::clock::Ns;
use crate::pace::{Leave, Pace};
use crate::plan::Plan;
use crate::session::Flight;
use crate::wire::Answer;

/// Streams of the seed: below these the main lane's requests, one stream per
/// thread; then the writers'; then what protocols draw for themselves. There
/// are far fewer threads than would make two of them meet.
const LANE: u64 = 1 << 32;
const PROTOCOL: u64 = 1 << 48;
/// A request the server gave back so often is a fault.
const MOST_REFUSALS: u8 = 3;

/// The connections of one lane: how they are loaded, and with what.
#[derive(Debug)]
pub struct LaneDesk {
    /// Requests in flight per connection.
    pub in_flight: usize,
    /// Answers after which the client closes.
    pub per_connection: u32,
    /// When requests may be sent.
    pub pace: Pace,
    drawer: Drawer,
    /// Its requests come from here and nothing else does: when the other lane
    /// draws, or connects, does not tell in them.
    pub rng: Rng,
    /// Requests the server gave back unprocessed; they go first.
    again: VecDeque<Flight>,
}

/// One thread's own copy of everything.
#[derive(Debug)]
pub struct Desk {
    /// The main lane, then the writers' if there is one.
    pub lanes: Vec<LaneDesk>,
    /// What the protocol draws for itself: keys and masks.
    pub rng: Rng,
    /// The block of which upload bodies are slices.
    pub block: Option<Arc<UploadBlock>>,
    /// Checks the answers.
    pub check: Checker,
    /// Counts them.
    pub books: Books,
    /// An answer that takes longer is a time-out.
    pub timeout: Ns,
}

impl Desk {
    /// The desk of thread `thread`. The drawer is made anew rather than
    /// cloned: it counts references, and a shared count is cross-thread
    /// traffic on every request.
    pub fn new(plan: &Plan, thread: u32) -> Result<Desk, String> {
        let (spec, profile) = (&plan.spec, &plan.profile);
        let classes = profile.classes.len();
        let mut lanes = Vec::new();
        for (lane, load) in (0u64..).zip(plan.lanes()) {
            lanes.push(LaneDesk {
                in_flight: load.in_flight as usize,
                per_connection: load.per_connection.unwrap_or(u32::MAX),
                pace: Pace::new(
                    load.rate_per_s,
                    thread,
                    spec.threads,
                    load.connections,
                ),
                drawer: Drawer::new(profile, load.lane)?.for_thread(
                    spec.seed,
                    thread,
                    spec.threads,
                ),
                rng: Rng::new(spec.seed, lane * LANE + u64::from(thread)),
                again: VecDeque::new(),
            });
        }
        Ok(Desk {
            lanes,
            rng: Rng::new(spec.seed, PROTOCOL + u64::from(thread)),
            block: plan.block.clone(),
            check: Checker::new(
                plan.oracle.clone(),
                classes,
                plan.shelf.clone(),
            ),
            books: Books::new(classes),
            timeout: spec.timeout_ns,
        })
    }

    /// The next request of `lane`, if one may be sent at `now`.
    #[inline]
    pub fn draw(&mut self, lane: usize, now: Ns) -> Option<Flight> {
        let desk = &mut self.lanes[lane];
        if let Some(flight) = desk.again.pop_front() {
            return Some(flight);
        }
        let due = match desk.pace.take(now)? {
            Leave::Now => None,
            Leave::Due(at) => Some(at),
        };
        let (class, ask) = desk.drawer.draw(&mut desk.rng)?;
        Some(Flight::new(class, ask, due))
    }

    /// The first byte of `flight` is handed to the kernel at `now`.
    #[inline]
    pub fn sent(&mut self, flight: &mut Flight, now: Ns) {
        if flight.sent.is_some() {
            return;
        }
        flight.sent = Some(now);
        self.books.sent(flight.class);
        if let Some(due) = flight.due {
            self.books.paced(now.saturating_sub(due));
        }
    }

    /// The complete answer to `flight` came at `now` and is `verdict`. Says
    /// whether it counted as right.
    #[inline]
    pub fn answered(
        &mut self,
        flight: &Flight,
        verdict: Result<(), Wrong>,
        answer: &Answer,
        now: Ns,
    ) -> bool {
        let took = flight.age(now);
        if took > self.timeout {
            self.books.timed_out();
            return false;
        }
        match verdict {
            Ok(()) => self.books.right(flight.class, answer, took),
            Err(wrong) => {
                self.books.wrong(answer, took, &wrong, || flight.words());
                false
            }
        }
    }

    /// `flight` ends without a complete answer.
    #[cold]
    pub fn fault(&mut self, fault: Fault, flight: &Flight, now: Ns, why: &str) {
        if flight.is_sent() {
            let ms = flight.age(now) as f64 / 1e6;
            self.books.fault(fault, || {
                format!("{}: {why} after {ms:.1} ms", flight.words())
            });
        }
    }

    /// The server gave `flight` back unprocessed: it goes out again on
    /// `lane`, before any new one, unless that happened too often.
    #[cold]
    pub fn give_back(&mut self, lane: usize, mut flight: Flight, now: Ns) {
        flight.refused += 1;
        if flight.refused > MOST_REFUSALS {
            return self.fault(Fault::Refused, &flight, now, "refused");
        }
        if flight.is_sent() {
            self.books.retried();
        }
        self.lanes[lane].again.push_back(flight);
    }

    /// Gives up the requests that wait to be sent again.
    pub fn drop_returned(&mut self, now: Ns) {
        for lane in &mut self.lanes {
            for flight in lane.again.drain(..) {
                if flight.is_sent() {
                    unanswered(&mut self.books, self.timeout, &flight, now);
                }
            }
        }
    }

    /// `flight` has no answer at the end of the warm-up or the window.
    #[cold]
    pub fn unanswered(&mut self, flight: &Flight, now: Ns) {
        unanswered(&mut self.books, self.timeout, flight, now);
    }
}

/// One whose time was over is timed out: no answer could be in time.
fn unanswered(books: &mut Books, timeout: Ns, flight: &Flight, now: Ns) {
    let age = flight.age(now);
    if books.is_open() && age > timeout {
        return books.timed_out();
    }
    books.unanswered(age);
}

#[cfg(test)]
mod tests {
    use profiles::data::Dataset;
    use profiles::oracle::Oracle;
    use profiles::profile::Profile;

    use super::*;
    use crate::check::Shelf;

    /// Readers and writers, one connection a lane and thread.
    fn plan() -> Plan {
        let text = include_str!("../../../profiles/defs/production-stack.toml");
        let spec = serde_json::json!({
            "schema": 1, "profile": "production-stack", "definition": text,
            "target": "127.0.0.1:1", "connections": 4, "threads": 4,
            "cpus": null, "seed": 7, "connect_timeout_ns": 1, "warmup_ns": 1,
            "gap_ns": 1, "window_ns": 1, "timeout_ns": 1, "data_dir": "",
        });
        let name = "production-stack".parse().unwrap();
        Plan {
            spec: serde_json::from_value(spec).unwrap(),
            profile: Profile::parse(name, "p.toml", text).unwrap(),
            oracle: Arc::new(Oracle::new(Dataset::generate(), |_| None)),
            shelf: Arc::new(Shelf::new(1)),
            block: None,
        }
    }

    /// The first 60 requests of each lane, the lanes having their turns in
    /// the order of `turns`, with a new connection's key before each.
    fn drawn(plan: &Plan, turns: &[usize]) -> [Vec<(usize, String)>; 2] {
        let mut desk = Desk::new(plan, 1).unwrap();
        let mut asked = [Vec::new(), Vec::new()];
        for &lane in turns.iter().cycle() {
            if asked.iter().all(|list| list.len() == 60) {
                break;
            }
            if asked[lane].len() < 60 {
                desk.rng.bits();
                let flight = desk.draw(lane, 1).unwrap();
                asked[lane].push((flight.class, flight.words()));
            }
        }
        asked
    }

    #[test]
    fn a_lane_asks_the_same_whatever_the_other_one_does() {
        let plan = plan();
        let in_turn = drawn(&plan, &[0, 1]);
        assert_eq!(in_turn, drawn(&plan, &[1, 0, 0, 0, 1]));
        assert_eq!(in_turn, drawn(&plan, &[1, 1, 1, 0]));
        assert_ne!(in_turn[0], in_turn[1]);
    }

    #[test]
    fn no_two_streams_of_the_seed_are_one() {
        let plan = plan();
        let mut seen = std::collections::BTreeSet::new();
        for thread in 0..4 {
            let mut desk = Desk::new(&plan, thread).unwrap();
            assert!(seen.insert(desk.rng.bits()));
            for lane in &mut desk.lanes {
                assert!(seen.insert(lane.rng.bits()));
            }
        }
        assert_eq!(seen.len(), 12);
    }
}
