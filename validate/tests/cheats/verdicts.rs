//! Wrong, silent, left open, by chance, and gone are different verdicts.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use profiles::data::Dataset;
use profiles::oracle::Oracle;
use profiles::profile::Profile;
use profiles::verdict::{Finding, Verdict, Verdicts};
use validate::{Options, Progress, Target, validate};

use crate::support::cheat::Cheat;
use crate::support::{SEVEN, Twin, data, profiles, without_folder};

fn options(timeout_ms: u64) -> Options<'static> {
    let timeout = Duration::from_millis(timeout_ms);
    Options { timeout, ..Options::new(3) }
}

#[track_caller]
fn one<'v>(verdicts: &'v Verdicts, id: &str) -> &'v Finding {
    verdicts.probes.iter().find(|p| p.id == id).expect(id)
}

#[test]
fn answered_but_left_open_is_its_own_verdict_and_splits_still_pass() {
    let verdicts =
        Twin::start(Cheat::NeverCloses).judged(&SEVEN, &options(3000));
    assert_eq!(one(&verdicts, "conn.close").verdict, Verdict::DidNotClose);
    assert_eq!(one(&verdicts, "sum.split").verdict, Verdict::Pass);
    assert!(!verdicts.passes(&"baseline".parse().unwrap()));
    assert!(verdicts.passes(&"json".parse().unwrap()));
}

#[test]
fn silence_is_no_answer_and_not_a_wrong_one() {
    let verdicts = Twin::start(Cheat::Silent).judged(&SEVEN, &options(300));
    // Closing when the client has half-closed is an answer to a cut upload.
    for p in verdicts.probes.iter().filter(|p| p.id != "upload.cut") {
        let silent = matches!(p.verdict, Verdict::NoAnswer | Verdict::Warn);
        assert!(silent, "{} {:?}: {}", p.id, p.verdict, p.got);
    }
    assert_eq!(one(&verdicts, "sum.get").verdict, Verdict::NoAnswer);
    assert!(one(&verdicts, "sum.get").got.contains("0 bytes had come"));
    for name in SEVEN {
        assert!(!verdicts.passes(&name.parse().unwrap()), "{name}");
    }
}

#[test]
fn a_byte_now_and_then_is_no_answer_either() {
    let verdicts =
        Twin::start(Cheat::Drip).judged(&["pipelined"], &options(400));
    assert_eq!(one(&verdicts, "pipeline.ok").verdict, Verdict::NoAnswer);
}

#[test]
fn an_endless_answer_is_cut_off_and_wrong() {
    for cheat in [Cheat::Endless, Cheat::EndlessHead, Cheat::EndlessInterim] {
        let verdicts =
            Twin::start(cheat).judged(&["pipelined"], &options(20_000));
        let found = one(&verdicts, "pipeline.ok");
        assert_eq!(found.verdict, Verdict::Fail, "{}", found.got);
        assert!(found.got.contains("more than"), "{}", found.got);
    }
}

/// BC-02: who has answers ready for the published data has none for the
/// judge's.
#[test]
fn answers_to_the_published_data_are_wrong_over_the_judges_own() {
    let twin = Twin::start(Cheat::Honest);
    let profiles = profiles(&["json", "json-comp"]);
    let profiles: Vec<&Profile> = profiles.iter().collect();
    let judge = |dataset| {
        let oracle = Oracle::new(dataset, |_| None);
        let target = Target::local(twin.address);
        let name = "twin".parse().unwrap();
        validate(&name, "d", &target, &profiles, &oracle, &options(20_000))
    };
    let json = "json".parse().unwrap();
    assert!(judge(Dataset::generate()).passes(&json));
    let varied = judge(Dataset::varied(3));
    for id in ["json.document", "json.multiplier", "comp.encoded"] {
        assert_eq!(one(&varied, id).verdict, Verdict::Fail, "{id}");
    }
    assert!(!varied.passes(&json));
}

#[test]
fn a_failure_by_chance_is_flaky_and_drops_nothing() {
    let verdicts =
        Twin::start(Cheat::WrongOnce).judged(&SEVEN, &options(20_000));
    let odd: Vec<&Finding> =
        verdicts.probes.iter().filter(|p| p.verdict != Verdict::Pass).collect();
    assert!(!odd.is_empty());
    for p in odd {
        assert_eq!(p.verdict, Verdict::Flaky, "{}: {}", p.id, p.got);
        assert!(p.got.ends_with("; 1 of 5 runs, in all"), "{}", p.got);
    }
    assert_eq!(verdicts.failed, 0);
    assert!(verdicts.passes(&"baseline".parse().unwrap()));
}

#[test]
fn a_server_that_dies_after_the_checks_is_found_dead() {
    let twin = Twin::start(Cheat::Honest);
    let last = |p: Progress| {
        let left = p.total - p.done;
        if p.id != "alive.after" && left == SEVEN.len() {
            twin.die();
        }
    };
    let verdicts = twin
        .judged(&SEVEN, &Options { progress: Some(&last), ..options(20_000) });
    for p in &verdicts.probes {
        // A connection that its listener has not taken yet is reset, which
        // is silence; after that, nobody is there.
        let expected: &[Verdict] = match &p.id[..] {
            "alive.after" => &[Verdict::Crashed, Verdict::NoAnswer],
            _ => &[Verdict::Pass],
        };
        assert!(expected.contains(&p.verdict), "{}: {}", p.id, p.got);
    }
    assert!(SEVEN.iter().all(|n| !verdicts.passes(&n.parse().unwrap())));
}

#[test]
fn where_nothing_listens_the_judge_says_so_at_once() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let all = profiles(&SEVEN);
    let all: Vec<&Profile> = all.iter().collect();
    let judge = |target: &Target| {
        let entry = "nobody".parse().unwrap();
        let oracle = data::oracle();
        validate(&entry, "d", target, &all, oracle, &options(60_000))
    };
    let verdicts = without_folder(judge(&Target::local(address)));
    for p in &verdicts.probes {
        assert_eq!(p.verdict, Verdict::Refused, "{}", p.id);
        assert!(p.got.contains("no connection"), "{}", p.got);
    }
    // Without an address for the port there is nothing to ask.
    let verdicts = judge(&Target::default());
    assert_eq!((verdicts.passed, verdicts.failed), (0, 0));
    assert!(!verdicts.passes(&all[0].name));
}

#[test]
fn an_oracle_that_knows_nothing_passes_nothing() {
    let twin = Twin::start(Cheat::Honest);
    let all = profiles(&["static"]);
    let all: Vec<&Profile> = all.iter().collect();
    let oracle = Oracle::new(data::data().dataset.clone(), |_| None);
    let entry = "twin".parse().unwrap();
    let target = Target::local(twin.address);
    let verdicts =
        validate(&entry, "d", &target, &all, &oracle, &options(20_000));
    for id in ["static.identity", "static.encoded", "static.split"] {
        assert_eq!(one(&verdicts, id).verdict, Verdict::Skip, "{id}");
    }
    assert!(!verdicts.passes(&all[0].name));
}

#[test]
fn a_finding_tells_what_was_asked_expected_and_got_and_how_to_mend_it() {
    let twin = Twin::start(Cheat::BlankLineCut);
    let verdicts = twin.judged(&["baseline"], &options(20_000));
    let found = one(&verdicts, "sum.split");
    assert!(found.asked.contains("a pause of 30 ms"), "{}", found.asked);
    assert!(found.asked.starts_with("GET /baseline11?a="), "{}", found.asked);
    assert!(found.expected.starts_with("200, text/plain"));
    assert!(found.got.contains("failing cuts: GET: "), "{}", found.got);
    assert!(found.got.contains("\\r\\n\\r` | `\\n"), "{}", found.got);
    assert!(found.hint.contains("between CR and LF"));
}
