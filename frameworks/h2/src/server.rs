//! One thread per CPU, each with its own runtime and its own listening socket
//! on every port.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Builder,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{config::Ports, connection, routes::Site};

/// Connections the kernel may hold ready for one socket.
const BACKLOG: u32 = 4096;

/// How long a thread without free descriptors waits for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is behind the addresses that `start` returns.
pub const SCHEMES: [&str; 3] = ["h2c", "h2c", "h2"];

/// Starts the threads and returns the addresses they listen on, in the order
/// of `SCHEMES`; the last one only where there is a certificate.
pub fn start(
    site: &'static Site,
    ports: &Ports,
    tls: Option<TlsAcceptor>,
) -> Result<Vec<SocketAddr>> {
    let mut doors = vec![(ports.grpc, None), (ports.plain, None)];
    if let Some(tls) = tls {
        doors.push((ports.tls, Some(tls)));
    }
    let addresses = doors
        .iter()
        .map(|&(port, _)| {
            free_address(port)
                .with_context(|| format!("cannot listen on port {port}"))
        })
        .collect::<Result<Vec<_>>>()?;

    let threads = thread::available_parallelism()?.get();
    for number in 0..threads {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot make a runtime")?;
        let mut accepts = JoinSet::new();
        for (&address, (_, tls)) in addresses.iter().zip(&doors) {
            let _runtime = runtime.enter();
            let listener = listen(address)
                .with_context(|| format!("cannot listen on {address}"))?;
            accepts.spawn(accept(site, tls.clone(), listener));
        }
        thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || runtime.block_on(accepts.join_all()))
            .context("cannot start a thread")?;
    }
    Ok(addresses)
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

async fn accept(
    site: &'static Site,
    tls: Option<TlsAcceptor>,
    listener: TcpListener,
) {
    loop {
        match listener.accept().await {
            Ok((connection, _)) => {
                let tls = tls.clone();
                tokio::spawn(connection::serve(site, tls, connection));
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
