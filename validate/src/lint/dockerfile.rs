//! Dockerfiles: which images they build on and which ports they name.

use std::collections::BTreeMap;

use profiles::profile::Protocol;

use super::{EXPOSE, Fault, PINNED};

/// One instruction, its lines joined.
struct Instruction {
    line: usize,
    word: String,
    rest: String,
}

/// What is wrong with a Dockerfile. `ports` are those it must expose, if any.
pub(super) fn faults(
    text: &str,
    ports: Option<&Vec<(u16, Protocol)>>,
) -> Vec<Fault> {
    let mut args: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut exposed: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for Instruction { line, word, rest } in instructions(text) {
        match &word[..] {
            // Only arguments before the first stage reach FROM.
            "ARG" if stages.is_empty() => {
                if let Some((name, value)) = rest.split_once('=') {
                    let value = value.trim().trim_matches(['"', '\'']);
                    args.insert(name.trim().into(), value.into());
                }
            }
            "FROM" => {
                let mut words =
                    rest.split_whitespace().filter(|w| !w.starts_with("--"));
                let image = resolve(words.next().unwrap_or(""), &args);
                if let Some(what) = unpinned(&image, &stages) {
                    out.push(Fault { lint: &PINNED, line, what });
                }
                let named =
                    words.next().is_some_and(|w| w.eq_ignore_ascii_case("as"));
                let name = words.next().filter(|_| named).unwrap_or("");
                stages.push(name.to_lowercase());
            }
            "EXPOSE" => {
                let ports = rest.split_whitespace();
                exposed.extend(ports.map(|p| p.to_lowercase()));
            }
            _ => {}
        }
    }
    let mut told: Vec<String> = Vec::new();
    for (port, protocol) in ports.into_iter().flatten() {
        let udp = *protocol == Protocol::Http3;
        let missing = match udp {
            true => format!("{port}/udp"),
            false => port.to_string(),
        };
        let named = exposed.iter().any(|e| covers(e, *port, udp));
        if !named && !told.contains(&missing) {
            let what = format!("no EXPOSE {missing}");
            out.push(Fault { lint: &EXPOSE, line: 0, what });
            told.push(missing);
        }
    }
    out
}

/// Whether an EXPOSE word names a port; a variable may be any.
fn covers(word: &str, port: u16, udp: bool) -> bool {
    let (number, kind) = word.split_once('/').unwrap_or((word, "tcp"));
    if number.contains('$') {
        return true;
    }
    let (low, high) = number.split_once('-').unwrap_or((number, number));
    let within = |n: &str| n.parse::<u16>().ok();
    let (Some(low), Some(high)) = (within(low), within(high)) else {
        return false;
    };
    (low..=high).contains(&port) && (kind == "udp") == udp
}

/// Why an image is not the same tomorrow, if it may not be.
pub(super) fn unpinned(image: &str, stages: &[String]) -> Option<String> {
    let stage = stages.contains(&image.to_lowercase());
    // What cannot be resolved is given from outside, as a whole.
    if stage || image == "scratch" || image.contains(['$', '@']) {
        return None;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    match last.split_once(':') {
        None => Some(format!("`{}` names no version", clip(image))),
        Some((_, "latest")) => {
            Some(format!("`{}` is another image tomorrow", clip(image)))
        }
        Some(_) => None,
    }
}

fn clip(text: &str) -> String {
    profiles::oracle::clip(text.as_bytes())
}

/// `$NAME` and `${NAME}` by the arguments, and `${NAME:-default}` by itself.
fn resolve(word: &str, args: &BTreeMap<String, String>) -> String {
    let Some(at) = word.find('$') else { return word.into() };
    let (before, rest) = word.split_at(at);
    let (name, after) = match rest.strip_prefix("${") {
        Some(inner) => inner.split_once('}').unwrap_or((inner, "")),
        None => {
            let name = &rest[1..];
            let end = name
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            name.split_at(end)
        }
    };
    let (name, default) = name.split_once(":-").unwrap_or((name, ""));
    let value = match args.get(name).map(String::as_str) {
        Some(value) => value,
        None if !default.is_empty() => default,
        // Kept as it is, so that it is seen to be open.
        None => return word.into(),
    };
    // Arguments may name arguments, but not for ever.
    let once = format!("{before}{value}{after}");
    if once.len() > 1000 || value.contains('$') {
        once
    } else {
        resolve(&once, args)
    }
}

fn instructions(text: &str) -> Vec<Instruction> {
    let mut out: Vec<Instruction> = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut heredoc: Option<String> = None;
    for (index, raw) in text.lines().enumerate() {
        let trimmed = raw.trim();
        if let Some(end) = &heredoc {
            if trimmed == end {
                heredoc = None;
            }
            continue;
        }
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let (line, mut whole) =
            open.take().unwrap_or((index + 1, String::new()));
        let piece = trimmed.strip_suffix('\\');
        whole.push_str(piece.unwrap_or(trimmed));
        if piece.is_some() {
            whole.push(' ');
            open = Some((line, whole));
            continue;
        }
        let (word, rest) =
            whole.split_once(char::is_whitespace).unwrap_or((&whole, ""));
        let word = word.to_uppercase();
        if matches!(&word[..], "RUN" | "COPY" | "ADD") {
            heredoc = rest.split_once("<<").map(|(_, tag)| {
                let tag = tag.trim_start_matches('-');
                let end = tag.find(char::is_whitespace).unwrap_or(tag.len());
                tag[..end].trim_matches(['"', '\'']).to_string()
            });
        }
        out.push(Instruction { line, word, rest: rest.trim().into() });
    }
    out
}
