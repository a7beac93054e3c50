//! The catalog: one bad entry is reported in full and never stops the others.

use std::{fs, path::Path};

use profiles::catalog::{Catalog, CatalogError};

const GOOD: &str = r#"{"type": "tuned", "tests": ["baseline"]}"#;

fn tree(metas: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let defs = dir.path().join("profiles/defs");
    fs::create_dir_all(&defs).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["baseline.toml", "baseline-h2.toml", "gateway-64.toml"] {
        fs::copy(root.join("defs").join(name), defs.join(name)).unwrap();
    }
    for (name, meta) in metas {
        let entry = dir.path().join("frameworks").join(name);
        fs::create_dir_all(&entry).unwrap();
        fs::write(entry.join("meta.json"), meta).unwrap();
    }
    dir
}

#[test]
fn each_fault_is_named_and_the_good_entry_still_loads() {
    let dir = tree(&[
        ("bad-type", r#"{"type": "fast", "tests": ["baseline"]}"#),
        ("bad-profile", r#"{"type": "tuned", "tests": ["basline"]}"#),
        ("twice", r#"{"type": "tuned", "tests": ["baseline", "baseline"]}"#),
        ("syntax", "{\"type\": \"tuned\",}"),
        (
            "protocol",
            r#"{"type": "tuned", "tests": ["baseline", "baseline-h2"],
            "protocols": ["http1"]}"#,
        ),
        ("no-stack", r#"{"type": "tuned", "tests": ["gateway-64"]}"#),
        ("Case", GOOD),
        ("case", GOOD),
        ("good", GOOD),
        ("_shared", "not an entry"),
    ]);
    let catalog = Catalog::load(dir.path()).unwrap();
    let names: Vec<_> =
        catalog.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["Case", "good"]);
    let all: Vec<_> = catalog.bad.iter().map(|e| e.to_string()).collect();
    assert_eq!(all.len(), 7, "{all:#?}");
    for part in [
        "bad-type/meta.json:1:10: type: found `\"fast\"`; allowed: production",
        "bad-profile/meta.json:1:29: tests: found `\"basline\"`; did you mean \
         `baseline`? allowed: baseline",
        "twice/meta.json:1:41: tests: found `\"baseline\"`; it stands twice",
        "protocol/meta.json:1:41: tests: found `\"baseline-h2\"`; it is asked \
         over http2-tls, and `protocols` has only http1",
        "found `gateway-64` without its compose.gateway.yml",
        "syntax/meta.json:1:",
        "case/meta.json: (directory): found a name that differs from `Case`",
    ] {
        assert!(all.iter().any(|e| e.contains(part)), "{part}: {all:#?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_put_aside() {
    let dir = tree(&[("good", GOOD), ("endless", GOOD), ("huge", GOOD)]);
    let meta = |name: &str| dir.path().join("frameworks").join(name);
    let endless = meta("endless").join("meta.json");
    fs::remove_file(&endless).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    let huge = format!("{GOOD}{}", " ".repeat(2 << 20));
    fs::write(meta("huge").join("meta.json"), huge).unwrap();
    let catalog = Catalog::load(dir.path()).unwrap();
    assert_eq!(catalog.entries.len(), 1);
    let all: Vec<_> = catalog.bad.iter().map(|e| e.to_string()).collect();
    assert!(all[0].contains("not a regular file"), "{all:#?}");
    assert!(all[1].contains("more than 1048576 bytes"), "{all:#?}");
}

#[test]
fn of_a_thousand_faults_the_first_are_shown_and_the_rest_counted() {
    let tests = vec!["nope"; 1000].join("\",\"");
    let meta = format!(r#"{{"type": "tuned", "tests": ["{tests}"]}}"#);
    let dir = tree(&[("bad", &meta), ("good", GOOD)]);
    let catalog = Catalog::load(dir.path()).unwrap();
    assert_eq!(catalog.bad.len(), 21);
    let last = catalog.bad[20].to_string();
    assert!(last.contains("980 more faults"), "{last}");
}

#[test]
fn a_hostile_folder_name_does_nothing_to_a_terminal() {
    let dir = tree(&[("a\x1b[31m\nb", GOOD), ("good", GOOD)]);
    let catalog = Catalog::load(dir.path()).unwrap();
    let error = catalog.bad[0].to_string();
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[test]
fn unknown_names_list_the_known_ones() {
    let dir = tree(&[("good", GOOD)]);
    let catalog = Catalog::load(dir.path()).unwrap();
    let error = catalog.entry("axum").unwrap_err().to_string();
    assert!(error.ends_with("there are: good"), "{error}");
    let error = catalog.profile("x").unwrap_err().to_string();
    assert!(
        error.ends_with("there are: baseline, baseline-h2, gateway-64"),
        "{error}"
    );
}

#[test]
fn a_folder_that_is_no_checkout_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let error = Catalog::load(dir.path()).unwrap_err();
    assert!(matches!(error, CatalogError::Read { .. }));
    assert!(error.to_string().contains("run inside a checkout"));
}

#[test]
fn a_definition_with_a_bad_name_is_refused() {
    let dir = tree(&[("good", GOOD)]);
    let defs = dir.path().join("profiles/defs");
    fs::rename(defs.join("baseline.toml"), defs.join("bad name.toml")).unwrap();
    let error = Catalog::load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("bad name.toml"), "{error}");
}
