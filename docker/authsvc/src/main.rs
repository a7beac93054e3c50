//! The auth service of the production stack: says for each request whether
//! its bearer token is good, and whose it is. See the README beside it.

mod burst;
mod counts;
mod service;
mod subject;
mod token;
mod worker;

use std::future::poll_fn;
use std::net::ToSocketAddrs as _;
use std::process::ExitCode;
use std::task::Poll;
use std::thread;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

use counts::Counts;
use service::Auth;
use token::Verifier;
use worker::Worker;

const DEFAULT_LISTEN: &str = "0.0.0.0:9090";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("authsvc: {why:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let secret = std::env::var_os("JWT_SECRET").unwrap_or_default();
    if secret.is_empty() {
        bail!(
            "JWT_SECRET is not set: give it the secret the tokens are signed with"
        );
    }
    let verifier = Verifier::new(secret.as_encoded_bytes());
    let verifier = verifier.context("JWT_SECRET is no key")?;
    let listen = std::env::var("AUTHSVC_LISTEN").unwrap_or_default();
    let listen = if listen.is_empty() { DEFAULT_LISTEN } else { &listen };
    let at = listen.to_socket_addrs().ok().and_then(|mut all| all.next());
    let at = at.with_context(|| {
        format!("AUTHSVC_LISTEN is `{listen}`, expected HOST:PORT")
    })?;

    // Before anything listens: an early signal is not lost.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut term, mut int) = runtime.block_on(async {
        let kinds = (SignalKind::terminate(), SignalKind::interrupt());
        Ok::<_, std::io::Error>((signal(kinds.0)?, signal(kinds.1)?))
    })?;

    // One for each CPU this process may run on.
    let count = thread::available_parallelism().map_or(1, usize::from);
    let counts = Counts::new(count);
    let workers = Worker::all(at, count)?;
    let address = workers[0].address()?;
    for (worker, one) in workers.into_iter().enumerate() {
        let (verifier, counts) = (verifier.clone(), counts.clone());
        let auth = Auth { verifier, counts, worker };
        let name = format!("auth-{worker}");
        thread::Builder::new().name(name).spawn(move || one.serve(&auth))?;
    }
    println!("listening on http://{address}");
    // Answers take microseconds and nothing is kept: no need to wait for any.
    runtime.block_on(poll_fn(|cx| {
        let ends = [term.poll_recv(cx), int.poll_recv(cx)];
        if ends.iter().any(Poll::is_ready) {
            return Poll::Ready(());
        }
        Poll::Pending
    }));
    Ok(())
}
