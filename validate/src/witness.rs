//! The judge beside a shot: it asks now and then while the gun fires, with
//! requests that look like the gun's and through code that shares nothing
//! with it. What a server answers only when it is not under load, or only to
//! one of the two, shows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use profiles::oracle::Oracle;
use profiles::profile::{Profile, Protocol};
use profiles::record::Testimony;
use profiles::verdict::Verdict;

use crate::link::Link;
use crate::probe::Miss;
use crate::probes::websocket;
use crate::run::{Bench, Options};
use crate::session::Session;
use crate::tape::Tape;
use crate::target::Target;

/// Between two questions: too seldom to cost the shot anything.
const PAUSE: Duration = Duration::from_millis(200);
/// Between two looks at whether the shot is over.
const NAP: Duration = Duration::from_millis(10);
/// Questions on one connection before the next is made.
const KEPT: u32 = 4;
/// Larger requests are left to the gun: they would be load themselves.
const LARGEST: usize = 1 << 20;
/// Its own stream of chance, far from those of the gun's threads.
const LANE: u64 = 0x7769_746e_6573_7300;

/// Asks `target` what `profile` asks under load, drawn from the shot's seed,
/// until the shot is `over`. An answer that does not come is only counted: a
/// server at its limit may be late.
pub fn witness(
    target: &Target,
    profile: &Profile,
    oracle: &Oracle,
    seed: u64,
    over: &AtomicBool,
) -> Testimony {
    let mut seen = Testimony::default();
    let profiles = [profile];
    let options = Options::new(seed);
    let tape = Tape::default();
    let bench = Bench::new(target, &profiles, oracle, &options, tape);
    let Some(address) = target.address(profile.port) else { return seen };
    let Ok(mut drawer) = bench.session(profile, address, LANE).drawer() else {
        return seen;
    };
    let mut kept: Option<(Link, u32)> = None;
    let mut session = bench.session(profile, address, LANE);
    while rest(over) {
        // Each question has the whole time again.
        session.end = bench.session(profile, address, LANE).end;
        let Some((class, ask)) = drawer.draw(&mut session.rng) else { break };
        let request = session.request_of(Some(class), &ask);
        if request.bytes.len() > LARGEST {
            continue;
        }
        if profile.protocol == Protocol::Websocket {
            seen.asked += 1;
            match websocket::one_echo(&mut session) {
                Ok(()) => seen.right += 1,
                Err(miss) if miss.verdict == Verdict::Fail => {
                    blame(&miss, &mut seen);
                }
                Err(_) => {}
            }
            continue;
        }
        let found = connect(&session, kept.take()).and_then(|mut kept| {
            let response = session.exchange_on(&mut kept.0, &request)?;
            Ok((kept, response))
        });
        seen.asked += 1;
        match found {
            // Late, refused or cut short: the gun's books have those.
            Err(_) => {}
            Ok((link, response)) => {
                match session.judge(&ask, &request, &response) {
                    Ok(()) => seen.right += 1,
                    Err(miss) => blame(&miss, &mut seen),
                }
                kept = (!response.says_close).then_some(link);
            }
        }
    }
    seen
}

/// Waits for the next question; false when the shot is over.
fn rest(over: &AtomicBool) -> bool {
    let mut left = PAUSE;
    while !over.load(Ordering::Relaxed) {
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(NAP);
        left = left.saturating_sub(NAP);
    }
    false
}

/// The connection of before, or a new one.
fn connect(
    s: &Session<'_>,
    kept: Option<(Link, u32)>,
) -> Result<(Link, u32), Box<Miss>> {
    match kept {
        Some((link, asked)) if asked < KEPT => Ok((link, asked + 1)),
        _ => Ok((s.link()?, 1)),
    }
}

fn blame(miss: &Miss, seen: &mut Testimony) {
    if seen.wrong.is_none() {
        let Miss { asked, expected, got, .. } = miss;
        seen.wrong =
            Some(format!("asked `{asked}`: expected {expected}, got {got}"));
    }
}
