//! A small HTTP/3 server that is right in everything but its cheat: QUIC by
//! quinn, frames by hand, so that it can be wrong in any of them.

mod stream;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, ServerConfig, VarInt};

use super::app::App;
use super::cheat::Cheat;
use super::{data, io};

/// The ways in which it can be wrong, or only unusual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Http3Cheat {
    /// None.
    Honest,
    /// Right in everything, and as unusual as the RFC allows.
    Unusual,
    /// Right in everything; ends the connection where it refuses.
    Curt,

    AnyAlpn,
    MixesStreams,
    OneStreamOnly,
    StopsAtWindow,
    WholeReadsOnly,
    UnknownFrameKills,
    LateFrameKills,
    UnknownStreamKills,
    DiesOnReset,
    LeavesForGood,
    MalformedTaken,
    LengthTaken,
    LengthLies,
    UpperCaseFields,
    ConnectionField,
    EndlessBody,
    EndlessHead,
}

use Http3Cheat as H;

/// A running twin; dropped, it is gone.
pub struct Http3Twin {
    pub address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
pub struct Shared {
    pub app: App,
    pub cheat: H,
    pub dead: AtomicBool,
}

fn config(cheat: H) -> ServerConfig {
    let alpn: &[&[u8]] = match cheat {
        H::AnyAlpn => &[b"h3", b"hq-interop"],
        _ => &[b"h3"],
    };
    let crypto = QuicServerConfig::try_from(io::config(alpn)).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_bidi_streams(200_u32.into());
    config.transport_config(Arc::new(transport));
    config
}

impl Http3Twin {
    pub fn start(cheat: H, answers: Cheat) -> Http3Twin {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let app = App::new(answers, data::data(), "/");
        let dead = AtomicBool::new(false);
        let shared = Arc::new(Shared { app, cheat, dead });
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = serve(socket, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Http3Twin { address, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Http3Twin {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(socket: UdpSocket, shared: Arc<Shared>) {
    let endpoint = Endpoint::new(
        EndpointConfig::default(),
        Some(config(shared.cheat)),
        socket,
        Arc::new(quinn::TokioRuntime),
    )
    .unwrap();
    while let Some(incoming) = endpoint.accept().await {
        if shared.dead.load(Ordering::SeqCst) {
            incoming.refuse();
            continue;
        }
        let shared = shared.clone();
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                let _ = connected(connection, shared).await;
            }
        });
    }
}

async fn connected(
    connection: quinn::Connection,
    shared: Arc<Shared>,
) -> Option<()> {
    let mut control = connection.open_uni().await.ok()?;
    // The stream's type, then empty SETTINGS, or one that nobody knows.
    let settings: &[u8] = match shared.cheat {
        H::Unusual => &[0, 4, 2, 0x21, 7],
        _ => &[0, 4, 0],
    };
    control.write_all(settings).await.ok()?;
    if shared.cheat == H::Unusual {
        let mut odd = connection.open_uni().await.ok()?;
        odd.write_all(&[0x40, 0x54, 1, 2, 3]).await.ok()?;
        odd.finish().ok()?;
    }
    let uni = connection.clone();
    let other = shared.clone();
    let listening = tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok(mut stream) = uni.accept_uni().await {
            let mut kind = [0];
            let _ = stream.read_exact(&mut kind).await;
            let known = matches!(kind[0], 0 | 2 | 3);
            if !known && other.cheat == H::UnknownStreamKills {
                uni.close(VarInt::from_u32(0x103), b"unknown stream");
            }
            kept.push(stream);
        }
    });
    let mut first = true;
    while let Ok((send, recv)) = connection.accept_bi().await {
        let one = stream::Stream {
            send,
            recv,
            connection: connection.clone(),
            shared: shared.clone(),
        };
        match shared.cheat {
            H::OneStreamOnly if !first => {
                tokio::spawn(one.refuse());
            }
            H::MixesStreams => {
                // Alone for a moment, it is answered rightly.
                let pause = std::time::Duration::from_millis(20);
                let next = tokio::time::timeout(pause, connection.accept_bi());
                if let Ok(Ok((send, recv))) = next.await {
                    let connection = connection.clone();
                    let shared = shared.clone();
                    let two = stream::Stream { send, recv, connection, shared };
                    tokio::spawn(stream::swapped(one, two));
                } else {
                    tokio::spawn(one.serve());
                }
            }
            _ => {
                tokio::spawn(one.serve());
            }
        }
        first = false;
    }
    listening.abort();
    drop(control);
    Some(())
}
