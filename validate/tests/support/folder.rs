//! A server of static files that reads them from a folder, or says it does.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use profiles::data::StaticFile;
use tempfile::TempDir;
use tokio::sync::oneshot;
use validate::Target;

use crate::support::data::data;

/// What it keeps of what it read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keeps {
    Nothing,
    /// For a second, as file caches do.
    ASecond,
    /// Everything from the start.
    FromStart,
    /// What was read once.
    FromFirstRead,
    /// Compressed files, once they were read.
    Coded,
}

/// A running server; dropped, it is gone.
pub struct Folder {
    address: SocketAddr,
    dir: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
}

struct State {
    keeps: Keeps,
    dir: Arc<TempDir>,
    kept: Mutex<HashMap<String, (Instant, Vec<u8>)>>,
}

impl Folder {
    pub fn start(keeps: Keeps) -> Folder {
        let dir = Arc::new(TempDir::new().unwrap());
        let put = |name: String, bytes: &[u8]| {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        };
        for file in &data().files {
            put(file.name.into(), &file.raw);
            if file.compressed {
                put(format!("{}.gz", file.name), &file.gzip);
                put(format!("{}.br", file.name), &file.brotli);
            }
        }
        let state =
            Arc::new(State { keeps, dir: dir.clone(), kept: Mutex::default() });
        if keeps == Keeps::FromStart {
            for file in std::fs::read_dir(dir.path()).unwrap().flatten() {
                state.read(file.file_name().to_str().unwrap());
            }
        }
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener =
                    tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                        .await
                        .unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = serve(listener, state) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = told.recv().unwrap();
        Folder { address, dir, stop: Some(stop) }
    }

    pub fn target(&self) -> Target {
        Target::local(self.address).with_statics(self.dir.path())
    }

    /// Whether the folder is as it was in the beginning.
    pub fn is_whole(&self) -> bool {
        let count = std::fs::read_dir(self.dir.path()).unwrap().count();
        let files = &data().files;
        let coded = files.iter().filter(|f| f.compressed).count();
        let same = |f: &crate::support::data::File| {
            std::fs::read(self.dir.path().join(f.name)).unwrap() == f.raw
        };
        count == files.len() + 2 * coded && files.iter().all(same)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

async fn serve(listener: tokio::net::TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let state = state.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let response = state.answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            // A client that breaks off has its reasons.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

impl State {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let status = |code: u16| {
            let empty = Full::default();
            Response::builder().status(code).body(empty).unwrap()
        };
        let name = request.uri().path().strip_prefix("/static/");
        let Some(file) = name.and_then(StaticFile::named) else {
            return status(404);
        };
        if request.method() != "GET" && request.method() != "HEAD" {
            return status(405);
        }
        let accept = request.headers().get("accept-encoding");
        let accept = accept.map_or("", |a| a.to_str().unwrap_or(""));
        let coding = accept
            .split(',')
            .map(|part| part.split_once(';').unwrap_or((part, "q=1")))
            .find(|(name, q)| {
                matches!(name.trim(), "br" | "gzip")
                    && q.trim().trim_start_matches("q=").parse() != Ok(0.0)
            })
            .map(|(name, _)| name.trim())
            .filter(|_| file.compressed);
        let ending = match coding {
            Some("br") => ".br",
            Some(_) => ".gz",
            None => "",
        };
        let Some(bytes) = self.read(&format!("{}{ending}", file.name)) else {
            return status(404);
        };
        let mut response = Response::builder()
            .header("content-type", file.content_types[0])
            .header("vary", "accept-encoding");
        if let Some(coding) = coding {
            response = response.header("content-encoding", coding);
        }
        response.body(Full::new(bytes.into())).unwrap()
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let coded = name.ends_with(".br") || name.ends_with(".gz");
        let good_for = match self.keeps {
            Keeps::Nothing => Duration::ZERO,
            Keeps::ASecond => Duration::from_secs(1),
            Keeps::Coded if !coded => Duration::ZERO,
            _ => Duration::MAX,
        };
        let mut kept = self.kept.lock().unwrap();
        if let Some((when, bytes)) = kept.get(name)
            && when.elapsed() < good_for
        {
            return Some(bytes.clone());
        }
        let bytes = std::fs::read(self.dir.path().join(name)).ok()?;
        kept.insert(name.into(), (Instant::now(), bytes.clone()));
        Some(bytes)
    }
}
