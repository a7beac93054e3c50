//! The door as users walk through it: help, exit codes, streams, schemas.

mod common;

use common::{Checkout, arena, fits, root, stderr, stdout};

const GOOD: &str = r#"{"type": "engine", "tests": ["baseline", "pipelined"],
    "language": "Rust\u001b[2J", "local": {"run": ["./server"]}}"#;

#[test]
fn help_is_on_stdout_with_exit_code_0_for_every_command() {
    let help = stdout(arena(&root()).arg("--help"), 0);
    let mut commands = 0;
    for word in [
        "list", "doctor", "data", "validate", "bench", "rank", "compare",
        "replay", "site", "clean",
    ] {
        assert!(help.contains(&format!("\n  {word} ")), "{word}: {help}");
        stdout(arena(&root()).args([word, "--help"]), 0);
        commands += 1;
    }
    assert_eq!(commands, 10);
    assert!(help.contains("Exit codes: 0 done"));
}

#[test]
fn a_wrong_word_is_usage_and_stdout_stays_empty() {
    for args in [
        &["lisst"][..],
        &["bench", "--preset", "huge"],
        &["bench", "--window", "5"],
        &["bench", "--rounds", "0"],
        &["bench", "--host", "mars"],
        &["bench", "--window", "0s", "--list"],
        &["validate"],
        &["validate", "nobody"],
        &["bench", "nobody", "--list"],
        &["bench", "--profile", "nothing", "--list"],
        &["rank", "no-such-run"],
        &["site"],
    ] {
        let out = arena(&root()).args(args).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(out.stdout.is_empty(), "{args:?}");
        assert!(!out.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn messages_say_what_to_write_instead() {
    let says = |args: &[&str], part: &str| {
        let err = stderr(arena(&root()).args(args), 2);
        assert!(err.contains(part), "`{part}` is not in: {err}");
    };
    says(&["validate", "nobody"], "there are: actix-web, axum, ");
    says(&["bench", "--window", "5"], "`500ms`, `10s` or `2m`");
    says(&["bench", "--profile", "x", "--list"], "api-16, api-4, async-db");
}

#[test]
fn outside_a_checkout_it_says_where_to_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = assert_cmd::Command::cargo_bin("arena").unwrap();
    command.arg("list").current_dir(dir.path()).env_remove("ARENA_ROOT");
    let err = stderr(&mut command, 2);
    assert!(err.contains("is not inside a checkout of the arena"), "{err}");
}

#[test]
fn list_shows_all_27_profiles_and_fits_its_schema() {
    let text = stdout(arena(&root()).args(["list", "--json"]), 0);
    let value = fits("list", &text);
    let profiles = value["profiles"].as_array().unwrap();
    let beside =
        profiles.iter().filter(|p| p["sidecars"][0] == "postgres").count();
    assert_eq!((profiles.len(), beside), (27, 7));
    let table = stdout(arena(&root()).arg("list"), 0);
    assert!(table.contains("production-stack"), "{table}");
    assert!(table.contains("cache authsvc server edge"), "{table}");
}

#[test]
fn a_bad_meta_file_is_said_and_the_good_entry_is_still_listed() {
    let checkout = Checkout::new();
    checkout.entry("good", GOOD);
    checkout.entry("bad", r#"{"type": "fast", "tests": ["jsn"]}"#);
    let mut command = arena(checkout.path());
    let out = command.arg("list").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    let err = String::from_utf8(out.stderr).unwrap();
    let table = String::from_utf8(out.stdout).unwrap();
    assert!(
        err.contains("bad/meta.json:1:10: type: found `\"fast\"`"),
        "{err}"
    );
    assert!(
        err.contains("bad/meta.json:1:28: tests: found `\"jsn\"`"),
        "{err}"
    );
    assert!(table.contains("good"), "{table}");
    assert!(!table.contains('\u{1b}'), "a control character got through");
}

#[test]
fn what_is_odd_in_a_meta_file_is_noted_when_it_is_judged() {
    let checkout = Checkout::new();
    checkout.entry("good", GOOD);
    let target = format!("8080={}", constant());
    let args = ["validate", "good", "--target", &target, "--replay", "sum.get"];
    let err = stderr(arena(checkout.path()).args(args), 3);
    assert!(err.contains("arena: note: "), "{err}");
    assert!(err.contains("maintainers: found nobody"), "{err}");
}

#[test]
fn a_bad_definition_points_at_its_line() {
    let checkout = Checkout::new();
    checkout.entry("good", GOOD);
    let path = checkout.path().join("profiles/defs/json.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("in_flight", "in_fligth")).unwrap();
    let err = stderr(arena(checkout.path()).arg("list"), 2);
    assert!(err.contains("json.toml:"), "{err}");
    assert!(err.contains("in_fligth = 1") && err.contains('^'), "{err}");
}

#[test]
fn bench_list_prints_the_plan_and_fires_nothing() {
    let checkout = Checkout::new();
    checkout.entry("good", GOOD);
    let args = ["bench", "--list", "--preset", "quick", "--seed", "7"];
    let text = stdout(arena(checkout.path()).args(args), 0);
    assert!(text.contains("6 shots"), "{text}");
    assert!(text.contains("nothing was fired"), "{text}");
    assert!(!checkout.path().join("results").exists());
    let again = stdout(arena(checkout.path()).args(args), 0);
    assert_eq!(text, again, "a seed must repeat its plan");
}

#[test]
fn doctor_draws_the_machine_and_fits_its_schema() {
    let text = stdout(arena(&root()).args(["doctor", "--json"]), 0);
    let value = fits("doctor", &text);
    assert_eq!(value["hosts"][0]["name"], "local");
    let drawn = stdout(arena(&root()).arg("doctor"), 0);
    assert!(drawn.contains("pools    server"), "{drawn}");
}

#[test]
fn data_is_made_checked_and_mended() {
    let cache = tempfile::tempdir().unwrap();
    let data = |args: &[&str]| {
        let mut command = arena(&root());
        command.arg("data").args(args).env("ARENA_CACHE", cache.path());
        command
    };
    let dir = stdout(&mut data(&[]), 0);
    assert_eq!(dir.trim_end(), cache.path().join("data").to_str().unwrap());
    let checked = stdout(&mut data(&["--check"]), 0);
    assert!(checked.contains("53 files are right"), "{checked}");
    let css = cache.path().join("data/static/reset.css");
    std::fs::write(&css, "x").unwrap();
    let err = stderr(&mut data(&["--check"]), 1);
    assert!(err.contains("reset.css: expected"), "{err}");
    assert!(err.contains("run `arena data`"), "{err}");
    stdout(&mut data(&[]), 0);
    stdout(&mut data(&["--check"]), 0);
}

#[test]
fn without_a_run_rank_says_how_to_make_one() {
    let checkout = Checkout::new();
    checkout.entry("good", GOOD);
    let err = stderr(arena(checkout.path()).arg("rank"), 2);
    assert!(err.contains("no run yet; `arena bench` makes one"), "{err}");
}

#[test]
fn rules_are_printed_from_the_probes_themselves() {
    let text = stdout(arena(&root()).args(["validate", "--rules"]), 0);
    for part in ["sum.", "upload.", "static.", "source: ", "legal: "] {
        assert!(text.contains(part), "{part}");
    }
    let args = ["validate", "--rules", "--json"];
    let rules = fits("rules", &stdout(arena(&root()).args(args), 0));
    let ids = rules.as_array().unwrap().iter().map(|rule| &rule["id"]);
    for id in ids {
        assert!(text.contains(id.as_str().unwrap()), "{id}");
    }
}

/// A server that takes everything for the same sum.
fn constant() -> std::net::SocketAddr {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut seen = [0; 4096];
                while stream.read(&mut seen).is_ok_and(|n| n > 0) {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain";
                    let text = format!("{head}\r\nContent-Length: 2\r\n\r\n55");
                    if stream.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn a_probe_is_replayed_byte_for_byte() {
    let checkout = Checkout::new();
    checkout.entry("good", GOOD);
    let target = format!("8080={}", constant());
    let replay = |seed: &str, code: i32| {
        let args = [
            "validate",
            "good",
            "--profile",
            "baseline",
            "--replay",
            "sum.get",
            "--target",
            &target,
            "--seed",
            seed,
        ];
        stdout(arena(checkout.path()).args(args), code)
    };
    let text = replay("5", 3);
    assert!(text.starts_with("#1 > GET /baseline11?a="), "{text}");
    assert!(text.contains("\n#1 < HTTP/1.1 200 OK\\r\\n"), "{text}");
    for part in ["FAIL sum.get (baseline)", "  rule ", "  hint "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text, replay("5", 3));
    assert_ne!(text, replay("6", 3));
    let usage = |args: &[&str], part: &str| {
        let all = [&["validate", "good", "--target", &target], args].concat();
        let err = stderr(arena(checkout.path()).args(all), 2);
        assert!(err.contains(part), "`{part}` is not in: {err}");
    };
    usage(&["--replay", "sum.gte"], "there is no probe `sum.gte`; those of");
    usage(&["--replay", "x"], "`arena validate --rules` lists them");
    usage(&["--replay", "json.document"], "is not asked for any profile");
    usage(&["--target", "x"], "`x` is not a target; write http://127.0.0.1");
}
