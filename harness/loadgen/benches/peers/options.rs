//! What to run and where.

use profiles::spec::Engine;

pub const HELP: &str = "\
peers: loadgen and its peers, alternately, against the same server

usage: cargo bench -p loadgen --bench peers -- [word...] [options]

A word picks the workloads whose name contains it; none picks all.

  --list            the workloads and their goals
  --pairs N         pairs that count, after one that does not (7)
  --window N        seconds of each shot (4)
  --connections N   instead of the workload's own
  --server-cpu N    the server's CPU (0)
  --client-cpu N    the CPU of loadgen and peers (1)
  --engine E        loadgen's queue: auto, epoll or io-uring (auto)
  --no-floor        do not measure the floor
  --json            one JSON document a workload
";

#[derive(Clone, Debug)]
pub struct Options {
    pub words: Vec<String>,
    pub list: bool,
    pub pairs: u32,
    pub window_s: u32,
    pub connections: Option<u32>,
    pub server_cpu: u16,
    pub client_cpu: u16,
    pub engine: Engine,
    pub floor: bool,
    pub json: bool,
}

impl Options {
    /// Reads the arguments; the error says what is wrong with them.
    pub fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            words: Vec::new(),
            list: false,
            pairs: 7,
            window_s: 4,
            connections: None,
            server_cpu: 0,
            client_cpu: 1,
            engine: Engine::Auto,
            floor: true,
            json: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number = |most: u32| {
                let value = args.next().and_then(|v| v.parse().ok());
                value.filter(|n| (1..=most).contains(n)).ok_or_else(|| {
                    format!("{arg} expects a whole number from 1 to {most}")
                })
            };
            match arg.as_str() {
                // Cargo says this to every bench.
                "--bench" => {}
                "--list" => options.list = true,
                "--pairs" => options.pairs = number(1000)?,
                "--window" => options.window_s = number(600)?,
                "--connections" => {
                    options.connections = Some(number(60_000)?);
                }
                "--server-cpu" => options.server_cpu = cpu(&mut args, arg)?,
                "--client-cpu" => options.client_cpu = cpu(&mut args, arg)?,
                "--engine" => {
                    options.engine = match args.next().map(String::as_str) {
                        Some("auto") => Engine::Auto,
                        Some("epoll") => Engine::Epoll,
                        Some("io-uring") => Engine::IoUring,
                        _ => {
                            return Err("--engine expects auto, epoll or \
                                        io-uring"
                                .into());
                        }
                    };
                }
                "--no-floor" => options.floor = false,
                "--json" => options.json = true,
                word if !word.starts_with('-') => {
                    options.words.push(word.into());
                }
                other => return Err(format!("`{other}` is not known")),
            }
        }
        if options.server_cpu == options.client_cpu {
            return Err("server and client need a CPU each".into());
        }
        Ok(options)
    }

    /// Whether a workload of this name was asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|w| name.contains(w))
    }
}

fn cpu(
    args: &mut std::slice::Iter<'_, String>,
    arg: &str,
) -> Result<u16, String> {
    let value = args.next().and_then(|v| v.parse().ok());
    value.ok_or_else(|| format!("{arg} expects the number of a CPU"))
}
