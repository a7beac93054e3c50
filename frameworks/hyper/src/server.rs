//! One thread per CPU, each with its own runtime and its own listening socket.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::Builder,
};

use crate::{
    batch,
    routes::{Site, answer},
};

/// Connections the kernel may hold ready for one thread.
const BACKLOG: u32 = 4096;

/// How long a thread without free descriptors waits for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Starts the threads and returns the address they listen on.
pub fn start(site: &'static Site, port: u16) -> Result<SocketAddr> {
    let address = free_address(port)
        .with_context(|| format!("cannot listen on port {port}"))?;
    let threads = thread::available_parallelism()?.get();
    for number in 0..threads {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot make a runtime")?;
        let listener = {
            let _runtime = runtime.enter();
            listen(address)
                .with_context(|| format!("cannot listen on {address}"))?
        };
        thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || runtime.block_on(accept(site, listener)))
            .context("cannot start a thread")?;
    }
    Ok(address)
}

/// Sockets that share a port would also share it with another server that
/// does: a bind without sharing finds out whether there is one.
fn free_address(port: u16) -> io::Result<SocketAddr> {
    StdListener::bind((Ipv4Addr::UNSPECIFIED, port))?.local_addr()
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(site: &'static Site, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((connection, _)) => {
                tokio::spawn(serve(site, connection));
            }
            // A client that left while waiting is no concern of the others;
            // the rest is a lack of descriptors or memory and may pass.
            Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                eprintln!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(site: &'static Site, connection: TcpStream) {
    if let Err(error) = connection.set_nodelay(true) {
        eprintln!("cannot set TCP_NODELAY: {error}");
    }
    let service = service_fn(move |request| async move {
        Ok::<_, Infallible>(answer(site, request).await)
    });
    batch::serve(TokioIo::new(connection), service).await;
}
