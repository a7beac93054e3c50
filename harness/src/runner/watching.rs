//! The pools during one shot: opened and closed with the gun's own window.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use profiles::{cpuset::CpuSet, record::Usage};

use crate::{
    interrupt::Interrupt,
    watch::{Meter, Reading, busy_ns, foreign_share},
};

/// Between two looks at the memory.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is read while the gun fires.
#[derive(Debug)]
pub struct Watching<'a> {
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
    server: Option<Reading>,
    load: Option<Reading>,
    services: Vec<(String, Reading)>,
    cpus: CpuSet,
    busy: Option<u64>,
    opened: Option<Instant>,
    looked: Instant,
    /// Its length and the pools' busy time, once closed.
    window: Option<(Duration, Option<u64>)>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// The server pool.
    pub server: Usage,
    /// The gun.
    pub load: Usage,
    /// Each sidecar, and each service of a stack.
    pub services: BTreeMap<String, Usage>,
    /// Share of the pools' CPU that was neither; `None` if not known.
    pub foreign_share: Option<f64>,
    /// Whether the gun told when its window opened and closed.
    pub marked: bool,
}

impl<'a> Watching<'a> {
    /// Of a server with `meter`, on the CPUs of both pools.
    pub fn new(
        meter: Option<Meter>,
        cpus: CpuSet,
        interrupt: &'a Interrupt,
    ) -> Watching<'a> {
        Watching {
            interrupt,
            server: meter.map(Reading::new),
            load: None,
            services: Vec::new(),
            cpus,
            busy: None,
            opened: None,
            looked: Instant::now(),
            window: None,
        }
    }

    /// With what is read apart: sidecars, and services of a stack.
    #[must_use]
    pub fn with(mut self, services: Vec<(String, Meter)>) -> Watching<'a> {
        let of = |(name, meter)| (name, Reading::new(meter));
        self.services.extend(services.into_iter().map(of));
        self
    }

    /// The gun is there.
    pub fn gun(&mut self, meter: Meter) {
        self.load = Some(Reading::new(meter));
    }

    fn readings(&mut self) -> impl Iterator<Item = &mut Reading> {
        let pools = [&mut self.server, &mut self.load].into_iter().flatten();
        pools.chain(self.services.iter_mut().map(|(_, reading)| reading))
    }

    /// The window opens now. A second call is a second opinion: ignored.
    pub fn open(&mut self) {
        if self.opened.is_some() {
            return;
        }
        self.readings().for_each(Reading::open);
        self.busy = busy_ns(&self.cpus);
        self.opened = Some(Instant::now());
    }

    /// Time passes.
    pub fn look(&mut self) {
        let open = self.opened.is_some() && self.window.is_none();
        if open && self.looked.elapsed() >= LOOK_EVERY {
            self.readings().for_each(Reading::look);
            self.looked = Instant::now();
        }
    }

    /// The window closes now.
    pub fn close(&mut self) {
        let Some(opened) = self.opened else { return };
        if self.window.is_some() {
            return;
        }
        let length = opened.elapsed();
        self.readings().for_each(Reading::close);
        let busy = busy_ns(&self.cpus)
            .zip(self.busy)
            .map(|(now, then)| now.saturating_sub(then));
        self.window = Some((length, busy));
    }

    /// What was read in the window.
    pub fn watched(&self) -> Watched {
        let of = |r: &Option<Reading>| {
            r.as_ref().map(Reading::usage).unwrap_or_default()
        };
        let (server, load) = (of(&self.server), of(&self.load));
        let services: BTreeMap<String, Usage> = self
            .services
            .iter()
            .map(|(name, reading)| (name.clone(), reading.usage()))
            .collect();
        // Services of a stack are part of the server; sidecars are not.
        let beside: u64 = ["postgres", "redis"]
            .iter()
            .filter_map(|name| Some(services.get(*name)?.cpu_ns))
            .sum();
        let foreign_share = self.window.and_then(|(length, busy)| {
            Some(foreign_share(
                busy?,
                server.cpu_ns + load.cpu_ns + beside,
                length.as_nanos() as u64,
                self.cpus.count(),
            ))
        });
        let marked = self.window.is_some();
        Watched { server, load, services, foreign_share, marked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_opened_and_closed_once_and_only_in_order() {
        let interrupt = Interrupt::default();
        let me = Meter::Tree(std::process::id() as i32);
        let cpus: CpuSet = "0".parse().unwrap();
        let mut watching = Watching::new(Some(me), cpus, &interrupt);
        watching.close();
        assert!(!watching.watched().marked);
        watching.open();
        watching.look();
        watching.close();
        let first = watching.watched();
        assert!(first.marked);
        assert!(first.server.memory_peak_bytes.is_some());
        watching.open();
        watching.close();
        assert_eq!(watching.watched(), first);
    }
}
