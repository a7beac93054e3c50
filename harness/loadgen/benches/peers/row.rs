//! One row: a server of its own, the pairs, the floor.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context as _, bail};

use crate::floor::{self, Way};
use crate::options::Options;
use crate::pairs::{Pairs, alternate};
use crate::server::{Server, Speaks};
use crate::tool::{Gun, Load, Outcome, child};
use crate::workloads::Workload;

/// More pairs say no more about a share.
const FLOOR_PAIRS: u32 = 3;

/// What was measured of a workload.
pub struct Row {
    pub workload: &'static Workload,
    /// The peer's name and version.
    pub peer: Option<String>,
    pub pairs: Pairs,
    /// loadgen's outcomes, when there is no peer.
    pub alone: Vec<Outcome>,
    /// loadgen paired with the floor, by each way into the kernel.
    pub floors: Vec<(Way, anyhow::Result<Pairs>)>,
    /// What loadgen said of its queue.
    pub engine: String,
}

/// Measures one workload; an error is why it could not be.
pub fn measure(
    workload: &'static Workload,
    options: &Options,
    data: &Path,
) -> anyhow::Result<Row> {
    let found = match workload.peer {
        None => None,
        Some(peer) => match peer.find() {
            Some(program) => Some((peer, program)),
            None => bail!("{} is missing: {}", peer.name(), peer.remedy()),
        },
    };
    let served = Served::start(workload.speaks, options.server_cpu, data)?;
    let load = Load {
        addr: served.addr,
        connections: options.connections.unwrap_or(workload.connections),
        in_flight: workload.in_flight,
        window_s: options.window_s,
        target: workload.target,
        cpu: Some(options.client_cpu),
    };
    let definition = workload.definition();
    let (mut engine, mut seed) = (String::new(), 0);
    let mut gun = || {
        seed += 1;
        let gun = Gun {
            program: Path::new(env!("CARGO_BIN_EXE_loadgen")),
            data,
            definition: &definition,
            engine: options.engine,
            seed,
        };
        let (outcome, sample) = gun.fire(&load)?;
        engine = sample.engine;
        Ok(outcome)
    };
    let (mut pairs, mut alone) = (Pairs::default(), Vec::new());
    match &found {
        Some((peer, program)) => {
            let other = || peer.fire(program, &load);
            pairs = alternate(options.pairs, &mut gun, other)?;
            if pairs.valid.is_empty() {
                bail!("no valid pair: {:?}", pairs.invalid);
            }
        }
        None => {
            gun()?;
            for _ in 0..options.pairs {
                alone.push(gun()?);
            }
        }
    }
    let mut floors = Vec::new();
    if options.floor && floor::has(workload) {
        let pairs = options.pairs.min(FLOOR_PAIRS);
        for way in Way::ALL {
            let other = || floor::fire(workload, way, &load);
            floors.push((way, alternate(pairs, &mut gun, other)));
        }
    }
    let peer = found.map(|(peer, program)| peer.version(&program));
    Ok(Row { workload, peer, pairs, alone, floors, engine })
}

/// A server in a process of its own; it ends with this value.
struct Served {
    child: Child,
    addr: SocketAddr,
}

impl Served {
    fn start(speaks: Speaks, cpu: u16, data: &Path) -> anyhow::Result<Served> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg(speaks.name()).arg(data);
        command.stdout(Stdio::piped());
        let mut child = child::spawn(&mut command, Some(cpu))
            .context("the server did not start")?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        match line.trim().parse() {
            Ok(addr) => Ok(Served { child, addr }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                bail!("the server did not start; it says why above");
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The child: serves until it is killed or its parent is gone.
pub fn serve(args: &[String]) -> anyhow::Result<bool> {
    let [speaks, data] = args else { bail!("serve <protocol> <data>") };
    loadgen::life::die_with_parent();
    let speaks = Speaks::named(speaks)
        .with_context(|| format!("`{speaks}` is not served"))?;
    let server = Server::start(speaks, Some(Path::new(data)), None)?;
    println!("{}", server.addr);
    loop {
        thread::park();
    }
}
