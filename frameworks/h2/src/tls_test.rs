use std::fs;

use super::*;

#[test]
fn without_a_certificate_there_is_no_tls() {
    let dir = tempfile::tempdir().unwrap();
    let [certificate, key] = ["a", "b"].map(|name| dir.path().join(name));
    assert!(load(&certificate, &key).unwrap().is_none());
}

#[test]
fn a_certificate_that_is_none_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let [certificate, key] = ["a", "b"].map(|name| dir.path().join(name));
    let certificate_text = "-----BEGIN CERTIFICATE-----\n!\n";
    fs::write(&certificate, certificate_text).unwrap();
    let error = load(&certificate, &key).err().unwrap();
    let message = format!("{error:#}");
    let expected = certificate.display().to_string();
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_certificate_without_its_key_is_no_start() {
    let dir = tempfile::tempdir().unwrap();
    let [certificate, key] = ["a", "b"].map(|name| dir.path().join(name));
    fs::write(&certificate, "").unwrap();
    let error = load(&certificate, &key).err().unwrap();
    let message = format!("{error:#}");
    assert!(message.contains(&key.display().to_string()), "{message}");
}
