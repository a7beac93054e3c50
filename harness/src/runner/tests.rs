use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use profiles::{
    hist::Hist,
    profile::Profile,
    record::Testimony,
    sample::{
        ClassCount, PerConnection, SAMPLE_SCHEMA, Sample, Shot, ThreadUse,
    },
    spec::Spec,
    verdict::{Finding, Verdict, Verdicts},
};

use super::*;
use crate::{
    host::{
        Artifact,
        fake::{Events, Fake, Flaw},
    },
    plan::Preset,
    rig::Limits,
    testing::{entry, profile},
};

pub struct FakeGun {
    events: Events,
    missing: bool,
    /// Raised when so many shots were fired.
    pub interrupt: Option<(u32, Interrupt)>,
    fired: RefCell<u32>,
}

impl Gun for FakeGun {
    fn version(&self) -> Result<String, Problem> {
        match self.missing {
            true => Err(Problem::Ours("no loadgen; build it".into())),
            false => Ok("fake 1".into()),
        }
    }

    fn fire(
        &self,
        spec: &Spec,
        watching: &mut Watching<'_>,
    ) -> Result<Shot, Misfire> {
        self.events.add(format!("fire {} {}", spec.profile, spec.connections));
        *self.fired.borrow_mut() += 1;
        if let Some((at, interrupt)) = &self.interrupt
            && *self.fired.borrow() == *at
        {
            interrupt.raise();
            return Err(Misfire::Interrupted);
        }
        watching.open();
        watching.close();
        Ok(Shot::Measured(Box::new(sample(spec))))
    }
}

/// Sound books: every slot full all of the time.
fn sample(spec: &Spec) -> Sample {
    let mean_ns = 1_000_000;
    let right = spec.window_ns / mean_ns * u64::from(spec.connections);
    let mut latency = Hist::new();
    latency.record_n(mean_ns, right);
    let count = ClassCount { sent: right, right };
    Sample {
        schema: SAMPLE_SCHEMA,
        loadgen: "fake 1".into(),
        seed: spec.seed,
        connections_asked: spec.connections,
        connections_made: spec.connections,
        in_flight: 1,
        requests_per_connection: None,
        window_asked_ns: spec.window_ns,
        window_ns: spec.window_ns,
        warmup_right: 0,
        warmup_unanswered: 0,
        sent: right,
        right,
        wrong: 0,
        wrong_by: BTreeMap::new(),
        faults: BTreeMap::new(),
        timed_out: 0,
        unanswered: 0,
        unanswered_age: Hist::new(),
        surplus: 0,
        statuses: BTreeMap::from([(200, right)]),
        classes: BTreeMap::from([("get".into(), count)]),
        right_body_bytes: right,
        sent_bytes: 0,
        received_bytes: 0,
        latency,
        latency_wrong: Hist::new(),
        reconnects: 0,
        connect_errors: BTreeMap::new(),
        per_connection: PerConnection::default(),
        threads: vec![ThreadUse { cpu_ns: 1, wall_ns: 2 }],
        examples: Vec::new(),
        engine: "epoll".into(),
        retried: 0,
        withheld: 0,
        messages: 0,
        open_loop: None,
    }
}

/// Passes everything but what is listed, and writes to the log.
pub struct FakeGate {
    events: Events,
    fails: Vec<(&'static str, &'static str)>,
    stale: Option<&'static str>,
}

impl Gate for FakeGate {
    fn verdicts(
        &mut self,
        entry: &profiles::entry::Entry,
        artifact: &Artifact,
    ) -> Result<Verdicts, NoVerdict> {
        self.events.add(format!("gate {}", entry.name));
        let name = entry.name.as_str();
        let finding = |p: &profiles::name::ProfileName| Finding {
            id: format!("{p}.probe"),
            rule_version: 1,
            profile: p.clone(),
            verdict: match self.fails.contains(&(name, p.as_str())) {
                true => Verdict::Fail,
                false => Verdict::Pass,
            },
            asked: String::new(),
            expected: "55".into(),
            got: "54\n".into(),
            hint: String::new(),
        };
        let probes = entry.profiles.iter().map(finding).collect();
        let digest = match self.stale == Some(name) {
            true => "sha256:old".into(),
            false => artifact.digest.clone(),
        };
        Ok(Verdicts::new(entry.name.clone(), digest, 1, probes))
    }
}

pub struct Bench {
    pub catalog: Catalog,
    pub plan: Plan,
    rig: Rig,
    host: Fake,
    pub gun: FakeGun,
    gate: FakeGate,
    pub interrupt: Interrupt,
    pub results: tempfile::TempDir,
    witness: bool,
    pub before: Option<profiles::board::Stored>,
}

/// Says that every other question was answered wrongly in uploads.
struct Liar;

impl Witness for Liar {
    fn watch(
        &self,
        _: SocketAddr,
        profile: &Profile,
        _: u64,
        _: &AtomicBool,
    ) -> Testimony {
        let wrong = (profile.name.as_str() == "upload")
            .then(|| "asked x:\nexpected y".to_string());
        Testimony { asked: 2, right: 1, wrong }
    }
}

impl Bench {
    /// Entries `a` and `b`, two profiles, two rounds.
    pub fn new() -> Bench {
        let names = ["baseline", "upload"];
        let catalog = Catalog {
            root: "/nowhere".into(),
            profiles: names.map(profile).into(),
            entries: ["a", "b"].map(|n| entry(n, &names)).into(),
            bad: Vec::new(),
        };
        let mut settings = Preset::Smoke.settings();
        settings.rounds = 2;
        let rig = Rig::here();
        let roomy = Limits { open_files: 1 << 20, local_ports: 60_000 };
        let entries: Vec<_> = catalog.entries.iter().collect();
        let profiles: Vec<_> = catalog.profiles.iter().collect();
        let plan = Plan::new(&entries, &profiles, settings, roomy, 7).unwrap();
        let events = Events::default();
        Bench {
            plan,
            rig,
            host: Fake { events: events.clone(), ..Fake::default() },
            gun: FakeGun {
                events: events.clone(),
                missing: false,
                interrupt: None,
                fired: RefCell::new(0),
            },
            gate: FakeGate { events, fails: Vec::new(), stale: None },
            interrupt: Interrupt::default(),
            results: tempfile::tempdir().unwrap(),
            witness: false,
            before: None,
            catalog,
        }
    }

    fn flaw(mut self, entry: &str, flaw: Flaw) -> Bench {
        self.host.flaws.insert(entry.into(), flaw);
        self
    }

    pub fn run(&mut self) -> Result<BenchSummary, Problem> {
        let request = BenchRequest {
            catalog: &self.catalog,
            plan: &self.plan,
            rig: &self.rig,
            host: &self.host,
            gun: &self.gun,
            results: self.results.path(),
            data_dir: Path::new("/nowhere"),
            data_digest: "d".into(),
            arena: "test".into(),
            interrupt: &self.interrupt,
            greet: super::only_http1,
            sidecars: None,
            witness: self.witness.then_some(&Liar),
            before: self.before.as_ref(),
        };
        bench(&request, &mut self.gate, &mut Silent)
    }

    /// Runs; gives the summary and what was stored.
    pub fn stored(&mut self) -> (BenchSummary, Vec<Record>) {
        let summary = self.run().unwrap();
        let read = crate::store::read(&summary.dir).unwrap();
        assert_eq!(read.notes.is_empty(), !summary.interrupted);
        (summary, read.stored.records)
    }
}

/// The stage or void reason of every shot of one entry.
fn fates(records: &[Record], entry: &str) -> Vec<String> {
    let of = records.iter().filter(|r| r.case.entry.as_str() == entry);
    of.map(|r| match &r.outcome {
        Outcome::Failed { stage, why, .. } => format!("{stage}: {why}"),
        Outcome::Measured { void, .. } => void.join("; "),
    })
    .collect()
}

#[track_caller]
fn others_go_on(flaw: Flaw, fate: &str) -> Vec<Record> {
    let (summary, records) = Bench::new().flaw("a", flaw).stored();
    assert_eq!(summary.class(), ExitClass::Cases);
    assert_eq!((summary.shots, summary.valid), (8, 4));
    let fates_of_a = fates(&records, "a");
    assert_eq!(fates_of_a.len(), 4);
    assert!(fates_of_a.iter().any(|f| f.contains(fate)), "{fates_of_a:?}");
    assert_eq!(fates(&records, "b"), [""; 4]);
    records
}

#[test]
fn what_the_judge_is_told_wrong_beside_the_load_makes_a_shot_void() {
    let (_, records) = Bench { witness: true, ..Bench::new() }.stored();
    for record in &records {
        let upload = record.case.profile.as_str() == "upload";
        let Outcome::Measured { void, .. } = &record.outcome else { panic!() };
        let testimony = record.testimony.as_ref().unwrap();
        assert_eq!((testimony.asked, testimony.right), (2, 1));
        assert_eq!(void.is_empty(), !upload, "{void:?}");
        if upload {
            assert!(void[0].ends_with("asked x: expected y"), "{void:?}");
        }
    }
}

#[test]
fn the_order_of_events_is_exactly_the_plan() {
    let mut bench = Bench::new();
    let (summary, records) = bench.stored();
    assert_eq!(summary.class(), ExitClass::Done, "{records:#?}");
    let mut expected: Vec<String> =
        ["build a", "gate a", "build b", "gate b"].map(String::from).into();
    for round in &bench.plan.rounds {
        for PlannedShot { case, .. } in &round.shots {
            let (entry, profile) = (&case.entry, &case.profile);
            expected.push(format!("start {entry} {profile}"));
            expected.push(format!("fire {profile} {}", case.level));
            expected.push(format!("stop {entry}"));
        }
    }
    assert_eq!(bench.host.events.all(), expected);
    let planned = bench.plan.rounds.iter().flat_map(|r| {
        r.shots.iter().map(|s| (r.number, s.order, s.case.clone(), s.seed))
    });
    let stored =
        records.iter().map(|r| (r.round, r.order, r.case.clone(), r.seed));
    assert!(planned.eq(stored));
    assert!(records.iter().all(|r| r.ready_ns.is_some()));
}

#[test]
fn an_entry_that_does_not_build_has_rows_that_say_so() {
    let records = others_go_on(Flaw::Build, "build: does not build");
    let of_a = records.iter().find(|r| r.case.entry.as_str() == "a").unwrap();
    let Outcome::Failed { log_tail, .. } = &of_a.outcome else { panic!() };
    assert_eq!(log_tail, "error: scripted");
    assert_eq!(of_a.artifact_digest, "");
}

#[test]
fn an_entry_that_does_not_start_is_given_up_after_three_tries() {
    let records = others_go_on(Flaw::Start, "start: does not start");
    let last = fates(&records, "a").pop().unwrap();
    assert!(last.contains("not tried again"), "{last}");
}

#[test]
fn an_entry_that_ends_or_speaks_something_else_is_not_ready() {
    others_go_on(Flaw::EndsAtOnce, "start: not tried again");
    let records = others_go_on(Flaw::OtherProtocol, "ready: it answered");
    assert!(fates(&records, "a")[0].contains("220 mail ready"));
}

#[test]
fn an_entry_that_dies_in_its_shot_is_void_with_its_last_words() {
    let records = others_go_on(Flaw::DiesInShot, "exited with code 1 during");
    assert!(fates(&records, "a")[0].contains("scripted last words"));
}

#[test]
fn the_gate_stays_shut_for_a_failed_profile_and_no_other() {
    let mut bench = Bench::new();
    bench.gate.fails.push(("b", "upload"));
    let (summary, records) = bench.stored();
    assert_eq!((summary.valid, summary.failed), (6, 2));
    let shut: Vec<_> =
        fates(&records, "b").into_iter().filter(|f| !f.is_empty()).collect();
    let why = "gate: 1 failed probes of upload; first upload.probe: expected \
               55, got 54";
    assert_eq!(shut, [why; 2]);
    let fired = bench.host.events.all();
    assert!(!fired.contains(&"start b upload".to_string()));
}

#[test]
fn verdicts_on_another_artifact_open_no_gate() {
    let mut bench = Bench::new();
    bench.gate.stale = Some("a");
    let (summary, records) = bench.stored();
    assert_eq!((summary.valid, summary.failed), (4, 4));
    assert!(fates(&records, "a")[0].contains("gate: the verdicts are for a"));
}

#[test]
fn a_missing_gun_stops_the_run_before_any_row() {
    let mut bench = Bench::new();
    bench.gun.missing = true;
    let problem = bench.run().unwrap_err();
    assert_eq!(problem.class(), ExitClass::Ours);
    assert_eq!(std::fs::read_dir(bench.results.path()).unwrap().count(), 0);
    assert!(bench.host.events.all().is_empty());
}

#[test]
fn a_stranger_on_the_port_is_named_and_no_entry_is_blamed() {
    let stranger = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut bench = Bench::new();
    bench.host.real = true;
    for profile in &mut bench.catalog.profiles {
        profile.port = stranger.local_addr().unwrap().port();
    }
    let problem = bench.run().unwrap_err();
    assert_eq!(problem.class(), ExitClass::Unfit);
    let text = problem.to_string();
    let holder = format!("held by process {} (", std::process::id());
    assert!(text.contains(&holder), "{text}");
    assert!(!bench.host.events.all().iter().any(|e| e.starts_with("start")));
}

#[test]
fn an_interrupt_stops_the_server_and_leaves_a_readable_run() {
    let mut bench = Bench::new();
    bench.gun.interrupt = Some((3, bench.interrupt.clone()));
    let (summary, records) = bench.stored();
    assert!(summary.interrupted);
    assert_ne!(summary.class(), ExitClass::Done);
    assert_eq!(records.len(), 2);
    let events = bench.host.events.all();
    let count =
        |what: &str| events.iter().filter(|e| e.starts_with(what)).count();
    assert_eq!(count("start"), count("stop"));
}

#[test]
fn the_run_names_everyone_and_everything_that_took_part() {
    let mut bench = Bench::new();
    bench.catalog.profiles.push(profile("baseline"));
    let last = bench.catalog.profiles.last_mut().unwrap();
    last.name = "later".parse().unwrap();
    let summary = bench.run().unwrap();
    let run = crate::store::read(&summary.dir).unwrap().stored.run;
    assert_eq!((run.host.as_str(), run.loadgen.as_str()), ("fake", "fake 1"));
    assert!(run.ended_at.is_some());
    assert_eq!(run.entries[1].artifact_digest, "sha256:b");
    let fired: Vec<_> =
        run.profiles.iter().map(|p| (p.fired, p.levels.len())).collect();
    assert_eq!(fired, [(true, 1), (true, 1), (false, 0)]);
    let verdicts = crate::store::read_verdicts(&summary.dir, "a").unwrap();
    assert_eq!(verdicts.unwrap().digest, "sha256:a");
}
