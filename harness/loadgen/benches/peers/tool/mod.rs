//! The tools that fire: loadgen itself and its peers, all run alike.

// The bench and each test use their own part of this.
#![allow(dead_code)]

pub mod child;
mod gun;
mod h2load;
mod oha;
pub mod profile;
mod wrk;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use child::Cpu;
pub use gun::Gun;

/// Longer than its window no tool may take than by this.
const GRACE: Duration = Duration::from_secs(40);

/// What is fired, in words every tool understands.
#[derive(Clone, Debug)]
pub struct Load<'a> {
    pub addr: SocketAddr,
    pub connections: u32,
    /// Requests in flight per connection.
    pub in_flight: u32,
    pub window_s: u32,
    /// The one question of a peer: path and query.
    pub target: &'a str,
    pub cpu: Option<u16>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Right answers of loadgen; whatever a peer calls done.
    pub answers: u64,
    /// All the tool counted over.
    pub wall_s: f64,
    pub cpu: Cpu,
}

impl Outcome {
    pub fn rate(&self) -> f64 {
        self.answers as f64 / self.wall_s
    }

    /// CPU seconds per million answers.
    pub fn cost(&self) -> Cpu {
        let million = self.answers as f64 / 1e6;
        Cpu {
            user_s: self.cpu.user_s / million,
            system_s: self.cpu.system_s / million,
        }
    }
}

/// A tool that others made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Peer {
    /// One request in flight, HTTP/1.1.
    Wrk,
    /// Several, by its Lua pipeline.
    WrkPipeline,
    /// One request in flight, HTTP/1.1 over TLS.
    WrkTls,
    /// HTTP/2 with prior knowledge.
    H2load,
    /// HTTP/2 over TLS.
    H2loadTls,
    /// A unary call with a fixed frame.
    H2loadGrpc,
    /// HTTP/1.1.
    Oha,
    /// HTTP/3.
    OhaHttp3,
}

impl Peer {
    pub fn name(self) -> &'static str {
        match self {
            Peer::Wrk | Peer::WrkPipeline | Peer::WrkTls => "wrk",
            Peer::H2load | Peer::H2loadTls | Peer::H2loadGrpc => "h2load",
            Peer::Oha | Peer::OhaHttp3 => "oha",
        }
    }

    /// How to get it.
    pub fn remedy(self) -> &'static str {
        match self.name() {
            "wrk" => "apt-get install wrk",
            "h2load" => "apt-get install nghttp2-client",
            _ => "scripts/peers.sh builds it",
        }
    }

    /// Where it is: on the path, or where `scripts/peers.sh` puts it.
    pub fn find(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        dirs.extend(cache().map(|dir| dir.join("peers/bin")));
        let mut found = dirs.iter().map(|dir| dir.join(self.name()));
        found.find(|program| program.is_file())
    }

    /// What it calls itself.
    pub fn version(self, program: &Path) -> String {
        let mut command = Command::new(program);
        // wrk ends with 1 after it has told.
        command.arg("--version");
        let limit = Duration::from_secs(10);
        match child::run(&mut command, None, None, limit) {
            Ok(ended) => {
                let text = format!("{}{}", ended.stdout, ended.stderr);
                let line = text.lines().next().unwrap_or("");
                let line = line.split(" [").next().unwrap_or(line);
                line.trim().to_string()
            }
            Err(_) => self.name().to_string(),
        }
    }

    /// Fires; a peer that reports an error has no outcome.
    pub fn fire(
        self,
        program: &Path,
        load: &Load<'_>,
    ) -> anyhow::Result<Outcome> {
        let scratch = tempfile::tempdir()?;
        let mut command = Command::new(program);
        match self {
            Peer::Wrk | Peer::WrkTls | Peer::WrkPipeline => {
                wrk::arguments(self, load, scratch.path(), &mut command)?;
            }
            Peer::H2load | Peer::H2loadTls | Peer::H2loadGrpc => {
                h2load::arguments(self, load, scratch.path(), &mut command)?;
            }
            Peer::Oha | Peer::OhaHttp3 => {
                oha::arguments(self, load, &mut command);
            }
        }
        let limit = Duration::from_secs(load.window_s.into()) + GRACE;
        let ended = child::run(&mut command, load.cpu, None, limit)
            .with_context(|| format!("{} did not run", self.name()))?;
        let said = || format!("{}{}", ended.stdout, ended.stderr);
        if !ended.success {
            bail!("{} failed: {}", self.name(), clip(&said()));
        }
        let read = match self.name() {
            "wrk" => wrk::read(&ended.stdout),
            "h2load" => h2load::read(&ended.stdout),
            _ => oha::read(&ended.stdout),
        };
        let (answers, wall_s) = read.with_context(|| {
            format!("{} is not understood: {}", self.name(), clip(&said()))
        })?;
        Ok(Outcome { answers, wall_s, cpu: ended.cpu })
    }
}

/// What may be deleted at any time; the scripts keep builds of tools there.
fn cache() -> Option<PathBuf> {
    let set = |key: &str| {
        let value = std::env::var_os(key).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    set("ARENA_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("arena")))
        .or_else(|| Some(set("HOME")?.join(".cache/arena")))
}

/// The beginning of what a tool said, on one line.
fn clip(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.chars().take(400).collect()
}

/// A duration as tools print it: `3.00s`, `120.5ms`, `1.50m`.
fn seconds(text: &str) -> anyhow::Result<f64> {
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .with_context(|| format!("`{text}` has no unit"))?;
    let number: f64 = text[..at].parse()?;
    Ok(match &text[at..] {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        other => bail!("`{other}` is no unit of time"),
    })
}
