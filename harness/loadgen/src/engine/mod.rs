//! The engine: threads that share nothing between the start and the end.
//!
//! Each has its own readiness queue, connections, lane of randomness and
//! books. They meet twice: when all are connected, the moments of the shot
//! are decided once and handed to each; at the end the books are added up.

mod agenda;
mod choose;
mod driver;
mod epoll;
mod io;
mod link;
mod phase;
mod pin;
mod quic;
mod shift;
mod slots;
mod uring;
mod worker;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use profiles::profile::Protocol;
use profiles::sample::Shot;

pub use choose::refusal;
pub use link::Route;
pub use phase::{Phase, Schedule};
pub use quic::sockets;
pub use slots::Connected;
pub use worker::Tally;

use crate::desk::Desk;
use crate::plan::{Plan, share};
use crate::report::{self, Failed};
use crate::session::{Http1, Http2, Session, Tls, WebSocket};
use crate::{clock, limits};
use choose::{Choice, Queue};
use driver::Driver;
use epoll::Epoll;
use quic::Quic;
use uring::Uring;
use worker::Worker;

/// From the decision to the first request: time for every thread to wake.
const START_DELAY: clock::Ns = 2_000_000;
/// All threads must be home so long after the hard stop.
const GRACE: clock::Ns = 2_000_000_000;
const LOOK: Duration = Duration::from_millis(50);

/// What a thread says before the shot and after it.
enum News {
    Unfit(Failed),
    Connected(Connected),
    Home(Box<Tally>),
}

/// Fires one shot. An error is the gun's own fault.
pub fn run(plan: &Arc<Plan>, stop: &Arc<AtomicBool>) -> anyhow::Result<Shot> {
    let asked = plan.connections();
    // HTTP/3 has an engine of its own, which says so itself.
    let choice = match Choice::new(plan) {
        Ok(choice) => choice,
        Err(why) => return Ok(Failed::new("engine", why).into_shot(asked)),
    };
    let mut shot = match fire(plan, stop, choice.queue)? {
        Ok(tallies) => report::shot(plan, tallies)?,
        Err(failed) => failed.into_shot(asked),
    };
    if let Shot::Measured(sample) = &mut shot
        && sample.engine.is_empty()
    {
        sample.engine = choice.words;
    }
    Ok(shot)
}

fn fire(
    plan: &Arc<Plan>,
    stop: &Arc<AtomicBool>,
    queue: Queue,
) -> anyhow::Result<Result<Vec<Tally>, Failed>> {
    let spec = &plan.spec;
    let route = match limits::waits()
        .and_then(|()| limits::open_files(plan))
        .and_then(|()| limits::route(plan))
    {
        Ok(route) => route,
        Err(why) => return Ok(Err(Failed::new("connect", why))),
    };
    if let Err(why) = pin::all(spec.cpus.as_ref()) {
        return Ok(Err(Failed::new("pin", why)));
    }
    let (tell, news) = channel();
    let mut starts = Vec::new();
    let mut first = 0;
    let lanes = plan.lanes();
    for index in 0..spec.threads {
        let (start, started) = channel();
        let by_lane: Vec<u32> = lanes
            .iter()
            .map(|lane| share(lane.connections, spec.threads, index))
            .collect();
        let count: u32 = by_lane.iter().sum();
        let crew = Crew {
            plan: plan.clone(),
            stop: stop.clone(),
            route,
            index,
            queue,
            first,
            by_lane,
            tell: tell.clone(),
            start: started,
        };
        thread::Builder::new()
            .name(format!("load-{index}"))
            .spawn(move || crew.begin())
            .context("a load thread did not start")?;
        starts.push(start);
        first += count;
    }
    drop(tell);
    let mut all = Connected::default();
    for _ in 0..spec.threads {
        match next(&news, None)? {
            News::Connected(one) => all.add(one),
            News::Unfit(failed) => return Ok(Err(failed)),
            News::Home(_) => bail!("a thread came home before it was sent"),
        }
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(Err(Failed::interrupted("connecting").with(all)));
    }
    if all.made < plan.connections() {
        return Ok(Err(Failed::too_few(plan, all)));
    }
    let schedule = Schedule::new(spec, clock::now() + START_DELAY);
    for start in starts {
        // A thread that is gone is missed below.
        let _ = start.send(schedule);
    }
    let deadline = schedule.closed() + GRACE;
    let mut tallies = Vec::new();
    for _ in 0..spec.threads {
        match next(&news, Some(deadline))? {
            News::Home(tally) => tallies.push(*tally),
            News::Unfit(failed) => return Ok(Err(failed)),
            News::Connected(_) => bail!("a thread connected twice"),
        }
    }
    Ok(Ok(tallies))
}

fn next(
    news: &Receiver<News>,
    deadline: Option<clock::Ns>,
) -> anyhow::Result<News> {
    loop {
        match news.recv_timeout(LOOK) {
            Ok(news) => return Ok(news),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("a load thread ended without a word")
            }
            Err(RecvTimeoutError::Timeout) => {
                if deadline.is_some_and(|at| clock::now() > at) {
                    bail!("a load thread did not stop at the hard stop");
                }
            }
        }
    }
}

/// What one thread is given.
struct Crew {
    plan: Arc<Plan>,
    stop: Arc<AtomicBool>,
    route: Route,
    /// Its number among the threads.
    index: u32,
    queue: Queue,
    /// The number of its first connection among all threads'.
    first: u32,
    /// Its connections of each lane.
    by_lane: Vec<u32>,
    tell: Sender<News>,
    start: Receiver<Schedule>,
}

impl Crew {
    fn begin(self) {
        let spec = &self.plan.spec;
        let desk = pin::one(spec.cpus.as_ref(), self.index)
            .map_err(|why| Failed::new("pin", why))
            .and_then(|()| {
                Desk::new(&self.plan, self.index).map_err(|class| {
                    let why = format!("class {class} cannot be drawn");
                    Failed::new("connect", why)
                })
            });
        let desk = match desk {
            Ok(desk) => desk,
            Err(failed) => return drop(self.tell.send(News::Unfit(failed))),
        };
        // An open loop sends at moments of its own; the usual slack is 50 us.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        match self.plan.profile.protocol {
            Protocol::Http1 => self.work::<Http1>(desk),
            Protocol::Http1Tls => self.work::<Tls<Http1>>(desk),
            Protocol::Websocket => self.work::<WebSocket>(desk),
            Protocol::Http2Cleartext | Protocol::Grpc => {
                self.work::<Http2>(desk)
            }
            Protocol::Http2Tls | Protocol::GrpcTls => {
                self.work::<Tls<Http2>>(desk)
            }
            Protocol::Http3 => self.quic(desk),
        }
    }

    fn unfit(&self, why: String) {
        let failed = Failed::new("connect", why);
        // Nobody listens only when the shot is off already.
        let _ = self.tell.send(News::Unfit(failed));
    }

    fn quic(&self, desk: Desk) {
        let (first, lanes) = (self.first, &self.by_lane);
        let mut quic = match Quic::new(&self.plan, desk, first, lanes) {
            Ok(quic) => quic,
            Err(why) => return self.unfit(format!("{why:#}")),
        };
        let connected = quic.connect(&self.stop);
        if self.tell.send(News::Connected(connected)).is_err() {
            return;
        }
        if let Ok(schedule) = self.start.recv() {
            let tally = quic.fire(&schedule, &self.stop);
            let _ = self.tell.send(News::Home(Box::new(tally)));
        }
    }

    fn work<S: Session>(&self, desk: Desk) {
        match self.queue {
            Queue::Epoll => self.drive::<S, Epoll>(desk),
            Queue::IoUring => self.drive::<S, Uring>(desk),
        }
    }

    fn drive<S: Session, D: Driver>(&self, desk: Desk) {
        let timeout = self.plan.spec.connect_timeout_ns;
        let worker = S::kit(&self.plan).and_then(|kit| {
            let (route, first) = (self.route, self.first);
            let lanes = &self.by_lane;
            Worker::<S, D>::new(desk, kit, route, first, lanes, timeout)
        });
        let mut worker = match worker {
            Ok(worker) => worker,
            Err(why) => return self.unfit(format!("{why:#}")),
        };
        let connected = worker.connect(&self.stop);
        if self.tell.send(News::Connected(connected)).is_err() {
            return;
        }
        if let Ok(schedule) = self.start.recv() {
            let (tally, driver) = worker.fire(&schedule, &self.stop);
            let _ = self.tell.send(News::Home(Box::new(tally)));
            drop(driver);
        }
    }
}
