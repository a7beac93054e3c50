//! The order of things: probes of one stage run side by side, failures are
//! asked once more, and the findings come out in the order of the registry.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use profiles::data::UploadBlock;
use profiles::name::EntryName;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::rng::Rng;
use profiles::verdict::{Finding, Verdict, Verdicts};

use crate::probe::{Miss, Probe, Scope, Stage};
use crate::probes;
use crate::session::Session;
use crate::target::Target;

/// Probes that run side by side.
const WORKERS: usize = 8;
/// The limit of one answer once so many probes had none and none passed.
const SILENT_TIMEOUT: Duration = Duration::from_secs(1);
/// A probe may take so many times the limit of one answer.
const PROBE_TIMEOUTS: u32 = 4;

/// How to judge.
pub struct Options<'a> {
    /// All inputs are drawn from this.
    pub seed: u64,
    /// So long an answer may take.
    pub timeout: Duration,
    /// Called after each probe.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
}

impl Options<'_> {
    /// The usual limits, with this seed.
    pub fn new(seed: u64) -> Self {
        Options { seed, timeout: Duration::from_secs(5), progress: None }
    }
}

/// How far the judge is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// Probes that are done, this one included.
    pub done: usize,
    /// Probes in all.
    pub total: usize,
    /// The probe that was just done.
    pub id: &'static str,
    /// How it ended, for now: a failure is still to be asked again.
    pub verdict: Verdict,
}

/// Asks the entry at `target` everything that belongs to `profiles`.
///
/// `digest` names the artifact that runs there; it is only written down.
/// Profiles that this version has no probes for get no findings.
pub fn validate(
    entry: &EntryName,
    digest: &str,
    target: &Target,
    profiles: &[&Profile],
    oracle: &Oracle,
    options: &Options<'_>,
) -> Verdicts {
    let bench = Bench {
        target,
        profiles,
        oracle,
        options,
        block: OnceLock::new(),
        jobs: jobs(profiles),
        done: AtomicUsize::new(0),
        heard: AtomicBool::new(false),
        silent: AtomicUsize::new(0),
    };
    let mut ends: Vec<Option<End>> = vec![None; bench.jobs.len()];
    for stage in [Stage::Calm, Stage::Rough, Stage::Last] {
        let now = |i: &usize| bench.jobs[*i].probe.stage == stage;
        let these: Vec<usize> = (0..bench.jobs.len()).filter(now).collect();
        for (i, end) in bench.pass(&these, true) {
            ends[i] = Some(end);
        }
        if !bench.heard.load(Ordering::Relaxed) {
            // The server is not there at all; asking again tells no more.
            continue;
        }
        let again: Vec<usize> = these
            .into_iter()
            .filter(|i| ends[*i].as_ref().is_some_and(End::is_bad))
            .collect();
        for (i, second) in bench.pass(&again, false) {
            if let (Some(first), false) = (&mut ends[i], second.is_bad()) {
                first.flaky();
            }
        }
    }
    let findings = bench
        .jobs
        .iter()
        .zip(&ends)
        .filter_map(|(job, end)| Some((job, end.as_ref()?)))
        .flat_map(|(job, end)| {
            job.profiles.iter().map(|p| finding(job.probe, p, end))
        })
        .collect();
    Verdicts::new(entry.clone(), digest.into(), options.seed, findings)
}

/// A probe, and the profiles its outcome holds for.
struct Job<'a> {
    probe: &'static Probe,
    profiles: Vec<&'a Profile>,
}

fn jobs<'a>(selected: &[&'a Profile]) -> Vec<Job<'a>> {
    let mut seen = BTreeSet::new();
    let mut once = selected.to_vec();
    once.retain(|p| seen.insert(&p.name));
    probes::all()
        .flat_map(|probe| {
            let mut these = once.clone();
            these.retain(|p| probe.profiles.contains(&p.name.as_str()));
            let split = match probe.scope {
                Scope::Once if these.is_empty() => Vec::new(),
                Scope::Once => vec![these],
                Scope::Each => these.into_iter().map(|p| vec![p]).collect(),
            };
            split.into_iter().map(move |profiles| Job { probe, profiles })
        })
        .collect()
}

/// How one run of a probe ended.
#[derive(Clone, Debug)]
struct End {
    asked: String,
    miss: Option<Box<Miss>>,
}

impl End {
    fn verdict(&self) -> Verdict {
        self.miss.as_ref().map_or(Verdict::Pass, |m| m.verdict)
    }

    fn blocks(&self) -> bool {
        self.verdict().blocks()
    }

    /// Whether it is worth asking again.
    fn is_bad(&self) -> bool {
        self.blocks() || self.verdict() == Verdict::Warn
    }

    fn flaky(&mut self) {
        if let Some(miss) = &mut self.miss {
            miss.verdict = Verdict::Flaky;
            miss.got.push_str("; right when asked again");
        }
    }
}

struct Bench<'a> {
    target: &'a Target,
    profiles: &'a [&'a Profile],
    oracle: &'a Oracle,
    options: &'a Options<'a>,
    block: OnceLock<UploadBlock>,
    jobs: Vec<Job<'a>>,
    done: AtomicUsize,
    /// Whether any probe has passed.
    heard: AtomicBool,
    /// Probes that had no answer.
    silent: AtomicUsize,
}

impl Bench<'_> {
    /// Runs some of the jobs side by side.
    fn pass(&self, which: &[usize], first: bool) -> Vec<(usize, End)> {
        let next = AtomicUsize::new(0);
        let ends = Mutex::new(Vec::new());
        let work = || {
            while let Some(&i) = which.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let job = &self.jobs[i];
                let end = self.run(job);
                if first {
                    self.tell(job, end.verdict());
                }
                ends.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((i, end));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..WORKERS.min(which.len()) {
                scope.spawn(work);
            }
        });
        ends.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, job: &Job<'_>, verdict: Verdict) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = self.options.progress {
            let total = self.jobs.len();
            let id = job.probe.id;
            progress(Progress { done, total, id, verdict });
        }
    }

    fn run(&self, job: &Job<'_>) -> End {
        let profile = job.profiles[0];
        let Some(address) = self.target.address(profile.port) else {
            let miss = Miss::skip(
                &format!("no address for port {}", profile.port),
                "name the address of this port as well",
            );
            return End { asked: String::new(), miss: Some(miss) };
        };
        let lane = lane(job.probe.id, job.probe.scope, profile.name.as_str());
        let timeout = self.timeout();
        let mut session = Session {
            profile,
            selected: self.profiles,
            address,
            host: profile.host(),
            oracle: self.oracle,
            rng: Rng::new(self.options.seed, lane),
            seed: self.options.seed,
            block: &self.block,
            timeout,
            end: Instant::now() + timeout * PROBE_TIMEOUTS,
            asked: None,
        };
        let miss = (job.probe.run)(&mut session).err();
        match miss.as_ref().map(|m| m.verdict) {
            None => self.heard.store(true, Ordering::Relaxed),
            Some(Verdict::NoAnswer) => {
                self.silent.fetch_add(1, Ordering::Relaxed);
            }
            Some(_) => {}
        }
        End { asked: session.asked.unwrap_or_default(), miss }
    }

    /// A server that has not answered anything is not waited for as long.
    fn timeout(&self) -> Duration {
        let silent = self.silent.load(Ordering::Relaxed) >= WORKERS;
        if silent && !self.heard.load(Ordering::Relaxed) {
            return self.options.timeout.min(SILENT_TIMEOUT);
        }
        self.options.timeout
    }
}

/// The probe's own stream of chance: the same whatever else is asked.
fn lane(id: &str, scope: Scope, profile: &str) -> u64 {
    let profile = if scope == Scope::Each { profile } else { "" };
    // FNV-1a.
    let bytes = id.bytes().chain([b'/']).chain(profile.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn finding(probe: &Probe, profile: &Profile, end: &End) -> Finding {
    let (asked, expected, got, hint) = match &end.miss {
        Some(m) => {
            let hint = match (m.hint, m.verdict) {
                (Some(hint), _) => hint.to_string(),
                (None, Verdict::NoAnswer) => {
                    format!("look at the server's log; {}", probe.hint)
                }
                (None, _) => probe.hint.to_string(),
            };
            (m.asked.clone(), m.expected.clone(), m.got.clone(), hint)
        }
        None => {
            let got = "as expected".to_string();
            (end.asked.clone(), probe.legal.into(), got, String::new())
        }
    };
    Finding {
        id: probe.id.into(),
        rule_version: probe.version,
        profile: profile.name.clone(),
        verdict: end.verdict(),
        asked,
        expected,
        got,
        hint,
    }
}
