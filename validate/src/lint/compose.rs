//! Compose files: what the services of a stack take for themselves.

use profiles::cpuset::CpuSet;
use profiles::profile::Profile;
use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};
use saphyr_parser::{Event, Parser};

use super::{CPUS, Fault, MOUNTS, PINNED, PRIVILEGED, READ, dockerfile};

/// Honest files have a handful; more can make a small file huge.
const MOST_ALIASES: usize = 16;
const DEEPEST: usize = 32;

/// What a compose file amounts to.
pub(super) struct Found {
    pub(super) faults: Vec<Fault>,
    /// Directories that are built, relative to the entry's.
    pub(super) builds: Vec<String>,
}

/// Looks at the compose file of one stack profile.
pub(super) fn faults(text: &str, profile: &Profile) -> Found {
    let mut found = Found { faults: Vec::new(), builds: Vec::new() };
    if let Err((line, what)) = harmless(text) {
        found.faults.push(Fault { lint: &READ, line, what });
        return found;
    }
    let documents = MarkedYaml::load_from_str(text).unwrap_or_default();
    let Some(root) = documents.first() else {
        let what = "an empty file".into();
        found.faults.push(Fault { lint: &READ, line: 0, what });
        return found;
    };
    let services = get(root, "services").map(pairs).unwrap_or_default();
    for wanted in &profile.server.services {
        if !services.iter().any(|(name, _)| name == wanted) {
            let what = format!("no service `{wanted}`");
            found.faults.push(Fault { lint: &READ, line: 0, what });
        }
    }
    let mut taken: Vec<(String, CpuSet)> = Vec::new();
    for (name, service) in &services {
        power(service, &mut found.faults);
        mounts(service, &mut found.faults);
        let budget = &profile.server.reference_cpus;
        cpus(name, service, budget, &mut taken, &mut found.faults);
        images(service, &mut found);
    }
    found
}

/// A file is read into a tree only when that cannot blow up.
fn harmless(text: &str) -> Result<(), (usize, String)> {
    let (mut depth, mut aliases) = (0_usize, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|e| (e.marker().line(), e.info().to_string()))?;
        match event {
            Event::Alias(_) => aliases += 1,
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if depth > DEEPEST || aliases > MOST_ALIASES {
            let what =
                format!("more than {MOST_ALIASES} aliases or {DEEPEST} levels");
            return Err((span.start.line(), what));
        }
    }
    Ok(())
}

const NEVER: [&str; 12] = [
    "cap_add",
    "cgroup",
    "cgroup_parent",
    "device_cgroup_rules",
    "devices",
    "gpus",
    "ipc",
    "pid",
    "runtime",
    "userns_mode",
    "uts",
    "volumes_from",
];

fn power(service: &MarkedYaml<'_>, out: &mut Vec<Fault>) {
    let mut refuse = |line: usize, what: String| {
        out.push(Fault { lint: &PRIVILEGED, line, what });
    };
    for (key, value) in pairs(service) {
        let line = value.span.start.line();
        if NEVER.contains(&&key[..]) {
            refuse(line, format!("`{key}`"));
        }
        if key == "privileged" && text(value) != "false" {
            refuse(line, "`privileged`".into());
        }
        if key == "security_opt" {
            for option in items(value) {
                let said = text(option).replace('=', ":");
                let fine = ["seccomp:unconfined", "no-new-privileges:true"];
                if !fine.contains(&&said[..]) {
                    let line = option.span.start.line();
                    refuse(line, "an unknown `security_opt`".into());
                }
            }
        }
    }
}

fn mounts(service: &MarkedYaml<'_>, out: &mut Vec<Fault>) {
    let Some(volumes) = get(service, "volumes") else { return };
    for volume in items(volumes) {
        let line = volume.span.start.line();
        let long = get(volume, "source").map(text);
        let kind = get(volume, "type").map(text).unwrap_or_default();
        let source = match long {
            Some(source) => source,
            None if !kind.is_empty() => continue,
            None => source_of(&text(volume)),
        };
        let bind = kind == "bind" || source.contains(['/', '$', '~', '.']);
        let ours = ["${DATA_DIR}", "${CERTS_DIR}", "$DATA_DIR", "$CERTS_DIR"];
        let given = ours.iter().any(|o| {
            let rest = source.strip_prefix(o);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let inside = given || source == "." || source.starts_with("./");
        let climbs = source.split('/').any(|part| part == "..");
        if bind && (!inside || climbs) {
            let shown = profiles::oracle::clip(source.as_bytes());
            let what = format!("`{shown}` is mounted");
            out.push(Fault { lint: &MOUNTS, line, what });
        }
    }
}

/// The source in `source:target:mode`; colons within `${..}` do not part it.
fn source_of(volume: &str) -> String {
    let mut braces = 0_i32;
    let end = volume.find(|c| {
        match c {
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        c == ':' && braces == 0
    });
    // A target alone is a volume without a name.
    end.map_or_else(String::new, |end| volume[..end].to_string())
}

fn cpus(
    name: &str,
    service: &MarkedYaml<'_>,
    budget: &CpuSet,
    taken: &mut Vec<(String, CpuSet)>,
    out: &mut Vec<Fault>,
) {
    let mut refuse = |line: usize, what: String| {
        out.push(Fault { lint: &CPUS, line, what });
    };
    let Some(value) = get(service, "cpuset") else {
        let line = service.span.start.line();
        return refuse(line, format!("service `{name}` without a cpuset"));
    };
    let line = value.span.start.line();
    let said = default_of(&text(value));
    let shown = profiles::oracle::clip(said.as_bytes());
    let Ok(set) = said.parse::<CpuSet>() else {
        return refuse(line, format!("`{shown}` is no set of CPUs"));
    };
    if set.iter().any(|cpu| !budget.contains(cpu)) {
        refuse(line, format!("`{shown}` leaves `{budget}`"));
    }
    for (other, theirs) in taken.iter() {
        if !set.overlap(theirs).is_empty() {
            refuse(line, format!("`{shown}` shares CPUs with `{other}`"));
        }
    }
    taken.push((name.into(), set));
}

/// `${NAME:-default}` is its default.
fn default_of(value: &str) -> String {
    let inner = value.strip_prefix("${").and_then(|v| v.strip_suffix('}'));
    let default = inner
        .and_then(|v| v.split_once(":-").or_else(|| v.split_once('-')))
        .map(|(_, default)| default);
    default.unwrap_or(value).to_string()
}

fn images(service: &MarkedYaml<'_>, found: &mut Found) {
    if let Some(build) = get(service, "build") {
        let context = match get(build, "context") {
            Some(context) => text(context),
            None => text(build),
        };
        let file = get(build, "dockerfile");
        let own = !context.starts_with('/') && !context.contains("..");
        if own && file.is_none() && !context.contains('$') {
            found.builds.push(context);
        }
        return;
    }
    let Some(image) = get(service, "image") else { return };
    let line = image.span.start.line();
    let name = default_of(&text(image));
    if let Some(what) = dockerfile::unpinned(&name, &[]) {
        found.faults.push(Fault { lint: &PINNED, line, what });
    }
}

/// The value of a key, also of one that `<<` brings in.
fn get<'y>(node: &'y MarkedYaml<'y>, key: &str) -> Option<&'y MarkedYaml<'y>> {
    let all = pairs(node);
    all.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// All keys and values of a mapping, those of `<<` after its own.
fn pairs<'y>(node: &'y MarkedYaml<'y>) -> Vec<(String, &'y MarkedYaml<'y>)> {
    let Some(mapping) = node.data.as_mapping() else { return Vec::new() };
    let (mut own, mut merged) = (Vec::new(), Vec::new());
    for (key, value) in mapping {
        match &text(key)[..] {
            "<<" if value.data.is_sequence() => {
                merged.extend(items(value).flat_map(pairs));
            }
            "<<" => merged.extend(pairs(value)),
            key => own.push((key.to_string(), value)),
        }
    }
    own.extend(merged);
    own
}

fn items<'y>(
    node: &'y MarkedYaml<'y>,
) -> impl Iterator<Item = &'y MarkedYaml<'y>> {
    node.data.as_sequence().into_iter().flatten()
}

/// A scalar as it is written; empty for anything else.
fn text(node: &MarkedYaml<'_>) -> String {
    let YamlData::Value(scalar) = &node.data else { return String::new() };
    match scalar {
        Scalar::Null => String::new(),
        Scalar::Boolean(b) => b.to_string(),
        Scalar::Integer(n) => n.to_string(),
        Scalar::FloatingPoint(n) => n.to_string(),
        Scalar::String(text) => text.to_string(),
    }
}
