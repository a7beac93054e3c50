//! A server that keeps the whole contract: the mixed profiles' endpoints over
//! HTTP/1.1 and HTTP/2, with a database in memory. It works its answers out
//! from the tables, not by the oracle.

// Each test binary uses its own part of this.
#![allow(dead_code)]

mod answers;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use answers::State;

/// What a server does to an answer before it sends it: path and body.
pub type Bend = fn(&str, Vec<u8>) -> Vec<u8>;

/// A running server of the contract.
pub struct Stack {
    pub addr: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Speaks {
    Http1,
    Http2,
    Http2Tls,
}

impl Stack {
    pub fn start(speaks: Speaks) -> Stack {
        Stack::bent(speaks, |_, body| body)
    }

    /// One that sends what `bend` makes of its bodies.
    pub fn bent(speaks: Speaks, bend: Bend) -> Stack {
        let state = Arc::new(Mutex::new(State::default()));
        let (tell, told) = mpsc::channel();
        let shared = state.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let tls = (speaks == Speaks::Http2Tls).then(acceptor);
                while let Ok((tcp, _)) = listener.accept().await {
                    let _ = tcp.set_nodelay(true);
                    let (state, tls) = (shared.clone(), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            Some(tls) => {
                                if let Ok(tls) = tls.accept(tcp).await {
                                    serve(tls, speaks, state, bend).await;
                                }
                            }
                            None => serve(tcp, speaks, state, bend).await,
                        }
                    });
                }
            });
        });
        Stack { addr: told.recv().unwrap(), state }
    }

    /// Requests so far, by the first parts of their paths.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.state.lock().unwrap().counts.clone()
    }

    /// Ids of the rows that were created, in the order they came.
    pub fn created(&self) -> Vec<i64> {
        self.state.lock().unwrap().created.clone()
    }

    /// The tokens `/api/` takes, and whose they are.
    pub fn allow(&self, tokens: &[(i64, &str)]) {
        let mut state = self.state.lock().unwrap();
        let tokens = tokens.iter().map(|(user, t)| (t.to_string(), *user));
        state.tokens = tokens.collect();
    }
}

async fn serve<T>(io: T, speaks: Speaks, state: Arc<Mutex<State>>, bend: Bend)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let state = state.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|b| b.to_bytes());
            let body = body.unwrap_or_default();
            let reply = state.lock().unwrap().answer(&head, &body);
            let path = head.uri.path().to_string();
            let reply =
                reply.map(|body| Full::new(Bytes::from(bend(&path, body))));
            Ok::<Response<Full<Bytes>>, Infallible>(reply)
        }
    });
    let io = TokioIo::new(io);
    // A gun that hangs up is no fault of this server.
    let _ = match speaks {
        Speaks::Http1 => {
            http1::Builder::new().serve_connection(io, service).await.is_ok()
        }
        _ => http2::Builder::new(TokioExecutor::new())
            .max_concurrent_streams(250)
            .serve_connection(io, service)
            .await
            .is_ok(),
    };
}

fn acceptor() -> TlsAcceptor {
    let identity = profiles::data::identity();
    let certificate = identity.certificate.as_bytes();
    let certificate = CertificateDer::from_pem_slice(certificate).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}
