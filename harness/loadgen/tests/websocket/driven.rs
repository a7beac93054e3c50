//! A session without a socket, and what became of it.

use loadgen::desk::Desk;
use loadgen::plan::Plan;
use loadgen::session::{ECHO, Over, Session, WebSocket};
use profiles::sample::Fault;

use crate::peer;
use crate::peer::ws::{self, text};

/// A plan with four messages in flight, made once.
pub fn plan() -> Plan {
    let definition = ws::ECHOES.replace("in_flight = 16", "in_flight = 4");
    let spec = peer::spec(&definition, "127.0.0.1:1".parse().unwrap(), 1);
    let (_data, input) = peer::on_disk(&spec);
    Plan::new(&std::fs::read_to_string(input).unwrap()).unwrap()
}

pub struct Driven {
    pub session: WebSocket,
    pub desk: Desk,
    pub kit: <WebSocket as Session>::Kit,
}

/// How it went.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    pub over: Option<Over>,
    pub right: u64,
    pub wrong: u64,
    pub faults: Vec<(Fault, u64)>,
    pub surplus: u64,
    pub unanswered: u64,
    /// What the client sent after its messages.
    pub said: Vec<(u8, Vec<u8>)>,
}

impl Driven {
    /// Connected, with nothing read yet; and the right 101.
    pub fn greeted(plan: &Plan) -> (Driven, Vec<u8>) {
        let mut desk = Desk::new(plan, 0).unwrap();
        let mut kit = WebSocket::kit(plan).unwrap();
        desk.books.open();
        let mut session = WebSocket::new(0);
        session.open(1, &mut desk, &mut kit).unwrap();
        let mut driven = Driven { session, desk, kit };
        let asked = String::from_utf8(driven.sent()).unwrap();
        (driven, ws::switching(&asked).into_bytes())
    }

    /// With its first messages sent, as it was asked for them.
    pub fn asking(plan: &Plan) -> (Driven, Vec<Vec<u8>>) {
        let (mut driven, reply) = Driven::greeted(plan);
        assert_eq!(driven.hears(reply, 1), None);
        assert!(driven.session.is_ready());
        let asked = driven.fill(1);
        (driven, asked)
    }

    /// Draws what may be in flight; returns the payloads.
    pub fn fill(&mut self, now: u64) -> Vec<Vec<u8>> {
        self.session.fill(now, &mut self.desk, &mut self.kit);
        let frames = ws::read_all(&self.sent());
        frames.into_iter().map(|(_, payload)| payload).collect()
    }

    /// Hands all there is to the kernel.
    pub fn sent(&mut self) -> Vec<u8> {
        let text = self.session.out().text().unwrap().to_vec();
        self.session.wrote(text.len(), 1, &mut self.desk);
        text
    }

    pub fn hears(&mut self, mut bytes: Vec<u8>, now: u64) -> Option<Over> {
        self.session.received(&mut bytes, now, &mut self.desk, &mut self.kit)
    }

    pub fn ends(mut self, over: Option<Over>) -> Outcome {
        let said = ws::read_all(&self.sent());
        let stop = over.unwrap_or(Over::Stopped);
        self.session.end(stop, 2, &mut self.desk);
        assert!(self.session.is_idle() && self.session.out().is_empty());
        let books = self.desk.books;
        let wrong = books.wrong_by.values().sum();
        assert_eq!(books.statuses[usize::from(ECHO)], books.right + wrong);
        let ended = books.right + wrong + books.faults.values().sum::<u64>();
        let unanswered = books.unanswered_age.count();
        assert_eq!(books.sent, ended + books.timed_out + unanswered);
        Outcome {
            over,
            right: books.right,
            wrong,
            faults: books.faults.into_iter().collect(),
            surplus: books.surplus,
            unanswered,
            said,
        }
    }
}

/// What the reply to four messages comes to, in these pieces.
pub fn run(
    plan: &Plan,
    reply: &dyn Fn(&[Vec<u8>]) -> Vec<u8>,
    pieces: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
) -> Outcome {
    let (mut driven, asked) = Driven::asking(plan);
    for piece in pieces(&reply(&asked)) {
        let over = driven.hears(piece, 2);
        if over.is_some() {
            return driven.ends(over);
        }
    }
    driven.ends(None)
}

/// The same, cut in two at every place, and byte by byte.
#[track_caller]
pub fn any_way(plan: &Plan, reply: impl Fn(&[Vec<u8>]) -> Vec<u8>) -> Outcome {
    let whole = run(plan, &reply, &|bytes| vec![bytes.to_vec()]);
    let mut at = 0;
    loop {
        let cut = std::cell::Cell::new(false);
        let found = run(plan, &reply, &|bytes| {
            cut.set(at <= bytes.len());
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            vec![a.to_vec(), b.to_vec()]
        });
        if !cut.get() || at > 1000 {
            break;
        }
        assert_eq!(found, whole, "cut at {at}");
        at += 1;
    }
    let single = run(plan, &reply, &|bytes| {
        bytes.chunks(1).map(<[u8]>::to_vec).collect()
    });
    assert_eq!(single, whole, "byte by byte");
    whole
}

/// A reply after which the connection is up and so many are right and wrong.
#[track_caller]
pub fn counts(
    right: u64,
    wrong: u64,
    reply: impl Fn(&[Vec<u8>]) -> Vec<u8>,
) -> Outcome {
    let outcome = any_way(&plan(), reply);
    let found = (outcome.over, outcome.right, outcome.wrong);
    assert_eq!(found, (None, right, wrong), "{outcome:?}");
    assert_eq!(outcome.unanswered, 4 - right - wrong);
    assert_eq!(outcome.faults, []);
    outcome
}

pub fn all(asked: &[Vec<u8>]) -> Vec<u8> {
    asked.iter().flat_map(|payload| text(payload)).collect()
}
