//! `arena doctor`: what this machine can measure, and what it cannot.

use harness::host::{Host, docker::DockerHost, local::Local, ports};
use harness::interrupt::Interrupt;
use harness::rig::Rig;
use serde::Serialize;

use crate::args::Doctor;
use crate::exit::Class;
use crate::place::Place;
use crate::print;

/// Whether one host works here.
#[derive(Serialize)]
struct HostState {
    name: &'static str,
    usable: bool,
    /// The engine when it works, else the reason and what to do.
    why: String,
}

#[derive(Serialize)]
struct Document {
    pools: profiles::record::Pools,
    environment: profiles::record::Environment,
    hosts: Vec<HostState>,
    notes: Vec<String>,
}

/// Prints the machine. Always ends with 0: a small machine is no fault.
pub fn run(place: &Place, args: &Doctor) -> anyhow::Result<Class> {
    let rig = Rig::here();
    let local = Local::with_cache(&place.cache, Interrupt::default());
    let hosts = vec![
        state("local", local.check().map(|()| "child processes".into())),
        state(
            "docker",
            DockerHost::connect(Interrupt::default())
                .and_then(|host| host.check().map(|()| host.engine())),
        ),
    ];
    let engine = match &hosts[1] {
        HostState { usable: true, why, .. } => why.clone(),
        _ => "none".into(),
    };
    let notes = notes(place, &rig);
    let document = Document {
        pools: rig.pools.clone(),
        environment: rig.environment(&engine),
        hosts,
        notes,
    };
    if args.json {
        print::json(&document)?;
    } else {
        print::text_out(&text(&rig, &document))?;
    }
    Ok(Class::Done)
}

fn state(
    name: &'static str,
    found: Result<String, harness::host::HostError>,
) -> HostState {
    match found {
        Ok(engine) => HostState { name, usable: true, why: engine },
        Err(why) => HostState { name, usable: false, why: why.to_string() },
    }
}

fn notes(place: &Place, rig: &Rig) -> Vec<String> {
    let mut notes = Vec::new();
    let limits = rig.limits;
    let mut most = limits.open_files.min(u64::from(limits.local_ports));
    most = most.saturating_sub(64);
    if let Ok((catalog, _)) = place.catalog() {
        for profile in &catalog.profiles {
            let over: Vec<String> = profile
                .load
                .levels
                .iter()
                .filter(|l| u64::from(**l) > most)
                .map(u32::to_string)
                .collect();
            if !over.is_empty() {
                notes.push(format!(
                    "{}: {} connections are more than the {most} that {} open \
                     files and {} local ports allow; raise `ulimit -n` or \
                     net.ipv4.ip_local_port_range",
                    profile.name,
                    over.join(" and "),
                    limits.open_files,
                    limits.local_ports,
                ));
            }
        }
    }
    for port in [8080, 8081, 8082, 8443] {
        if let Err(why) = ports::free(port) {
            notes.push(why.to_string());
        }
    }
    notes
}

fn text(rig: &Rig, document: &Document) -> String {
    let (pools, env) = (&document.pools, &document.environment);
    let gib = env.memory_bytes as f64 / f64::from(1 << 30);
    let mut out = format!(
        "cpu      {}, {} cores, {} threads\n\
         memory   {gib:.1} GiB\n\
         kernel   {}\n\
         governor {}, boost {}\n\
         pools    server {}, load {}, aux {}\n",
        print::safe(&env.cpu),
        env.cores,
        env.threads,
        print::safe(&env.kernel),
        env.governor,
        env.boost,
        pools.server,
        pools.load,
        pools.aux,
    );
    let cores: Vec<String> = rig
        .topology
        .cores()
        .iter()
        .map(|cpus| {
            let cpus: Vec<_> = cpus.iter().map(u16::to_string).collect();
            cpus.join("+")
        })
        .collect();
    out.push_str(&format!("cores    {}\n", cores.join(" ")));
    for host in &document.hosts {
        let can = if host.usable { "works" } else { "does not work" };
        out.push_str(&format!("host {} {can}: {}\n", host.name, host.why));
    }
    for note in pools.compromises.iter().chain(&document.notes) {
        out.push_str(&format!("note: {note}\n"));
    }
    out
}
