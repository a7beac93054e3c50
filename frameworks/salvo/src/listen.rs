//! The ports of the contract, a server each.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result};
use salvo::{
    conn::{
        Acceptor, Listener,
        rustls::{Keycert, RustlsConfig, RustlsListener},
        tcp::TcpAcceptor,
    },
    http::Version,
    prelude::*,
};
use tokio::{net::TcpSocket, task::JoinSet};

use crate::{config::Config, refuse};

const BACKLOG: u32 = 4096;

/// A port of TCP. Salvo's own listener leaves Nagle's algorithm on, with which
/// small answers wait for acknowledgements; connections have the option from
/// their listening socket.
struct Tcp(tokio::net::TcpListener);

impl Tcp {
    fn bind(port: u16) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.set_nodelay(true)?;
        let bound = socket
            .bind(([0, 0, 0, 0], port).into())
            .and_then(|()| socket.listen(BACKLOG));
        let bound =
            bound.with_context(|| format!("cannot listen on port {port}"))?;
        Ok(Self(bound))
    }
}

impl Listener for Tcp {
    type Acceptor = TcpAcceptor;

    async fn try_bind(self) -> salvo::Result<TcpAcceptor> {
        Ok(TcpAcceptor::try_from(self.0)?)
    }
}

/// HTTP/1.1 upon HTTP/2's port.
#[handler]
async fn only_http2(
    req: &mut Request,
    res: &mut Response,
    flow: &mut FlowCtrl,
) {
    if req.version() < Version::HTTP_2 {
        res.status_code(StatusCode::HTTP_VERSION_NOT_SUPPORTED);
        flow.skip_rest();
    }
}

/// Opens every port; those over TLS where there is a certificate. What is
/// returned ends when one of the servers does.
pub async fn all(config: &Config, router: Router) -> Result<JoinSet<()>> {
    let router = Arc::new(router);
    let mut servers = JoinSet::new();

    let http1 = Tcp::bind(config.http_port)?.try_bind().await?;
    println!("listening on http://{}", http1.local_addr()?);
    servers.spawn(Server::new(http1).serve(Arc::clone(&router)));

    let http2 = Tcp::bind(config.h2c_port)?.try_bind().await?;
    println!("listening on http://{} (HTTP/2)", http2.local_addr()?);
    let service = Service::new(Arc::clone(&router)).hoop(only_http2);
    servers.spawn(Server::new(http2).serve(service));

    let Some(tls) = tls(&config.tls_cert, &config.tls_key)? else {
        let cert = config.tls_cert.display();
        println!("no TLS: there is no {cert} or its key");
        return Ok(servers);
    };
    for (port, protocol) in
        [(config.https_port, "http/1.1"), (config.h2_port, "h2")]
    {
        let tls = tls.clone().alpn_protocols([protocol.into()]);
        let tcp = Tcp::bind(port)?;
        let acceptor = RustlsListener::new(tls, tcp).try_bind().await?;
        for holding in acceptor.holdings() {
            println!("listening on {holding} for {protocol}");
        }
        servers.spawn(Server::new(acceptor).serve(Arc::clone(&router)));
    }
    let tls = tls.alpn_protocols([b"h3".to_vec()]).build_quinn_config()?;
    let address = format!("0.0.0.0:{}", config.h2_port);
    let acceptor = QuinnListener::new(tls, address).try_bind().await?;
    for holding in acceptor.holdings() {
        println!("listening on {holding}");
    }
    let service = Service::new(router).hoop(refuse::malformed);
    servers.spawn(Server::new(acceptor).serve(service));
    Ok(servers)
}

/// `None` without a certificate: then nothing is served over TLS.
fn tls(cert: &Path, key: &Path) -> Result<Option<RustlsConfig>> {
    if !cert.exists() || !key.exists() {
        return Ok(None);
    }
    let pair = Keycert::new()
        .cert_from_path(cert)
        .and_then(|pair| pair.key_from_path(key))
        .with_context(|| format!("cannot read {}", cert.display()))?;
    Ok(Some(RustlsConfig::new(pair)))
}
