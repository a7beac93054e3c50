//! A server that sends what a script says.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quinn::VarInt;
use tokio::sync::Mutex;

use super::{Counts, Options, accept, endpoint, spawn, sum};

/// One step of an answer.
#[derive(Clone, Debug)]
pub enum Act {
    Send(Vec<u8>),
    Finish,
    /// RESET_STREAM, and STOP_SENDING with the same code.
    Reset(u32),
    /// Only STOP_SENDING.
    Stop(u32),
    /// Bytes on the control stream.
    Control(Vec<u8>),
    Close(u32),
    /// No more datagrams, in either direction.
    Vanish,
    /// What was said so far goes out and is read before the next step.
    Pause,
    /// Neither bytes nor an end.
    Hang,
}

/// One request, as far as it was read.
#[derive(Clone, Debug)]
pub struct Request {
    pub target: String,
    /// Over all connections.
    pub number: u64,
    /// The connection's number.
    pub connection: u64,
    /// On its connection.
    pub index: u64,
}

impl Request {
    /// The right answer with all that belongs to it.
    pub fn right(&self) -> Vec<Act> {
        let body = sum(&self.target).to_string();
        vec![Act::Send(answer(&body)), Act::Finish]
    }
}

/// HEADERS and DATA of a 200 with a length.
pub fn answer(body: &str) -> Vec<u8> {
    let length = body.len().to_string();
    let mut block = vec![0, 0, 0xd9, 0xf5];
    block.extend([0x54, length.len() as u8]);
    block.extend(length.bytes());
    let mut out = frame(1, &block);
    out.extend(frame(0, body.as_bytes()));
    out
}

/// A frame of a type and length below 64.
pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    assert!(kind < 64 && body.len() < 64);
    [&[kind, body.len() as u8], body].concat()
}

/// A server and what it counted.
pub struct RawPeer {
    pub addr: SocketAddr,
    pub counts: Counts,
}

/// The control stream's type and empty settings.
pub const HELLO: &[u8] = &[0, 4, 0];

impl RawPeer {
    pub fn new(
        script: impl Fn(&Request) -> Vec<Act> + Send + Sync + 'static,
    ) -> RawPeer {
        RawPeer::with(Options::default(), vec![HELLO.to_vec()], script)
    }

    /// With the first bytes of each unidirectional stream it opens. A stream
    /// that begins with the type of a request is none and not opened.
    pub fn with(
        options: Options,
        unis: Vec<Vec<u8>>,
        script: impl Fn(&Request) -> Vec<Act> + Send + Sync + 'static,
    ) -> RawPeer {
        let counts = Counts::default();
        let (seen, script) = (counts.clone(), Arc::new(script));
        let addr = spawn(move |socket| async move {
            // Keeps the port, so that what comes to it is lost, not refused.
            let _port = socket.try_clone().unwrap();
            let endpoint = endpoint(&options, socket);
            while let Some(connecting) =
                accept(&endpoint, &options, &seen).await
            {
                let (seen, script) = (seen.clone(), script.clone());
                let (unis, endpoint) = (unis.clone(), endpoint.clone());
                tokio::spawn(async move {
                    let Ok(connection) = connecting.await else { return };
                    serve(connection, endpoint, unis, seen, script).await;
                });
            }
        });
        RawPeer { addr, counts }
    }
}

async fn serve(
    connection: quinn::Connection,
    endpoint: quinn::Endpoint,
    unis: Vec<Vec<u8>>,
    seen: Counts,
    script: Arc<impl Fn(&Request) -> Vec<Act> + Send + Sync + 'static>,
) {
    let number = seen.accepted.fetch_add(1, Ordering::Relaxed);
    let mut open = Vec::new();
    for bytes in unis {
        let Ok(mut uni) = connection.open_uni().await else { return };
        let _ = uni.write_all(&bytes).await;
        open.push(uni);
    }
    let open = Arc::new(Mutex::new(open));
    let index = AtomicU64::new(0);
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        let index = index.fetch_add(1, Ordering::Relaxed);
        let (seen, script) = (seen.clone(), script.clone());
        let (connection, endpoint) = (connection.clone(), endpoint.clone());
        let open = open.clone();
        tokio::spawn(async move {
            let Ok(bytes) = recv.read_to_end(1 << 20).await else { return };
            let request = Request {
                target: target(&bytes),
                number: seen.requests.fetch_add(1, Ordering::Relaxed),
                connection: number,
                index,
            };
            for act in script(&request) {
                match act {
                    Act::Send(bytes) => {
                        let _ = send.write_all(&bytes).await;
                    }
                    Act::Finish => {
                        let _ = send.finish();
                    }
                    Act::Reset(code) => {
                        let _ = send.reset(code.into());
                        let _ = recv.stop(code.into());
                    }
                    Act::Stop(code) => {
                        let _ = recv.stop(code.into());
                    }
                    Act::Control(bytes) => {
                        let mut open = open.lock().await;
                        let _ = open[0].write_all(&bytes).await;
                    }
                    Act::Close(code) => {
                        connection.close(VarInt::from_u32(code), b"script");
                    }
                    Act::Vanish => {
                        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
                        endpoint.rebind(other).unwrap();
                    }
                    Act::Pause => {
                        let pause = std::time::Duration::from_millis(10);
                        tokio::time::sleep(pause).await;
                    }
                    Act::Hang => std::future::pending::<()>().await,
                }
            }
        });
    }
}

/// The `:path` of a request: a literal with the name of entry 1.
fn target(bytes: &[u8]) -> String {
    let at = bytes.windows(3).position(|w| w[0] == 0x51 && w[2] == b'/');
    let Some(at) = at else { return String::new() };
    let len = usize::from(bytes[at + 1]);
    String::from_utf8_lossy(&bytes[at + 2..at + 2 + len]).into_owned()
}

/// A server that answers each request before it has read it, and reads no
/// more of it.
pub fn early(options: Options, answer: Vec<u8>) -> SocketAddr {
    spawn(move |socket| async move {
        let endpoint = endpoint(&options, socket);
        let seen = Counts::default();
        while let Some(connecting) = accept(&endpoint, &options, &seen).await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let Ok(connection) = connecting.await else { return };
                let mut control = connection.open_uni().await.unwrap();
                let _ = control.write_all(HELLO).await;
                let mut kept = Vec::new();
                while let Ok((mut send, recv)) = connection.accept_bi().await {
                    let _ = send.write_all(&answer).await;
                    let _ = send.finish();
                    kept.push(recv);
                }
            });
        }
    })
}
