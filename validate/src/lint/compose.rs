//! Compose files: what the services of a stack take for themselves.

use profiles::cpuset::CpuSet;
use profiles::profile::Profile;
use profiles::stack::yaml::{
    self, MarkedYaml, default_of, get, items, pairs, text,
};

use super::{CPUS, Fault, MOUNTS, PINNED, PRIVILEGED, READ, dockerfile};

/// What a compose file amounts to.
pub(super) struct Found {
    pub(super) faults: Vec<Fault>,
    /// Directories that are built, relative to the entry's.
    pub(super) builds: Vec<String>,
}

/// Looks at the compose file of one stack profile.
pub(super) fn faults(text: &str, profile: &Profile) -> Found {
    let mut found = Found { faults: Vec::new(), builds: Vec::new() };
    let root = match yaml::load(text) {
        Ok(root) => root,
        Err((line, what)) => {
            found.faults.push(Fault { lint: &READ, line, what });
            return found;
        }
    };
    let services = get(&root, "services").map(pairs).unwrap_or_default();
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
