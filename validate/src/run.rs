//! The order of things: probes of one stage run side by side, failures are
//! asked again, and the findings come out in the order of the registry.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use profiles::data::UploadBlock;
use profiles::entry::Type;
use profiles::name::EntryName;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::rng::Rng;
use profiles::verdict::{Verdict, Verdicts};
use time::Date;

use crate::database::Database;
use crate::end::End;
use crate::jobs::{Job, jobs};
use crate::probe::{Miss, Stage};
use crate::session::{Questions, Session};
use crate::tape::{Line, Tape};
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
    /// What the entry claims to be: some rules hold for some types.
    pub kind: Type,
    /// The day of the judgement. Without one no announced rule is in force.
    pub today: Option<Date>,
    /// Rules, by the ids of their probes, that only warn until a day.
    pub announced: &'a [(&'a str, Date)],
    /// Only this probe.
    pub only: Option<&'a str>,
    /// Each probe ends, as passed, after so many questions. For tests of the
    /// probes: what is not caught any more was caught by the later ones.
    pub questions: Option<usize>,
}

impl Options<'_> {
    /// The usual limits, with this seed.
    pub fn new(seed: u64) -> Self {
        Options {
            seed,
            timeout: Duration::from_secs(5),
            progress: None,
            kind: Type::Production,
            today: None,
            announced: &[],
            only: None,
            questions: None,
        }
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
    let bench = Bench::new(target, profiles, oracle, options, Tape::default());
    let ends = bench.all();
    bench.verdicts(entry, digest, &ends)
}

/// One probe, asked once more.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What it came to this time.
    pub verdicts: Verdicts,
    /// Every byte of it, or every frame, in the order it was said.
    pub lines: Vec<Line>,
    /// How many questions were asked, at most, of one listener: connections
    /// with their first request, and each further request.
    pub questions: usize,
}

/// Runs the probe that [`Options::only`] names once, with the inputs that the
/// seed gives, and takes the whole exchange down.
pub fn replay(
    entry: &EntryName,
    digest: &str,
    target: &Target,
    profiles: &[&Profile],
    oracle: &Oracle,
    options: &Options<'_>,
) -> Replay {
    let tape = Tape::running();
    let bench = Bench::new(target, profiles, oracle, options, tape.clone());
    let run = |job: &Job<'_>| Some(bench.run(job));
    let ends: Vec<_> = bench.jobs.iter().map(run).collect();
    let verdicts = bench.verdicts(entry, digest, &ends);
    let questions = bench.questions.load(Ordering::Relaxed);
    Replay { verdicts, lines: tape.lines(), questions }
}

pub(crate) struct Bench<'a> {
    target: &'a Target,
    profiles: &'a [&'a Profile],
    oracle: Oracle,
    options: &'a Options<'a>,
    tape: Tape,
    block: OnceLock<UploadBlock>,
    jobs: Vec<Job<'a>>,
    done: AtomicUsize,
    /// Whether any probe has passed.
    heard: AtomicBool,
    /// Probes that had no answer.
    silent: AtomicUsize,
    /// The most questions that a probe asked.
    questions: AtomicUsize,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        target: &'a Target,
        profiles: &'a [&'a Profile],
        oracle: &Oracle,
        options: &'a Options<'a>,
        tape: Tape,
    ) -> Bench<'a> {
        Bench {
            target,
            profiles,
            oracle: oracle.clone().with_run(options.seed),
            options,
            tape,
            block: OnceLock::new(),
            jobs: jobs(profiles, options.only),
            done: AtomicUsize::new(0),
            heard: AtomicBool::new(false),
            silent: AtomicUsize::new(0),
            questions: AtomicUsize::new(0),
        }
    }

    /// Runs everything: what only reads first, then what writes, and leaves
    /// the database as it was.
    fn all(&self) -> Vec<Option<End>> {
        let mut ends: Vec<Option<End>> = vec![None; self.jobs.len()];
        self.stages(false, &mut ends);
        self.stages(true, &mut ends);
        self.tidy();
        ends
    }

    /// Takes out and puts back what requests of the load have written.
    fn tidy(&self) {
        let written = self.jobs.iter().any(Job::writes);
        if let (true, Some(url)) = (written, &self.target.database) {
            let by = Instant::now() + self.options.timeout;
            // Where it cannot be reached the probes have said so.
            let _ = Database::open(url, by).and_then(|mut db| db.tidy());
        }
    }

    /// Runs all that writes, or all that does not, stage by stage.
    fn stages(&self, writes: bool, ends: &mut [Option<End>]) {
        for stage in [Stage::Calm, Stage::Rough, Stage::Alone, Stage::Last] {
            let now = |i: &usize| {
                let job = &self.jobs[*i];
                job.probe.stage == stage && job.writes() == writes
            };
            let these: Vec<usize> = (0..self.jobs.len()).filter(now).collect();
            let workers = if stage == Stage::Alone { 1 } else { WORKERS };
            for (i, end) in self.pass(&these, workers, true) {
                ends[i] = Some(end);
            }
            // Where the server is not there at all, asking again tells no
            // more.
            while self.heard.load(Ordering::Relaxed) {
                let wants =
                    |i: &usize| ends[*i].as_ref().is_some_and(End::wants_more);
                let again: Vec<usize> =
                    these.iter().copied().filter(wants).collect();
                if again.is_empty() {
                    break;
                }
                for (i, other) in self.pass(&again, workers, false) {
                    if let Some(end) = &mut ends[i] {
                        end.add(&other);
                    }
                }
            }
        }
    }

    fn verdicts(
        &self,
        entry: &EntryName,
        digest: &str,
        ends: &[Option<End>],
    ) -> Verdicts {
        let options = self.options;
        let day = |id: &str| {
            let of = options.announced.iter().find(|(rule, _)| *rule == id);
            of.map(|(_, day)| *day)
        };
        let findings = self
            .jobs
            .iter()
            .zip(ends)
            .filter_map(|(job, end)| Some((job, end.as_ref()?)))
            .flat_map(|(job, end)| {
                let probe = job.probe;
                let announced = day(probe.id).or(probe.announced);
                job.profiles.iter().map(move |profile| {
                    end.finding(probe, profile, announced, options.today)
                })
            })
            .collect();
        Verdicts::new(entry.clone(), digest.into(), options.seed, findings)
    }

    /// Runs some of the jobs, several side by side.
    fn pass(
        &self,
        which: &[usize],
        workers: usize,
        first: bool,
    ) -> Vec<(usize, End)> {
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
            for _ in 0..workers.min(which.len()) {
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
            return End::new(String::new(), Some(miss));
        };
        let mut session = self.session(profile, address, job.lane());
        let mut miss = (job.probe.run)(&mut session).err();
        let asked = session.questions.asked();
        self.questions.fetch_max(asked, Ordering::Relaxed);
        match miss.as_mut().map(|m| (m.verdict, m)) {
            None => self.heard.store(true, Ordering::Relaxed),
            Some((Verdict::NoAnswer, _)) => {
                self.silent.fetch_add(1, Ordering::Relaxed);
            }
            Some((Verdict::Refused, miss)) => {
                if self.heard.load(Ordering::Relaxed) {
                    miss.verdict = Verdict::Crashed;
                }
                self.silent.fetch_add(1, Ordering::Relaxed);
            }
            Some(_) => {}
        }
        End::new(session.asked.unwrap_or_default(), miss)
    }

    /// One probe's, or the witness's, way to ask.
    pub(crate) fn session(
        &self,
        profile: &'a Profile,
        address: SocketAddr,
        lane: u64,
    ) -> Session<'_> {
        let timeout = self.timeout();
        Session {
            profile,
            selected: self.profiles,
            address,
            target: self.target,
            kind: self.options.kind,
            host: profile.host(),
            oracle: &self.oracle,
            rng: Rng::new(self.options.seed, lane),
            seed: self.options.seed,
            block: &self.block,
            timeout,
            end: Instant::now() + timeout * PROBE_TIMEOUTS,
            asked: None,
            tape: self.tape.clone(),
            questions: Questions::up_to(self.options.questions),
        }
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
