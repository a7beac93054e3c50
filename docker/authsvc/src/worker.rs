//! One thread, one listener, one event loop.

use std::io;
use std::net::{SocketAddr, TcpListener as Probe};
use std::time::Duration;

use anyhow::Context as _;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

use crate::burst::Burst;
use crate::service::Auth;

/// Connections that wait to be accepted; the kernel may allow fewer.
const BACKLOG: u32 = 4096;
/// The longest head of a request; hyper answers 431 to a longer one.
const HEAD: usize = 64 << 10;
/// Before another try when no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// A worker that listens and does not serve yet.
pub struct Worker {
    runtime: Runtime,
    listener: TcpListener,
}

impl Worker {
    /// `count` workers on one address; where its port is 0, on a free one.
    ///
    /// # Errors
    ///
    /// When it cannot be listened at.
    pub fn all(at: SocketAddr, count: usize) -> anyhow::Result<Vec<Worker>> {
        let listen = || format!("cannot listen on {at}");
        if at.port() != 0 {
            // SO_REUSEPORT would share the port with another that has it, too.
            Probe::bind(at).with_context(listen)?;
        }
        let first = Worker::new(at).with_context(listen)?;
        let at = first.address()?;
        let mut workers = vec![first];
        for _ in 1..count {
            let one = Worker::new(at);
            workers.push(one.with_context(|| format!("another for {at}"))?);
        }
        Ok(workers)
    }

    fn new(at: SocketAddr) -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(async {
            let socket = match at {
                SocketAddr::V4(_) => TcpSocket::new_v4()?,
                SocketAddr::V6(_) => TcpSocket::new_v6()?,
            };
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(true)?;
            socket.bind(at)?;
            socket.listen(BACKLOG)
        })?;
        Ok(Worker { runtime, listener })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves for ever.
    pub fn serve(self, auth: &Auth) -> ! {
        self.runtime.block_on(async {
            loop {
                let stream = match self.listener.accept().await {
                    Ok((stream, _)) => stream,
                    // No more files, or a client that is gone already.
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                };
                // Not fatal: it would only be slower.
                let _ = stream.set_nodelay(true);
                let connection = http1::Builder::new()
                    .max_buf_size(HEAD)
                    .half_close(true)
                    .serve_connection(
                        TokioIo::new(Burst::new(stream)),
                        auth.clone(),
                    );
                // What goes wrong on a connection ends that connection.
                tokio::spawn(async move { drop(connection.await) });
            }
        })
    }
}
