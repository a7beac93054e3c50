//! loadgen: a spec in, a shot out, its books closed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use profiles::cpuset::CpuSet;
use profiles::sample::{Sample, Shot};
use profiles::spec::{Engine, SPEC_SCHEMA, Spec};

use super::child::{self, Cpu};
use super::{GRACE, Load, Outcome};

const S: u64 = 1_000_000_000;

/// loadgen and what it needs beside the load.
#[derive(Clone, Copy, Debug)]
pub struct Gun<'a> {
    pub program: &'a Path,
    pub data: &'a Path,
    /// The text of the profile.
    pub definition: &'a str,
    pub engine: Engine,
    pub seed: u64,
}

impl Gun<'_> {
    /// Fires and holds that nothing but right answers came.
    pub fn fire(&self, load: &Load<'_>) -> anyhow::Result<(Outcome, Sample)> {
        let (sample, cpu) = self.shot(load)?;
        let bad = sample.wrong + sample.faulted() + sample.timed_out;
        ensure!(
            bad == 0 && sample.surplus == 0,
            "loadgen counted {} wrong, {} faults, {} timed out: {:?}",
            sample.wrong,
            sample.faulted(),
            sample.timed_out,
            sample.examples
        );
        ensure!(sample.right > 0, "loadgen got no right answer");
        // There is no warm-up: all its CPU time went into these answers.
        let wall_s = sample.window_ns as f64 / 1e9;
        let answers = sample.right + sample.warmup_right;
        Ok((Outcome { answers, wall_s, cpu }, sample))
    }

    fn shot(&self, load: &Load<'_>) -> anyhow::Result<(Sample, Cpu)> {
        let spec = Spec {
            schema: SPEC_SCHEMA,
            profile: "peers".parse()?,
            definition: self.definition.into(),
            target: load.addr,
            connections: load.connections,
            threads: 1,
            cpus: load.cpu.and_then(|cpu| CpuSet::new([cpu])),
            seed: self.seed,
            connect_timeout_ns: 10 * S,
            warmup_ns: 0,
            gap_ns: 0,
            window_ns: u64::from(load.window_s) * S,
            timeout_ns: 10 * S,
            data_dir: self.data.into(),
            rate_per_s: None,
            engine: self.engine,
            tokens: Vec::new(),
        };
        let spec = serde_json::to_string(&spec)?;
        let limit = Duration::from_secs(load.window_s.into()) + GRACE;
        let mut command = Command::new(self.program);
        let ended = child::run(&mut command, load.cpu, Some(&spec), limit)
            .context("loadgen did not run")?;
        ensure!(ended.success, "loadgen failed: {}", ended.stderr.trim());
        match serde_json::from_str(&ended.stdout)? {
            Shot::Measured(sample) => {
                sample.check_books()?;
                Ok((*sample, ended.cpu))
            }
            Shot::Failed(failure) => {
                bail!("loadgen at {}: {}", failure.stage, failure.why)
            }
        }
    }
}
