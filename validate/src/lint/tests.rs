//! Files as entries write them, and as a careless or hostile one might.

use std::fs;
use std::path::Path;

use profiles::catalog::Catalog;

use super::*;

const GATEWAY: &str = r#"
services:
  proxy:
    build: ./proxy
    network_mode: host
    cpuset: "${PROXY_CPUSET:-0-19,64-83}"
    ulimits: { memlock: -1 }
    security_opt:
      - seccomp:unconfined
    volumes:
      - ${CERTS_DIR}:/certs:ro
      - ${DATA_DIR}/static:/data/static:ro
      - ./conf/nginx.conf:/etc/nginx/nginx.conf:ro
      - cache:/var/cache
  server:
    build:
      context: ../../
      dockerfile: frameworks/x/Dockerfile
    cpuset: 20-31,84-95
"#;

fn catalog() -> Catalog {
    Catalog::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// What is said of an entry with these files, a line a finding.
fn said(files: &[(&str, &str)], profiles: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let catalog = catalog();
    let profiles: Vec<&Profile> =
        profiles.iter().map(|p| catalog.profile(p).unwrap()).collect();
    let found = lint(dir.path(), &profiles);
    let line = |f: &Finding| {
        let first = f.got.lines().next().unwrap_or("").to_string();
        format!("{:?} {} {} {}: {first}", f.verdict, f.profile, f.id, f.asked)
    };
    found.iter().map(line).collect()
}

fn dockerfile(text: &str) -> Vec<String> {
    said(&[("Dockerfile", text)], &["json"])
}

/// What is said of `GATEWAY` with a part of it put otherwise.
fn gateway(from: &str, to: &str) -> Vec<String> {
    assert!(GATEWAY.contains(from), "{from}");
    let text = GATEWAY.replace(from, to);
    let proxy = ("proxy/Dockerfile", "FROM nginx:1.27\n");
    said(&[("compose.gateway.yml", &text), proxy], &["gateway-64"])
}

#[test]
fn our_own_entries_have_nothing_to_mend() {
    let catalog = catalog();
    assert!(!catalog.entries.is_empty());
    for entry in &catalog.entries {
        let mine: Vec<&Profile> = catalog
            .profiles
            .iter()
            .filter(|p| entry.profiles.contains(&p.name))
            .collect();
        let found = lint(&catalog.entry_dir(entry), &mine);
        assert!(found.is_empty(), "{}: {found:#?}", entry.name);
    }
}

#[test]
fn a_base_is_pinned_by_a_tag_a_digest_or_an_argument_that_has_one() {
    let fine = "ARG BASE=rust:1-bookworm\nARG TAG=3.20\n\
        FROM --platform=linux/amd64 ${BASE} AS Build\n\
        FROM localhost:5000/x:1.2\nFROM alpine:$TAG\n\
        FROM a@sha256:00\nFROM build\nFROM scratch\n\
        FROM ${NOT_SAID}\nEXPOSE 80-90 8080/tcp\n";
    assert_eq!(dockerfile(fine), [""; 0]);
    for (from, why) in [
        ("FROM nginx", "Warn json files.pinned Dockerfile:1: `nginx` names no"),
        ("from nginx:latest", "`nginx:latest` is another image tomorrow"),
        ("FROM localhost:5000/x", "names no version"),
        ("ARG A=x\nFROM $A\n", "Dockerfile:2: `x` names no version"),
        ("FROM \\\n # a comment\n nginx AS x\n", "Dockerfile:1: `nginx`"),
        ("ARG A=$A\nFROM $A:latest", ""),
    ] {
        let found = dockerfile(&format!("{from}\nEXPOSE 8080\n"));
        assert!(found.iter().all(|f| f.contains(why)), "{from}: {found:?}");
        assert!(!found.is_empty() || why.is_empty(), "{from}");
    }
}

#[test]
fn ports_that_are_not_exposed_are_named_once() {
    let files = [("Dockerfile", "FROM a:1\nRUN <<EOF\nEXPOSE 8080\nEOF\n")];
    let all = ["baseline-h3", "baseline-h2", "json", "static"];
    let found = said(&files, &all);
    for part in ["no EXPOSE 8080", "no EXPOSE 8443", "no EXPOSE 8443/udp"] {
        let times = found.iter().filter(|f| f.ends_with(part)).count();
        assert_eq!(times, all.len(), "{part}: {found:#?}");
    }
    let open = [("Dockerfile", "FROM a:1\nEXPOSE $PORT 8443/udp\n")];
    assert_eq!(said(&open, &all), [""; 0]);
}

#[test]
fn a_dockerfile_is_looked_at_where_there_is_one() {
    assert_eq!(said(&[], &["json"]), [""; 0]);
    let built = [("build.sh", ""), ("Dockerfile", "FROM x\n")];
    assert_eq!(said(&built, &["json"]), [""; 0]);
    let huge = "#".repeat(70_000);
    let found = said(&[("Dockerfile", &huge)], &["json"]);
    assert!(found[0].ends_with("more than 65536 bytes"), "{found:?}");
}

#[test]
fn a_stack_takes_no_more_than_it_is_given() {
    assert_eq!(gateway("network_mode: host", "init: true"), [""; 0]);
    for (from, to, why) in [
        ("network_mode: host", "privileged: true", "files.privileged"),
        ("network_mode: host", "pid: host", ":5: `pid`"),
        ("network_mode: host", "devices: [/dev/kvm]", "`devices`"),
        ("seccomp:unconfined", "apparmor:unconfined", "`security_opt`"),
        ("./conf/nginx.conf", "/etc/passwd", "`/etc/passwd` is mounted"),
        ("./conf", "../../../", "is mounted"),
        ("${DATA_DIR}/static", "${DATA_DIR}/../x", "is mounted"),
        ("${DATA_DIR}/static", "${DATA_DIRECTORY}", "is mounted"),
        ("${DATA_DIR}/static", "/var/run/docker.sock", "files.mounts"),
        ("cache:/var", "~/x:/var", "`~/x` is mounted"),
        ("20-31,84-95", "20-31,84-96", "leaves `0-31,64-95`"),
        ("20-31,84-95", "19-31", "shares CPUs with `proxy`"),
        ("20-31,84-95", "all", "`all` is no set of CPUs"),
        ("    cpuset: 20-31,84-95", "    init: true", "without a cpuset"),
        ("  server:", "  backend:", "no service `server`"),
        ("services:", "services: [", "files.read"),
    ] {
        let found = gateway(from, to);
        assert!(found.iter().any(|f| f.contains(why)), "{to}: {found:#?}");
        assert!(found.iter().all(|f| f.starts_with("Fail")), "{found:#?}");
    }
}

#[test]
fn images_of_a_stack_are_pinned_too() {
    let found = gateway("build: ./proxy", "image: nginx");
    assert!(found[0].contains("Warn gateway-64 files.pinned"), "{found:?}");
    let text = ("compose.gateway.yml", GATEWAY);
    let files = [text, ("proxy/Dockerfile", "FROM nginx\n")];
    let found = said(&files, &["gateway-64"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("proxy/Dockerfile:1: `nginx` names no version"));
}

#[test]
fn a_small_file_does_not_become_a_huge_one() {
    let mut bomb = String::from("a: &a [x, x]\n");
    for (before, name) in ('a'..='y').zip('b'..='z') {
        let many = vec![format!("*{before}"); 9].join(", ");
        bomb.push_str(&format!("{name}: &{name} [{many}]\n"));
    }
    let deep = "[".repeat(30_000);
    let steps = format!("a: {}", "- ".repeat(20_000));
    for text in [&bomb, &deep, &steps] {
        let files = [("compose.gateway.yml", &text[..])];
        let found = said(&files, &["gateway-64"]);
        assert!(found[0].contains("files.read"), "{found:?}");
    }
}

#[test]
fn a_merge_key_hides_nothing() {
    let text = GATEWAY
        .replace("services:", "x: &x\n  privileged: true\nservices:")
        .replace("    build: ./proxy", "    <<: *x\n    image: nginx:1");
    let files = [("compose.gateway.yml", &text[..])];
    let found = said(&files, &["gateway-64"]);
    assert!(found[0].contains("`privileged`"), "{found:?}");
}

#[test]
fn nothing_that_is_written_in_these_files_is_a_panic() {
    for text in [GATEWAY, "FROM a:1\nEXPOSE 1\nRUN <<X\nX\n"] {
        for cut in 0..text.len() {
            let odd = format!("{}${{\u{1b}", &text[..cut]);
            let stack = catalog();
            let stack = stack.profile("gateway-64").unwrap();
            let _ = compose::faults(&odd, stack);
            let ports = vec![(8080, profiles::profile::Protocol::Http1)];
            let _ = dockerfile::faults(&odd, Some(&ports));
        }
    }
}
