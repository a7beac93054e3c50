//! Entries and profiles for the tests of this crate.

use profiles::{entry::Entry, name::ProfileName, profile::Profile};

const DEFS: [(&str, &str); 5] = [
    ("async-db", include_str!("../../profiles/defs/async-db.toml")),
    ("baseline", include_str!("../../profiles/defs/baseline.toml")),
    ("crud", include_str!("../../profiles/defs/crud.toml")),
    (
        "production-stack",
        include_str!("../../profiles/defs/production-stack.toml"),
    ),
    ("upload", include_str!("../../profiles/defs/upload.toml")),
];

/// A real profile.
pub fn profile(name: &str) -> Profile {
    let (_, text) = DEFS.iter().find(|(n, _)| *n == name).unwrap();
    Profile::parse(name.parse().unwrap(), name, text).unwrap()
}

/// An engine that subscribes to `profiles`.
pub fn entry(name: &str, profiles: &[&str]) -> Entry {
    let meta = serde_json::json!({"type": "engine", "tests": profiles});
    let known: Vec<ProfileName> =
        profiles.iter().map(|p| p.parse().unwrap()).collect();
    let name = name.parse().unwrap();
    Entry::parse(name, "meta.json", &meta.to_string(), &known).unwrap()
}
