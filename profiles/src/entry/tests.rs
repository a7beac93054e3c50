//! What a `meta.json` may say, and how a fault in one is told.

use super::*;

fn parse(json: &str) -> Result<Entry, Vec<MetaError>> {
    let known = ["baseline", "json"].map(|p| p.parse().unwrap());
    Entry::parse("x".parse().unwrap(), "x/meta.json", json, &known)
}

#[track_caller]
fn refuses(json: &str, message: &str) {
    let errors = parse(json).unwrap_err();
    let all: Vec<_> = errors.iter().map(|e| e.to_string()).collect();
    assert!(all.iter().any(|e| e.contains(message)), "{all:#?}");
}

#[test]
fn a_foreign_meta_with_keys_of_its_own_loads() {
    let entry = parse(
        r#"{"display_name":"X","language":"Go","engine":"net/http",
        "type":"tuned","tests":["json","baseline"],"sponsor":1,
        "maintainers":["@ann","bob"],"enabled":false}"#,
    )
    .unwrap();
    assert_eq!(entry.league(), League::Framework);
    assert_eq!(entry.maintainers, ["ann", "bob"]);
    assert_eq!(entry.profiles[0].as_str(), "json");
    assert!(!entry.enabled);
}

#[test]
fn a_script_in_a_command_keeps_its_lines() {
    let entry = parse(
        r#"{"type":"tuned","tests":["json"],
        "local":{"run":["sh","-c","cd x\nexec ./y"]}}"#,
    );
    let local = entry.unwrap().local.unwrap();
    assert_eq!(local.run[2], "cd x\nexec ./y");
}

#[test]
fn what_an_entry_needs_is_a_command_or_a_file_and_its_package() {
    let of = |packages: &str| {
        let local = format!(r#"{{"run":["x"],"packages":{packages}}}"#);
        parse(&format!(
            r#"{{"type":"tuned","tests":["json"],"local":{local}}}"#
        ))
    };
    let entry = of(r#"["go:golang-go","/usr/lib/x/y.so:libx-1.0"]"#).unwrap();
    let needed = entry.local.unwrap().packages;
    let pairs: Vec<_> =
        needed.iter().map(|n| (&n.command[..], &n.package[..])).collect();
    assert_eq!(pairs, [("go", "golang-go"), ("/usr/lib/x/y.so", "libx-1.0")]);
    for bad in ["go", ":go", "go:", "bin/go:go", "go:-y", "-v:go", "a:b c"] {
        let errors = of(&format!(r#"["{bad}"]"#)).unwrap_err();
        let told = errors[0].to_string();
        assert!(told.contains("local.packages: found"), "{told}");
        assert!(told.contains("COMMAND:PACKAGE"), "{told}");
    }
}

#[test]
fn every_fault_names_file_field_value_and_allowed_values() {
    refuses(
        r#"{"type":"realistic","tests":["json"]}"#,
        "x/meta.json:1:9: type: found `\"realistic\"`; allowed: production, \
         tuned, engine or infrastructure",
    );
    refuses(
        r#"{"type":"tuned","tests":["jsn"]}"#,
        "tests: found `\"jsn\"`; did you mean `json`? allowed: baseline, json",
    );
    refuses(r#"{"type":"tuned","tests":["json","json"]}"#, "stands twice");
    refuses(r#"{"type":"tuned"}"#, "tests: found nothing");
    for run in [r#"[]"#, r#"[""]"#, r#"["sh","\u0000"]"#] {
        let local = format!(r#""local":{{"run":{run}}}"#);
        let json = format!(r#"{{"type":"tuned","tests":["json"],{local}}}"#);
        refuses(&json, "local.run: found");
    }
    refuses("{\n\"type\": }", "x/meta.json:2:9: (whole file)");
    refuses(r#"{"type":"tuned","tests":[1]}"#, "list of texts");
    refuses(
        r#"{"type":"tuned","tests":["json"],"repo":"javascript:x"}"#,
        "https://",
    );
    assert_eq!(parse(r#"{"type":1,"tests":"x"}"#).unwrap_err().len(), 2);
}

#[test]
fn every_fault_has_its_line_and_a_caret_under_it() {
    let json = "{\n  \"type\": \"prodction\",\n  \"tests\": [\"json\",\n    \
                \"JSON\", \"jsno\"],\n  \"maintainer\": [\"ann\"],\n  \
                \"type\": \"tuned\"\n}";
    let errors = parse(json).unwrap_err();
    let all: Vec<_> = errors.iter().map(|e| e.to_string()).collect();
    let text = all.join("\n");
    for part in [
        "x/meta.json:4:5: tests: found `\"JSON\"`; did you mean `json`? allowed",
        "4 |     \"JSON\", \"jsno\"],\n  |     ^^^^^^\n",
        "x/meta.json:4:13: tests: found `\"jsno\"`; did you mean `json`?",
        "x/meta.json:5:3: (key): found `\"maintainer\"`; did you mean \
         `maintainers`?",
        "5 |   \"maintainer\": [\"ann\"],\n  |   ^^^^^^^^^^^^",
        "x/meta.json:6:3: (key): found `\"type\"`; it stands twice",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    refuses(
        r#"{"type":"prodction","tests":["json"]}"#,
        "1:9: type: found `\"prodction\"`; did you mean `production`?",
    );
    refuses("{\n\"type\": }", "\n2 | \"type\": }\n  |         ^");
}

#[test]
fn what_is_odd_and_harmless_is_only_noted() {
    let entry =
        parse(r#"{"type":"tuned","tests":["json"],"sponsor":1}"#).unwrap();
    let notes: Vec<_> = entry.notes.iter().map(|n| n.to_string()).collect();
    assert!(notes[0].contains("1:34: (key): found `\"sponsor\"`"), "{notes:?}");
    assert!(notes[1].contains("maintainers: found nobody"), "{notes:?}");
}

#[test]
fn a_profile_of_a_protocol_that_is_not_spoken_is_a_conflict() {
    let json = r#"{"type":"tuned","tests":["json","baseline"],
        "protocols":["http2-tls"]}"#;
    let entry = parse(json).unwrap();
    let text = include_str!("../../defs/json.toml");
    let profile =
        Profile::parse("json".parse().unwrap(), "json.toml", text).unwrap();
    let found = entry.conflicts("x/meta.json", json, &[profile]);
    assert_eq!(found.len(), 1);
    let text = found[0].to_string();
    assert!(text.contains("1:26: tests: found `\"json\"`"), "{text}");
    assert!(text.contains("over http1, and `protocols` has only http2-tls"));
    refuses(
        r#"{"type":"tuned","tests":["json"],"protocols":["http2tls"]}"#,
        "did you mean `http2-tls`?",
    );
}
