//! Servers on the libraries that most of them use: none of ours is in them,
//! so what our client and our twins agree on wrongly shows here.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use profiles::verdict::Verdict;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use validate::Target;

use crate::gallery::options;
use crate::row::{Running, judged};
use crate::support::app::{App, Local};
use crate::support::cheat::Cheat;
use crate::support::{data, io, wire, without_folder};

/// hyper, with its defaults, in cleartext and over TLS.
struct Hyper {
    plain: SocketAddr,
    tls: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
}

async fn answer(
    request: Request<Incoming>,
    app: Arc<App>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().map_or("/", |t| t.as_str());
    let accept = head.headers.get("accept-encoding");
    let accept = accept.and_then(|v| v.to_str().ok());
    let asked = wire::Request::new(head.method.as_str(), target, accept);
    let bytes = body.collect().await.map(|b| b.to_bytes());
    let kept = bytes.unwrap_or_default().to_vec();
    let count = kept.len() as u64;
    let body = wire::Body { count, framed: count, kept };
    let reply = app.answer(&asked, &body, &mut Local::default());
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    if head.method == hyper::Method::HEAD {
        let length = reply.length.unwrap_or(reply.body.len());
        response = response.header("content-length", length);
        return Ok(response.body(Full::default()).unwrap());
    }
    Ok(response.body(Full::new(reply.body.into())).unwrap())
}

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, app: Arc<App>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let (tls, app) = (tls.clone(), app.clone());
        tokio::spawn(async move {
            let service = service_fn(move |r| answer(r, app.clone()));
            let builder = http2::Builder::new(TokioExecutor::new());
            let _ = match tls {
                None => {
                    let io = TokioIo::new(stream);
                    builder.serve_connection(io, service).await
                }
                Some(tls) => {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    let io = TokioIo::new(stream);
                    builder.serve_connection(io, service).await
                }
            };
        });
    }
}

impl Hyper {
    fn start() -> Hyper {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async move {
                let any = (Ipv4Addr::LOCALHOST, 0);
                let plain = TcpListener::bind(any).await.unwrap();
                let tls = TcpListener::bind(any).await.unwrap();
                let of = |l: &TcpListener| l.local_addr().unwrap();
                tell.send((of(&plain), of(&tls))).unwrap();
                let app = App::new(Cheat::Honest, data::data(), "/");
                let app = Arc::new(app);
                let acceptor = TlsAcceptor::from(io::config(&[b"h2"]));
                tokio::spawn(serve(plain, None, app.clone()));
                tokio::spawn(serve(tls, Some(acceptor), app));
                let _ = stopped.await;
            });
        });
        let (plain, tls) = told.recv().unwrap();
        Hyper { plain, tls, stop: Some(stop) }
    }
}

impl Drop for Hyper {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

impl Running for Hyper {
    fn target(&self) -> Target {
        Target::default()
            .with(8082, self.plain)
            .with(8443, self.tls)
            .with_certificate(io::certified().0.to_vec())
    }
}

#[test]
fn hyper_with_its_defaults_passes_over_http2() {
    let server = Hyper::start();
    crate::gallery::seeds(12, |seed| {
        let names = crate::http2::FOUR;
        let verdicts = judged(&server, &names, &options(seed));
        let verdicts = without_folder(verdicts);
        let odd = verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
        odd.map(|p| format!("seed {seed}: {p:#?}"))
    });
}
