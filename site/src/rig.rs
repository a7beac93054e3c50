//! Where the numbers come from, in one line a run.

use maud::{Markup, html};
use profiles::board::Stored;
use profiles::record::{Environment, Run};

use crate::Site;
use crate::format::{self, count, memory};

/// The host that tests use instead of a machine.
const FAKE: &str = "fake";

/// A warning above everything, where numbers were never measured.
pub fn made_up(site: &Site) -> Markup {
    let fake = site.stored.iter().any(|one| one.run.host == FAKE);
    html! {
        @if fake {
            p.banner role="note" {
                strong { "Made-up data. " }
                "This page was built from a run on the host “fake”, which \
                 measures nothing. No number here says anything about any \
                 program."
            }
        }
    }
}

/// Where and how it was measured, in one line for each run.
pub fn line(site: &Site, root: &str) -> Markup {
    html! {
        @for Stored { run, .. } in site.stored {
            p.rig {
                b { "Run " (format::name(&run.run)) }
                ", " (format::name(&run.started_at))
                @if run.ended_at.is_none() { " (cut off before its end)" }
                ": " (format::name(&run.environment.cpu)) ", "
                (cores(&run.environment)) ", host " (format::name(&run.host))
                ", " (rounds(run)) ". Noise floor: " (noise(site)) ". "
                a href={ (root) "index.html#rig" } { "Rig and settings" }
            }
        }
    }
}

/// Everything known about the machine and the run.
pub fn section(site: &Site) -> Markup {
    html! {
        h2 #rig { "Rig and settings" }
        @for Stored { run, records } in site.stored {
            p {
                b { "Run " (format::name(&run.run)) } ". "
                (machine(&run.environment)) ". " (pools(run)) ". "
                (settings(run, records.len())) "."
            }
        }
    }
}

fn cores(e: &Environment) -> String {
    let cores = count(e.cores as usize, "core", "cores");
    format!("{cores}, {}", count(e.threads as usize, "thread", "threads"))
}

fn rounds(run: &Run) -> String {
    let rounds = count(run.settings.rounds as usize, "round", "rounds");
    match run.settings.window_ns {
        Some(ns) => format!("{rounds} of {} windows", format::time(ns as f64)),
        None => format!("{rounds} of each profile's own window"),
    }
}

fn machine(e: &Environment) -> String {
    let text = format!(
        "Rig {}: {}, {}, {}, {}, kernel {}, governor {}, boost {}",
        short(&e.rig),
        format::name(&e.cpu),
        cores(e),
        memory(e.memory_bytes),
        format::name(&e.os),
        format::name(&e.kernel),
        format::name(&e.governor),
        format::name(&e.boost),
    );
    format::sentence(&text)
}

/// The beginning of a digest, or a short label as it is.
fn short(rig: &str) -> String {
    let digest = rig.len() >= 32 && rig.chars().all(|c| c.is_ascii_hexdigit());
    if digest { rig[..12].to_owned() } else { format::name(rig) }
}

fn pools(run: &Run) -> String {
    let pools = &run.pools;
    let mut text = format!(
        "CPUs: server {}, load {}, aux {}",
        pools.server, pools.load, pools.aux
    );
    for compromise in &pools.compromises {
        text += "; ";
        text += &format::sentence(compromise);
    }
    text
}

fn settings(run: &Run, shots: usize) -> String {
    let s = &run.settings;
    let cap = match s.connections_cap {
        Some(cap) => format!(", at most {cap} connections"),
        None => String::new(),
    };
    format!(
        "Host {}, preset {}: {}, {}{cap}. Seed {}. Arena {}, epoch {}",
        format::name(&run.host),
        format::name(&s.preset),
        rounds(run),
        count(shots, "shot", "shots"),
        run.seed,
        format::name(&run.arena),
        run.epoch,
    )
}

fn noise(site: &Site) -> String {
    let floor = site.boards.values().find_map(|board| board.floor.score);
    match floor {
        Some(share) => format::percent(share),
        None => "not measured (no A/A pair in this run)".to_owned(),
    }
}
