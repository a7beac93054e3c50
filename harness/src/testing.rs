//! Entries and profiles for the tests of this crate.

use profiles::{entry::Entry, name::ProfileName, profile::Profile};

const DEFS: [(&str, &str); 2] = [
    ("baseline", include_str!("../../profiles/defs/baseline.toml")),
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
