//! Messages that were sent late, and their like of other protocols.

use loadgen::desk::Desk;
use loadgen::pace::Pace;
use loadgen::plan::Plan;
use loadgen::session::{Http1, Http2, Over, Session};

use crate::driven::{Driven, plan};
use crate::peer;
use crate::peer::ws::text;

/// An open loop's request that was due at 0 and sent at `sent`: whether
/// the session gives anything up at `sent` and later.
fn gives_up<S: Session>(session: &mut S, plan: &Plan, greeting: &[u8]) {
    let mut desk = Desk::new(plan, 0).unwrap();
    let mut kit = S::kit(plan).unwrap();
    desk.books.open();
    session.open(1, &mut desk, &mut kit).unwrap();
    if !greeting.is_empty() {
        let mut bytes = greeting.to_vec();
        assert_eq!(session.received(&mut bytes, 1, &mut desk, &mut kit), None);
    }
    assert!(session.is_ready());
    desk.lanes[0].pace = Pace::new(Some(1.0), 0, 1, 1);
    desk.lanes[0].pace.start(0);
    let timeout = desk.timeout;
    let sent = 2 * timeout;
    session.fill(sent, &mut desk, &mut kit);
    while let Some(n) = session.out().text().map(<[u8]>::len)
        && n > 0
    {
        session.wrote(n, sent, &mut desk);
    }
    assert!(desk.books.sent > 0);
    assert_eq!(session.expire(sent + timeout, &mut desk, &mut kit), None);
    assert_eq!(desk.books.timed_out, 0);
    let end = sent + timeout + 1;
    if let Some(over) = session.expire(end, &mut desk, &mut kit) {
        session.end(over, end, &mut desk);
    }
    assert_eq!(desk.books.timed_out, desk.books.sent);
}

#[test]
fn what_was_sent_late_is_awaited_as_long_as_any() {
    let plan_of = |definition: &str| {
        let addr = "127.0.0.1:1".parse().unwrap();
        let (_data, input) = peer::on_disk(&peer::spec(definition, addr, 1));
        Plan::new(&std::fs::read_to_string(input).unwrap()).unwrap()
    };
    gives_up(&mut Http1::new(0), &plan_of(peer::PIPELINED), b"");
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    gives_up(&mut Http2::new(0), &plan_of(peer::H2C), &settings);
    // At the end it is a time-out, answered or not.
    let (mut driven, asked) = Driven::asking(&plan());
    let late = 1 + driven.desk.timeout;
    assert_eq!(driven.hears(text(&asked[0]), late), None);
    driven.session.end(Over::Stopped, late + 1, &mut driven.desk);
    let books = &driven.desk.books;
    assert_eq!((books.timed_out, books.unanswered_age.count()), (3, 0));
}
