//! One thread per CPU, each with its own runtime, UDP socket and endpoint.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::Arc,
    thread,
};

use anyhow::{Context, Result};
use quinn::{Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::runtime::Builder;

use crate::{assets::Assets, exchange};

/// Room for what arrives while an endpoint is at work; the kernel may give
/// less.
const BUFFER_BYTES: usize = 4 << 20;

/// Starts the threads and returns the address they share. The kernel spreads
/// clients over the sockets by their addresses.
pub fn start(
    assets: &'static Assets,
    port: u16,
    config: &ServerConfig,
) -> Result<SocketAddr> {
    let address = free_address(port)
        .with_context(|| format!("cannot listen on UDP port {port}"))?;
    for number in 0..thread::available_parallelism()?.get() {
        let socket = bind(address)
            .with_context(|| format!("cannot listen on {address}"))?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot make a runtime")?;
        let endpoint = {
            let _runtime = runtime.enter();
            Endpoint::new(
                EndpointConfig::default(),
                Some(config.clone()),
                socket,
                Arc::new(TokioRuntime),
            )?
        };
        thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || runtime.block_on(accept(assets, endpoint)))
            .context("cannot start a thread")?;
    }
    Ok(address)
}

/// Sockets that share a port would also share it with another server that
/// does: a bind without sharing finds out whether there is one.
fn free_address(port: u16) -> io::Result<SocketAddr> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?.local_addr()
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let kind = Type::DGRAM.nonblocking();
    let socket = Socket::new(Domain::IPV4, kind, Some(Protocol::UDP))?;
    socket.set_reuse_port(true)?;
    socket.set_recv_buffer_size(BUFFER_BYTES)?;
    socket.set_send_buffer_size(BUFFER_BYTES)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

async fn accept(assets: &'static Assets, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            // How a connection ends is the client's affair.
            let _ = exchange::serve(assets, incoming).await;
        });
    }
}
