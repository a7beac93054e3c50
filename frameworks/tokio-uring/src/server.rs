//! One thread per CPU, each with its own ring and listening socket.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener},
    thread,
};

use anyhow::{Context, Result};
use rustix::{
    net::{self, AddressFamily, SocketFlags, SocketType, sockopt},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use crate::{
    routes::Site,
    worker::{self, ENTRIES},
};

/// Connections the kernel may hold ready for one thread.
const BACKLOG: i32 = 4096;

/// Starts the threads and returns the address they listen on.
pub fn start(site: &'static Site, port: u16) -> Result<SocketAddr> {
    // Said here once, and not by each thread as it panics.
    io_uring::IoUring::new(ENTRIES).context(
        "the kernel gives no ring: io_uring needs Linux 5.11, \
         kernel.io_uring_disabled = 0, and in a container a seccomp profile that \
         allows it",
    )?;
    let address = free_address(port)
        .with_context(|| format!("cannot listen on port {port}"))?;
    let allowed = sched_getaffinity(None).context("cannot ask for CPUs")?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    for cpu in cpus {
        let listener = listen(address)
            .with_context(|| format!("cannot listen on {address}"))?;
        thread::Builder::new()
            .name(format!("worker-{cpu}"))
            .spawn(move || {
                let mut own = CpuSet::new();
                own.set(cpu);
                if let Err(error) = sched_setaffinity(None, &own) {
                    eprintln!("cannot stay on CPU {cpu}: {error}");
                }
                worker::run(site, listener);
            })
            .context("cannot start a thread")?;
    }
    Ok(address)
}

/// Sockets that share a port would also share it with another server that
/// does: a bind without sharing finds out whether there is one.
fn free_address(port: u16) -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?.local_addr()
}

/// `TCP_NODELAY` of the listener is that of its connections.
/// It blocks: a ring waits for a socket that does, and gives up on one that does
/// not.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let flags = SocketFlags::CLOEXEC;
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = net::socket_with(family, kind, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    let all = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, address.port());
    net::bind(&socket, &all)?;
    net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}
