//! HTTP/3 servers under a test's control: one by another implementation, one
//! that says byte by byte what a script tells it.

// Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod raw;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use bytes::{Buf as _, Bytes};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, ServerConfig};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub const BASELINE: &str =
    include_str!("../../../../profiles/defs/baseline-h3.toml");
pub const STATIC: &str =
    include_str!("../../../../profiles/defs/static-h3.toml");
pub const GATEWAY: &str =
    include_str!("../../../../profiles/defs/gateway-h3.toml");

/// What a server counted.
#[derive(Clone, Default)]
pub struct Counts {
    pub accepted: Arc<AtomicU64>,
    pub requests: Arc<AtomicU64>,
    pub retries: Arc<AtomicU64>,
}

impl Counts {
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// How a server differs from an ordinary one.
#[derive(Clone)]
pub struct Options {
    /// Every client must come again with a token.
    pub retry: bool,
    pub versions: Option<Vec<u32>>,
    pub alpn: &'static str,
    /// Streams a client may have open.
    pub streams: u32,
    pub idle_ms: Option<u32>,
    /// How much of each request's body fits before it is read.
    pub window: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            retry: false,
            versions: None,
            alpn: "h3",
            streams: 100,
            idle_ms: None,
            window: None,
        }
    }
}

pub fn server_config(options: &Options) -> ServerConfig {
    static IDENTITY: LazyLock<profiles::data::Identity> =
        LazyLock::new(profiles::data::identity);
    let certificate = IDENTITY.certificate.as_bytes();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate).unwrap()],
            PrivateKeyDer::from_pem_slice(IDENTITY.key.as_bytes()).unwrap(),
        )
        .unwrap();
    tls.alpn_protocols = vec![options.alpn.into()];
    let tls = QuicServerConfig::try_from(tls).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_bidi_streams(options.streams.into());
    if let Some(ms) = options.idle_ms {
        let idle = quinn::VarInt::from_u32(ms).into();
        transport.max_idle_timeout(Some(idle));
    }
    if let Some(window) = options.window {
        transport.stream_receive_window(window.into());
    }
    config.transport_config(Arc::new(transport));
    config
}

pub fn endpoint(options: &Options, socket: UdpSocket) -> Endpoint {
    let mut config = EndpointConfig::default();
    if let Some(versions) = &options.versions {
        config.supported_versions(versions.clone());
    }
    let server = Some(server_config(options));
    let runtime = Arc::new(quinn::TokioRuntime);
    Endpoint::new(config, server, socket, runtime).unwrap()
}

/// Runs `serve` on a thread of its own, and returns where.
pub fn spawn<F: Future<Output = ()>>(
    serve: impl FnOnce(UdpSocket) -> F + Send + 'static,
) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = socket.local_addr().unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(serve(socket));
    });
    addr
}

/// The next connection, after a Retry if that is asked for.
pub async fn accept(
    endpoint: &Endpoint,
    options: &Options,
    counts: &Counts,
) -> Option<quinn::Connecting> {
    loop {
        let incoming = endpoint.accept().await?;
        if options.retry && !incoming.remote_address_validated() {
            counts.retries.fetch_add(1, Ordering::Relaxed);
            incoming.retry().unwrap();
            continue;
        }
        // One that offers another protocol is refused right here.
        if let Ok(connecting) = incoming.accept() {
            return Some(connecting);
        }
    }
}

/// The sum that `target` asks for.
pub fn sum(target: &str) -> i64 {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let value = |pair: &str| pair.split_once('=')?.1.parse::<i64>().ok();
    query.split('&').filter_map(value).sum()
}

/// A right server by the crates `h3` and `quinn`: sums of `/baseline2`, and
/// files of `folder` by their paths.
pub struct Peer {
    pub addr: SocketAddr,
    pub counts: Counts,
}

/// What [`Peer`] answers: status, fields and body.
pub type Reply = (u16, Vec<(&'static str, String)>, Bytes);

impl Peer {
    pub fn right() -> Peer {
        Peer::replying(Options::default(), |target, _| plain(target))
    }

    pub fn replying(
        options: Options,
        reply: impl Fn(&str, &[u8]) -> Reply + Send + Sync + 'static,
    ) -> Peer {
        let counts = Counts::default();
        let seen = counts.clone();
        let addr = spawn(|socket| serve_on(socket, options, seen, reply));
        Peer { addr, counts }
    }
}

/// Serves until the process ends.
pub async fn serve_on(
    socket: UdpSocket,
    options: Options,
    seen: Counts,
    reply: impl Fn(&str, &[u8]) -> Reply + Send + Sync + 'static,
) {
    let reply = Arc::new(reply);
    let endpoint = endpoint(&options, socket);
    while let Some(connecting) = accept(&endpoint, &options, &seen).await {
        let (seen, reply) = (seen.clone(), reply.clone());
        tokio::spawn(async move {
            let Ok(connection) = connecting.await else { return };
            seen.accepted.fetch_add(1, Ordering::Relaxed);
            serve(connection, seen, reply).await;
        });
    }
}

/// A plain answer with the sum.
pub fn plain(target: &str) -> Reply {
    let body = sum(target).to_string();
    let fields = vec![
        ("content-type", "text/plain".to_string()),
        ("content-length", body.len().to_string()),
    ];
    (200, fields, body.into())
}

async fn serve(
    connection: quinn::Connection,
    seen: Counts,
    reply: Arc<impl Fn(&str, &[u8]) -> Reply + Send + Sync + 'static>,
) {
    let quic = h3_quinn::Connection::new(connection);
    let Ok(mut connection) =
        h3::server::Connection::<_, Bytes>::new(quic).await
    else {
        return;
    };
    while let Ok(Some(resolver)) = connection.accept().await {
        let (seen, reply) = (seen.clone(), reply.clone());
        tokio::spawn(async move {
            let Ok((request, mut stream)) = resolver.resolve_request().await
            else {
                return;
            };
            let mut body = Vec::new();
            while let Ok(Some(mut piece)) = stream.recv_data().await {
                let n = piece.remaining();
                body.extend_from_slice(&piece.copy_to_bytes(n));
            }
            seen.requests.fetch_add(1, Ordering::Relaxed);
            let target = request.uri().path_and_query().unwrap().as_str();
            let (status, fields, bytes) = reply(target, &body);
            let mut head = http::Response::builder().status(status);
            for (name, value) in fields {
                head = head.header(name, value);
            }
            let head = head.body(()).unwrap();
            let _ = stream.send_response(head).await;
            let _ = stream.send_data(bytes).await;
            let _ = stream.finish().await;
        });
    }
}
