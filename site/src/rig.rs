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

/// One line for each run.
pub fn line(site: &Site) -> Markup {
    html! {
        @for Stored { run, records } in site.stored {
            p.rig {
                b { "Run " (format::name(&run.run)) }
                ", " (format::name(&run.started_at))
                @if run.ended_at.is_none() { " (cut off before its end)" }
                ". " (machine(&run.environment))
                ". " (pools(run))
                ". " (settings(run, records.len()))
                ". Noise floor: " (noise(site)) "."
            }
        }
    }
}

fn machine(e: &Environment) -> String {
    let cores = count(e.cores as usize, "core", "cores");
    let threads = count(e.threads as usize, "thread", "threads");
    let text = format!(
        "Rig {}: {}, {cores}, {threads}, {}, {}, kernel {}, governor {}, \
         boost {}",
        short(&e.rig),
        format::name(&e.cpu),
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
    let window = match s.window_ns {
        Some(ns) => format!("windows of {}", format::time(ns as f64)),
        None => "each profile's own window".to_owned(),
    };
    let cap = match s.connections_cap {
        Some(cap) => format!(", at most {cap} connections"),
        None => String::new(),
    };
    format!(
        "Host {}, preset {}: {} planned, {}, {window}{cap}. Arena {}, epoch {}",
        format::name(&run.host),
        format::name(&s.preset),
        count(s.rounds as usize, "round", "rounds"),
        count(shots, "shot", "shots"),
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
