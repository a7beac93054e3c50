//! One UDP socket and the connections behind it.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{
    ConnectionEvent, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
    EndpointEvent, Transmit,
};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// Asked of the kernel for each direction: its default drops bursts, which
/// looks like a slow server.
const SOCKET_BUFFER: usize = 4 << 20;
/// The kernel joins no more than this into one read.
const LARGEST: usize = 65_536;
/// One buffer serves several reads before its memory is taken anew.
const ARENA: usize = 4 * LARGEST;
/// Reads in one call.
const BATCH: usize = 4;
/// The kernel takes no more than this in one send.
const LARGEST_SEND: usize = 65_000;

/// Buffers the sockets of one thread read into.
pub(super) struct Inbox {
    buffers: Vec<BytesMut>,
    metas: [RecvMeta; BATCH],
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        let buffers = (0..BATCH).map(|_| BytesMut::zeroed(ARENA)).collect();
        Inbox { buffers, metas: [RecvMeta::default(); BATCH] }
    }
}

/// A datagram that was sorted.
pub(super) struct Sorted {
    pub(super) slot: u32,
    pub(super) event: ConnectionEvent,
}

/// One UDP socket.
pub(super) struct Port {
    fd: OwnedFd,
    udp: UdpSocketState,
    endpoint: Endpoint,
    /// The slot of each connection, by its handle.
    slots: Vec<u32>,
    /// What the kernel had no room for.
    stuck: Option<(Transmit, Vec<u8>)>,
    /// Slots that have something to send once it has.
    pub(super) waiting: Vec<u32>,
    /// What the system says of the path, if it is broken.
    pub(super) failed: Option<Errno>,
}

impl Port {
    pub(super) fn new(
        target: SocketAddr,
        config: Arc<EndpointConfig>,
    ) -> io::Result<Port> {
        let (family, any) = match target {
            SocketAddr::V4(_) => {
                (AddressFamily::INET, (Ipv4Addr::UNSPECIFIED, 0).into())
            }
            SocketAddr::V6(_) => {
                (AddressFamily::INET6, (Ipv6Addr::UNSPECIFIED, 0).into())
            }
        };
        let any: SocketAddr = any;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(family, SocketType::DGRAM, flags, None)?;
        // Beyond the system's limit where that is allowed, else up to it.
        let _ = sockopt::set_socket_recv_buffer_size_force(&fd, SOCKET_BUFFER)
            .or_else(|_| {
                sockopt::set_socket_recv_buffer_size(&fd, SOCKET_BUFFER)
            });
        let _ = sockopt::set_socket_send_buffer_size_force(&fd, SOCKET_BUFFER)
            .or_else(|_| {
                sockopt::set_socket_send_buffer_size(&fd, SOCKET_BUFFER)
            });
        net::bind(&fd, &any)?;
        // Errors of the path come back only on a connected socket.
        net::connect(&fd, &target)?;
        let udp = UdpSocketState::new(UdpSockRef::from(&fd))?;
        let endpoint = Endpoint::new(config, None, !udp.may_fragment(), None);
        let (slots, waiting) = (Vec::new(), Vec::new());
        let (stuck, failed) = (None, None);
        Ok(Port { fd, udp, endpoint, slots, stuck, waiting, failed })
    }

    /// What the kernel offers, for the sample.
    pub(super) fn words(&self) -> String {
        let gro = if self.udp.gro_segments() > 1 { "GRO" } else { "no GRO" };
        match self.udp.max_gso_segments() {
            0 | 1 => format!("no GSO, {gro}"),
            n => format!("GSO {n}, {gro}"),
        }
    }

    /// Datagrams of `mtu` bytes one send may hold.
    #[inline]
    pub(super) fn batch(&self, mtu: u16) -> usize {
        let fit = LARGEST_SEND / usize::from(mtu.max(1));
        self.udp.max_gso_segments().min(fit).max(1)
    }

    pub(super) fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Datagrams for `handle` go to `slot` from now on.
    pub(super) fn route(&mut self, handle: ConnectionHandle, slot: u32) {
        if self.slots.len() <= handle.0 {
            self.slots.resize(handle.0 + 1, u32::MAX);
        }
        self.slots[handle.0] = slot;
    }

    /// Nothing of `handle` is left.
    pub(super) fn forget(&mut self, handle: ConnectionHandle) {
        self.slots[handle.0] = u32::MAX;
        let drained = EndpointEvent::drained();
        let _ = self.endpoint.handle_event(handle, drained);
    }

    /// Reads once. Says how many bytes came and whether there may be more.
    pub(super) fn read(&mut self, inbox: &mut Inbox) -> Result<Batch, Errno> {
        let Inbox { buffers, metas } = inbox;
        for buffer in buffers.iter_mut() {
            if buffer.len() < LARGEST {
                // Given back by all who had a part of it, as a rule.
                buffer.clear();
                buffer.reserve(ARENA);
                buffer.resize(ARENA, 0);
            }
        }
        let mut slices = buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; BATCH] =
            std::array::from_fn(|_| match slices.next() {
                Some(buffer) => IoSliceMut::new(&mut buffer[..LARGEST]),
                None => IoSliceMut::new(&mut []),
            });
        let socket = UdpSockRef::from(&self.fd);
        match self.udp.recv(socket, &mut slices, metas) {
            Ok(count) => {
                let bytes = metas[..count].iter().map(|meta| meta.len).sum();
                Ok(Batch { count, bytes })
            }
            Err(e) => Err(errno(&e)),
        }
    }

    /// Hands the datagrams of a batch to `take`, each with its slot.
    pub(super) fn sort(
        &mut self,
        batch: &Batch,
        inbox: &mut Inbox,
        now: Instant,
        mut take: impl FnMut(Sorted),
    ) {
        // An answer to a stray datagram would go here; none is sent.
        let mut reply = Vec::new();
        let Inbox { buffers, metas } = inbox;
        for (buffer, meta) in buffers.iter_mut().zip(&metas[..batch.count]) {
            let mut whole = buffer.split_to(meta.len);
            let stride = meta.stride.max(1);
            while !whole.is_empty() {
                let data = whole.split_to(stride.min(whole.len()));
                let ecn = meta.ecn.map(to_quic);
                let event = self
                    .endpoint
                    .handle(now, meta.addr, None, ecn, data, &mut reply);
                if let Some(DatagramEvent::ConnectionEvent(handle, event)) =
                    event
                    && let Some(slot) = self.slots.get(handle.0)
                {
                    take(Sorted { slot: *slot, event });
                }
            }
        }
    }

    /// Whether the kernel had no room at the last send.
    #[inline]
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    /// Sends, or keeps what the kernel has no room for.
    #[inline]
    pub(super) fn send(&mut self, transmit: Transmit, bytes: &[u8]) {
        match self.try_send(&transmit, bytes) {
            Ok(()) => {}
            Err(Errno::AGAIN) => self.stuck = Some((transmit, bytes.to_vec())),
            Err(errno) => self.lost(errno),
        }
    }

    /// There is room again; whether there was enough.
    pub(super) fn unstick(&mut self) -> bool {
        if let Some((transmit, bytes)) = self.stuck.take() {
            self.send(transmit, &bytes);
        }
        self.stuck.is_none()
    }

    /// A send that failed loses its datagrams, as the path might have, and
    /// what was in them is sent again; unless there is no path.
    #[cold]
    fn lost(&mut self, errno: Errno) {
        if matches!(
            errno,
            Errno::CONNREFUSED
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
                | Errno::ACCESS
                | Errno::PERM
        ) {
            self.failed = Some(errno);
        }
    }

    fn try_send(&self, transmit: &Transmit, bytes: &[u8]) -> Result<(), Errno> {
        let datagrams = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.map(to_udp),
            contents: &bytes[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        self.udp
            .try_send(UdpSockRef::from(&self.fd), &datagrams)
            .map_err(|e| errno(&e))
    }

    pub(super) fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What one read brought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    count: usize,
    pub(super) bytes: usize,
}

impl Batch {
    /// Whether the read may have left something behind.
    pub(super) fn is_full(&self) -> bool {
        self.count == BATCH
    }
}

fn errno(e: &io::Error) -> Errno {
    match e.kind() {
        ErrorKind::WouldBlock => Errno::AGAIN,
        _ => Errno::from_io_error(e).unwrap_or(Errno::IO),
    }
}

fn to_quic(ecn: EcnCodepoint) -> quinn_proto::EcnCodepoint {
    match ecn {
        EcnCodepoint::Ect0 => quinn_proto::EcnCodepoint::Ect0,
        EcnCodepoint::Ect1 => quinn_proto::EcnCodepoint::Ect1,
        EcnCodepoint::Ce => quinn_proto::EcnCodepoint::Ce,
    }
}

fn to_udp(ecn: quinn_proto::EcnCodepoint) -> EcnCodepoint {
    match ecn {
        quinn_proto::EcnCodepoint::Ect0 => EcnCodepoint::Ect0,
        quinn_proto::EcnCodepoint::Ect1 => EcnCodepoint::Ect1,
        quinn_proto::EcnCodepoint::Ce => EcnCodepoint::Ce,
    }
}
