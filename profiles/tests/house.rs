//! The house: who may import whom, and small promises about the tree.

use std::{collections::BTreeMap, fs, path::Path};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Our crates that a manifest names under `[dependencies]` or
/// `[dev-dependencies]`.
fn imports(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let ours = ["profiles", "harness", "validate", "site", "loadgen", "arena"];
    let mut out: Vec<String> = ["dependencies", "dev-dependencies"]
        .iter()
        .filter_map(|key| table.get(*key)?.as_table())
        .flat_map(|deps| deps.keys())
        .filter(|key| ours.contains(&key.as_str()))
        .cloned()
        .collect();
    out.sort();
    out.dedup();
    out
}

#[test]
fn siblings_never_import_one_another() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("profiles/Cargo.toml", &[][..]),
        ("harness/Cargo.toml", &["profiles"]),
        ("harness/loadgen/Cargo.toml", &["profiles"]),
        ("validate/Cargo.toml", &["profiles"]),
        ("site/Cargo.toml", &["profiles"]),
        ("docker/authsvc/Cargo.toml", &[]),
        (
            "harness/cli/Cargo.toml",
            &["harness", "profiles", "site", "validate"],
        ),
    ]);
    let manifest: toml::Table =
        fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    assert_eq!(members.len(), allowed.len(), "a member is not in this test");
    for (manifest, allowed) in allowed {
        assert_eq!(imports(manifest), allowed, "{manifest}");
    }
}

#[test]
fn entries_are_workspaces_of_their_own_and_import_nothing_of_ours() {
    let mut seen = 0;
    for dir in fs::read_dir(root().join("frameworks")).unwrap() {
        let dir = dir.unwrap().path();
        let Ok(text) = fs::read_to_string(dir.join("Cargo.toml")) else {
            continue;
        };
        let table: toml::Table = text.parse().unwrap();
        assert!(table.contains_key("workspace"), "{}", dir.display());
        assert!(!text.contains("path = \"../"), "{}", dir.display());
        for file in ["Cargo.lock", "Dockerfile", "meta.json", "README.md"] {
            assert!(dir.join(file).is_file(), "{}: {file}", dir.display());
        }
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} entries");
}

/// The version on the board is the one that was built, not one typed once.
#[test]
fn the_version_of_an_entry_is_that_of_a_crate_it_locks() {
    let mut seen = 0;
    for dir in fs::read_dir(root().join("frameworks")).unwrap() {
        let dir = dir.unwrap().path();
        let read = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let (Some(cargo), Some(lock)) =
            (read("Cargo.toml"), read("Cargo.lock"))
        else {
            continue;
        };
        let cargo: toml::Table = cargo.parse().unwrap();
        let meta = read("meta.json").unwrap();
        let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
        let version = meta["version"].as_str().unwrap_or("none");
        let used = cargo["dependencies"].as_table().unwrap();
        // What is built on no library has a version of its own.
        let own = cargo["package"]["name"].as_str().unwrap().to_owned();
        let locked = used.keys().chain([&own]).any(|name| {
            let line = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            lock.contains(&line)
        });
        assert!(locked, "{}: version {version}", dir.display());
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn the_readme_and_every_document_it_names_exist_and_are_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 150);
    for name in [
        "METHODOLOGY.md",
        "FORMAT.md",
        "GLOSSARY.md",
        "BIAS.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ] {
        assert!(root().join(name).is_file(), "{name}");
        assert!(readme.contains(name), "README.md does not name {name}");
    }
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    assert!(changes.contains("Method"));
}

#[test]
fn every_word_of_the_house_is_in_the_glossary() {
    let glossary = fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    for word in [
        "entry", "league", "profile", "level", "case", "rig", "pool", "run",
        "round", "shot", "window", "sample", "record", "probe", "verdict",
        "gate", "oracle", "fault", "cheat", "epoch",
    ] {
        assert!(glossary.contains(&format!("**{word}**")), "{word}");
    }
}

#[test]
fn sources_stay_small() {
    fn walk(dir: &Path, out: &mut Vec<(String, usize)>) {
        for item in fs::read_dir(dir).unwrap() {
            let path = item.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().to_string();
            if name == "target" || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                walk(&path, out);
            } else if name.ends_with(".rs") {
                let lines = fs::read_to_string(&path).unwrap().lines().count();
                out.push((path.display().to_string(), lines));
            }
        }
    }
    let mut files = Vec::new();
    for dir in
        ["profiles", "harness", "validate", "site", "docker", "frameworks"]
    {
        walk(&root().join(dir), &mut files);
    }
    assert!(files.len() > 40);
    let long: Vec<_> = files.iter().filter(|(_, n)| *n > 600).collect();
    assert!(long.is_empty(), "split these along a seam: {long:?}");
}
