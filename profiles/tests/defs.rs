//! Definitions: the committed ones agree with the contract, and a bad one is
//! refused with file, line, caret and what to write instead.

use std::path::Path;

use profiles::catalog::Catalog;
use profiles::profile::{League, Profile};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[track_caller]
fn refuses(from: &str, to: &str, parts: &[&str]) {
    refuses_in("baseline", from, to, parts);
}

#[track_caller]
fn refuses_in(name: &str, from: &str, to: &str, parts: &[&str]) {
    let path = root().join(format!("profiles/defs/{name}.toml"));
    let source = std::fs::read_to_string(path).unwrap();
    assert!(source.contains(from), "{from} is not in the definition");
    let source = source.replacen(from, to, 1);
    let error = Profile::parse("baseline".parse().unwrap(), "b.toml", &source)
        .unwrap_err()
        .to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in:\n{error}");
    }
    assert!(error.starts_with("b.toml:"), "{error}");
    assert!(error.contains('^'), "no caret in:\n{error}");
}

#[test]
fn all_27_profiles_load_and_leagues_count_as_the_contract_says() {
    let catalog = Catalog::load(root()).unwrap();
    let scored = |league| {
        catalog.profiles.iter().filter(|p| p.scored_for(league)).count()
    };
    assert_eq!(catalog.profiles.len(), 27);
    assert_eq!(scored(League::Framework), 27);
    assert_eq!(scored(League::Engine), 18);
    assert_eq!(scored(League::Infrastructure), 4);
}

#[test]
fn levels_and_connection_habits_are_the_contracts() {
    let catalog = Catalog::load(root()).unwrap();
    for (name, levels, in_flight, per_connection, window) in [
        ("baseline", &[512, 4096][..], 1, None, 5),
        ("pipelined", &[512, 4096], 16, None, 5),
        ("limited-conn", &[512, 4096], 1, Some(10), 5),
        ("json", &[4096], 1, Some(25), 5),
        ("json-comp", &[512, 4096, 16384], 1, Some(25), 5),
        ("json-tls", &[4096], 1, None, 5),
        ("upload", &[32, 256], 1, Some(5), 5),
        ("api-4", &[256], 1, Some(5), 15),
        ("api-16", &[1024], 1, Some(5), 15),
        ("static", &[1024, 4096, 6800], 1, None, 5),
        ("async-db", &[1024], 1, Some(25), 10),
        ("crud", &[4096], 1, Some(200), 15),
        ("baseline-h2", &[256, 1024], 100, None, 5),
        ("static-h2", &[256, 1024], 32, None, 5),
        ("baseline-h2c", &[256, 1024, 4096], 100, None, 5),
        ("json-h2c", &[1024, 4096], 32, None, 5),
        ("baseline-h3", &[64], 64, None, 5),
        ("static-h3", &[64], 64, None, 5),
        ("gateway-64", &[512, 1024], 32, None, 5),
        ("gateway-h3", &[64, 256], 32, None, 5),
        ("production-stack", &[256, 1024], 16, None, 5),
        ("unary-grpc", &[256, 1024], 100, None, 5),
        ("unary-grpc-tls", &[256, 1024], 100, None, 5),
        ("stream-grpc", &[64], 4, None, 5),
        ("stream-grpc-tls", &[64], 4, None, 5),
        ("echo-ws", &[512, 4096, 16384], 1, None, 5),
        ("echo-ws-pipeline", &[512, 4096, 16384], 16, None, 5),
    ] {
        let profile = catalog.profile(name).unwrap();
        assert_eq!(profile.load.levels, levels, "{name}");
        assert_eq!(profile.load.in_flight, in_flight, "{name}");
        let found = profile.load.requests_per_connection;
        assert_eq!(found, per_connection, "{name}");
        assert_eq!(profile.load.window.as_secs(), window, "{name}");
    }
}

#[test]
fn unknown_keys_are_refused_at_every_depth() {
    refuses("scored", "scord", &["b.toml:7:1", "unknown field `scord`"]);
    refuses("in_flight", "inflight", &["unknown field `inflight`", "levels"]);
    refuses("ask = ", "aks = ", &["unknown field `aks`"]);
    refuses("cpus = \"pool\"", "cpu = \"pool\"", &["unknown field `cpu`"]);
}

#[test]
fn bad_values_say_what_to_write_instead() {
    refuses("0-31,64-95", "31-0", &["runs backwards; did you mean `0-31`?"]);
    refuses("\"pool\"", "\"most\"", &["`most` is not a budget", "`pool`"]);
    refuses("\"5s\"", "\"5\"", &["`5` is not a duration", "`10s`"]);
    refuses("\"5s\"", "\"0s\"", &["measures nothing"]);
    refuses("\"http1\"", "\"http9\"", &["unknown variant", "`http1`"]);
    refuses("[512, 4096]", "[512, 512]", &["levels must rise"]);
    refuses("[512, 4096]", "[]", &["levels is empty"]);
    refuses("in_flight = 1", "in_flight = 0", &["at least 1"]);
    refuses("in_flight = 1", "in_flight = 4000000000", &["at most 4096"]);
    refuses("port = 8080", "port = 0", &["port 0 is none"]);
    refuses("[\"/baseline11\"]", "[\"baseline11\"]", &["is not a path"]);
    refuses("path = \"/", "path = \"", &["is not a path"]);
    refuses("\"post-length\"", "\"a b\"", &["class \"a b\": name"]);
    refuses("1-9999", "9-1", &["did you mean `1-9`?"]);
    refuses("title = ", "title == ", &["b.toml:1"]);
}

#[test]
fn what_would_break_a_request_is_refused() {
    for codings in ["br\\r\\nX-Evil: 1", "\\u00e9", "", " br", "br\\t"] {
        let codings = format!("accept_encoding = \"{codings}\"");
        let own = "accept_encoding = \"br;q=1, gzip;q=0.8\"";
        refuses_in("static", own, &codings, &["is not a header value"]);
    }
    for category in ["a b", "a&limit=1", "a\\r\\n", "\\u00e9", ""] {
        let category = format!("\"{category}\"");
        let says = ["class `list`", "is not a category"];
        refuses_in("crud", "\"electronics\"", &category, &says);
    }
    let says = ["17179869184 bytes is too long", "1MiB"];
    refuses_in("echo-ws", "4B-8B", "1B-16GiB", &says);
    refuses_in("echo-ws", "4B-8B", "1048577B", &["too long"]);
}

#[test]
fn a_protocol_that_cannot_carry_the_ask_is_refused() {
    for (name, from, to, needs) in [
        ("baseline", "http1", "websocket", "one of HTTP"),
        ("baseline", "http1", "grpc", "one of HTTP"),
        ("upload", "http1", "grpc-tls", "one of HTTP"),
        ("echo-ws", "websocket", "http1", "`websocket`"),
        ("echo-ws", "websocket", "grpc", "`websocket`"),
        ("unary-grpc", "grpc", "http3", "`grpc`, `grpc-tls`"),
        ("stream-grpc", "grpc", "http2-cleartext", "`grpc`, `grpc-tls`"),
        ("stream-grpc", "grpc", "websocket", "`grpc`, `grpc-tls`"),
    ] {
        let [from, to] =
            [from, to].map(|protocol| format!("protocol = \"{protocol}\""));
        let needs = format!("needs another protocol: {needs};");
        refuses_in(name, &from, &to, &[&needs]);
    }
    for (name, from, to) in
        [("baseline", "http1", "http3"), ("unary-grpc", "grpc", "grpc-tls")]
    {
        let path = root().join(format!("profiles/defs/{name}.toml"));
        let source = std::fs::read_to_string(path).unwrap();
        let [from, to] =
            [from, to].map(|protocol| format!("protocol = \"{protocol}\""));
        let source = source.replacen(&from, &to, 1);
        let name = name.parse().unwrap();
        Profile::parse(name, "p.toml", &source).unwrap();
    }
}

#[test]
fn shares_that_do_not_sum_are_refused_at_their_line() {
    refuses(
        "share_total = 3",
        "share_total = 4",
        &["1 + 1 + 1 = 3, not 4", "write share_total = 3"],
    );
    refuses("\"post-length\"", "\"get\"", &["class `get` stands twice"]);
    refuses("share = 1", "share = 0", &["share 0"]);
}

#[test]
fn a_key_another_ask_uses_is_refused() {
    refuses(
        "ask = \"sum\"",
        "ask = \"sum\"\nids = \"1-5\"",
        &["`ids` is not used by this ask", "path, operands, body"],
    );
    refuses("path = \"/baseline11\"\n", "", &["`path` is missing"]);
    refuses("ask = \"sum\"", "ask = \"pipeline\"", &["takes no keys"]);
}
