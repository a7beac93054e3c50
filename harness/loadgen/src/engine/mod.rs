//! The engine: threads that share nothing between the start and the end.
//!
//! Each has its own readiness queue, connections, lane of randomness and
//! books. They meet twice: when all are connected, the moments of the shot
//! are decided once and handed to each; at the end the books are added up.

mod io;
mod link;
mod phase;
mod pin;
mod poll;
mod slots;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use profiles::sample::Shot;

pub use link::Route;
pub use phase::{Phase, Schedule};
pub use slots::Connected;
pub use worker::Tally;

use crate::desk::Desk;
use crate::plan::{Plan, share};
use crate::report::{self, Failed};
use crate::{clock, limits};
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
    match fire(plan, stop)? {
        Ok(tallies) => report::shot(plan, tallies),
        Err(failed) => Ok(failed.into_shot(&plan.spec)),
    }
}

fn fire(
    plan: &Arc<Plan>,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Result<Vec<Tally>, Failed>> {
    let spec = &plan.spec;
    let route =
        match limits::open_files(spec).and_then(|()| limits::route(spec)) {
            Ok(route) => route,
            Err(why) => return Ok(Err(Failed::new("connect", why))),
        };
    if let Err(why) = pin::all(spec.cpus.as_ref()) {
        return Ok(Err(Failed::new("pin", why)));
    }
    let (tell, news) = channel();
    let mut starts = Vec::new();
    let mut first = 0;
    for index in 0..spec.threads {
        let (start, started) = channel();
        let (plan, stop) = (plan.clone(), stop.clone());
        let tell = tell.clone();
        thread::Builder::new()
            .name(format!("load-{index}"))
            .spawn(move || {
                thread_main(&plan, &stop, route, index, first, &tell, &started)
            })
            .context("a load thread did not start")?;
        starts.push(start);
        first += share(spec, index);
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
    if all.made < spec.connections {
        return Ok(Err(Failed::too_few(spec, all)));
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

fn thread_main(
    plan: &Plan,
    stop: &AtomicBool,
    route: Route,
    index: u32,
    first: u32,
    tell: &Sender<News>,
    start: &Receiver<Schedule>,
) {
    let spec = &plan.spec;
    let worker = pin::one(spec.cpus.as_ref(), index)
        .map_err(|why| Failed::new("pin", why))
        .and_then(|()| {
            Desk::new(plan, index)
                .map_err(|class| anyhow!("class {class} cannot be drawn"))
                .and_then(|desk| {
                    let count = share(spec, index);
                    let timeout = spec.connect_timeout_ns;
                    Ok(Worker::new(desk, route, first, count, timeout)?)
                })
                .map_err(|why| Failed::new("connect", format!("{why:#}")))
        });
    let mut worker = match worker {
        Ok(worker) => worker,
        Err(failed) => return drop(tell.send(News::Unfit(failed))),
    };
    // Nobody listens only when the shot is off already.
    if tell.send(News::Connected(worker.connect(stop))).is_err() {
        return;
    }
    if let Ok(schedule) = start.recv() {
        let tally = worker.fire(&schedule, stop);
        let _ = tell.send(News::Home(Box::new(tally)));
    }
}
