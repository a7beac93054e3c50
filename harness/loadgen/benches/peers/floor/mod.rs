//! The floor: the same bytes as a workload's, sent and received with no
//! parsing and no checking at all. Nothing that asks and answers over these
//! sockets can cost less but by another way into the kernel.
//!
//! It learns the length of an answer by waiting until the server is silent,
//! so that it needs to know nothing of any protocol.

mod epoll;
mod script;
mod uring;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::tool::child;
use crate::tool::{Load, Outcome};
use crate::workloads::Workload;
use script::Script;

/// A server that says nothing for so long has said all.
const SILENCE: Duration = Duration::from_millis(100);

/// The ways into the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    Epoll,
    IoUring,
}

impl Way {
    pub const ALL: [Way; 2] = [Way::Epoll, Way::IoUring];

    pub fn name(self) -> &'static str {
        match self {
            Way::Epoll => "epoll",
            Way::IoUring => "io_uring",
        }
    }
}

/// One connection with its first answer behind it.
struct Conn {
    stream: TcpStream,
    /// Bytes of an answer that is not whole yet.
    got: usize,
    /// The requests sent next, their stream ids as they are due.
    out: Vec<u8>,
    next_id: u32,
}

/// Connections, the script, and how long an answer is.
struct Floor {
    script: Script,
    conns: Vec<Conn>,
    answer_bytes: usize,
    in_flight: usize,
    end: Instant,
}

/// Whether there is a floor to measure for `workload`.
pub fn has(workload: &Workload) -> bool {
    Script::of(workload, None).is_some()
}

/// Fires it in a child, as every tool is.
pub fn fire(
    workload: &Workload,
    way: Way,
    load: &Load<'_>,
) -> anyhow::Result<Outcome> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("floor").arg(workload.name).arg(way.name());
    command.arg(load.addr.to_string()).arg(load.connections.to_string());
    command.arg(load.window_s.to_string());
    let limit = Duration::from_secs(u64::from(load.window_s) + 40);
    let ended = child::run(&mut command, load.cpu, None, limit)?;
    ensure!(ended.success, "the floor failed: {}", ended.stderr.trim());
    let (answers, wall_s) =
        ended.stdout.trim().split_once(' ').context("no count")?;
    let (answers, wall_s) = (answers.parse()?, wall_s.parse()?);
    ensure!(answers > 0, "the floor got no answer");
    Ok(Outcome { answers, wall_s, cpu: ended.cpu })
}

/// The child.
pub fn run(args: &[String]) -> anyhow::Result<bool> {
    let [name, way, addr, connections, window_s] = args else {
        bail!("floor <workload> <way> <address> <connections> <seconds>");
    };
    loadgen::life::die_with_parent();
    let workload = crate::WORKLOADS.iter().find(|w| w.name == name);
    let workload = workload.context("no such workload")?;
    let addr: SocketAddr = addr.parse()?;
    let script = Script::of(workload, Some(addr)).context("it has no floor")?;
    let way = Way::ALL.into_iter().find(|known| known.name() == way);
    let way = way.context("no such way")?;
    let (first_bytes, answer_bytes) = learn(&script, addr)?;
    let conns = (0..connections.parse::<u32>()?)
        .map(|_| Conn::open(&script, addr, first_bytes))
        .collect::<io::Result<Vec<_>>>()?;
    let started = Instant::now();
    let floor = Floor {
        script,
        conns,
        answer_bytes,
        in_flight: workload.in_flight as usize,
        end: started + Duration::from_secs(window_s.parse()?),
    };
    let answers = match way {
        Way::Epoll => epoll::fire(floor)?,
        Way::IoUring => uring::fire(floor)?,
    };
    println!("{answers} {}", started.elapsed().as_secs_f64());
    Ok(true)
}

/// How many bytes answer the first request of a connection, and each later
/// one.
fn learn(script: &Script, addr: SocketAddr) -> anyhow::Result<(usize, usize)> {
    let mut conn = Conn::begin(script, addr)?;
    let first = until_silent(&mut conn.stream)?;
    let mut ask = || {
        conn.write(script, 1);
        conn.stream.write_all(&conn.out)?;
        until_silent(&mut conn.stream)
    };
    let (second, third) = (ask()?, ask()?);
    ensure!(second == third && second > 0, "answers of {second} and {third} B");
    Ok((first, second))
}

fn until_silent(stream: &mut TcpStream) -> io::Result<usize> {
    stream.set_read_timeout(Some(SILENCE))?;
    let (mut bytes, mut piece) = (0, vec![0; 65_536]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => bytes += n,
            // The first answer may take its time.
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                if bytes > 0 {
                    return Ok(bytes);
                }
            }
            Err(e) => return Err(e),
        }
    }
}

impl Conn {
    /// Connects and sends what comes first, with one request.
    fn begin(script: &Script, addr: SocketAddr) -> io::Result<Conn> {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        let mut conn = Conn { stream, got: 0, out: Vec::new(), next_id: 1 };
        conn.write(script, 1);
        let opening = [&script.first[..], &conn.out].concat();
        conn.stream.write_all(&opening)?;
        Ok(conn)
    }

    /// The same, and its answer of `first_bytes` is read.
    fn open(
        script: &Script,
        addr: SocketAddr,
        first_bytes: usize,
    ) -> io::Result<Conn> {
        let mut conn = Conn::begin(script, addr)?;
        conn.stream.read_exact(&mut vec![0; first_bytes])?;
        Ok(conn)
    }

    /// Puts `count` requests into `out`.
    fn write(&mut self, script: &Script, count: usize) {
        self.out.clear();
        for _ in 0..count {
            let start = self.out.len();
            self.out.extend_from_slice(&script.request);
            for at in &script.stream_ids {
                let id = self.next_id.to_be_bytes();
                self.out[start + at..start + at + 4].copy_from_slice(&id);
            }
            self.next_id += 2;
        }
    }

    /// Counts what came; how many answers it made whole.
    fn count(&mut self, bytes: usize, answer_bytes: usize) -> usize {
        self.got += bytes;
        let whole = self.got / answer_bytes;
        self.got %= answer_bytes;
        whole
    }
}
