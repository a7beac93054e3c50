//! A small HTTP/2 server that is right in everything but its cheat. It works
//! frame by frame, so that it can be wrong in any of them.

mod answer;
mod grpc;
mod serve;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use validate::Target;

use super::app::App;
use super::cheat::Cheat;
use super::data;
use super::io;
use super::stack::Services;

/// The ways in which its frames can be wrong, or only unusual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Http2Cheat {
    /// None.
    Honest,
    /// Right in everything, and as unusual as the RFC allows.
    Unusual,
    /// Right in everything; leaves with GOAWAY where it refuses.
    Curt,

    NoAlpn,
    SpeaksHttp1,
    NoSettingsFirst,
    NeverAcknowledges,
    NoPong,
    PongOtherwise,
    MixesStreams,
    OneStreamAtATime,
    DiesOnReset,
    LeavesForGood,
    IgnoresStreamWindow,
    IgnoresConnectionWindow,
    StopsAtWindow,
    StopsAfterPart,
    NoContinuation,
    FirstContinuationOnly,
    PaddingIsBody,
    PriorityIsBody,
    UnknownFrameKills,
    UnknownSettingKills,
    ForgetsTable,
    IgnoresTableSize,
    WholeReadsOnly,
    WholeGreetingOnly,
    LengthLies,
    DataAfterEnd,
    UpperCaseFields,
    ConnectionField,
    MalformedTaken,
    LengthTaken,
    SettingsFlood,
    EndlessHead,
    HugeFrame,
    EndlessBody,
}

/// The ways in which its gRPC answers can be wrong, or only unusual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GrpcCheat {
    /// None.
    Honest,
    /// Right in everything, and as unusual as gRPC allows.
    Unusual,

    Constant,
    Unsigned,
    Saturates,
    FirstFieldOnly,
    FieldsInOrder,
    FirstFrameOnly,
    PrefixWhole,
    UnknownFieldRefused,
    StatusInHead,
    NoTrailers,
    NoStatus,
    StatusLost,
    PlainText,
    TwoMessages,
    MarkedCompressed,
    OneMessageOfStream,
    SameMessage,
    AtLeastOne,
    NegativeFails,
    FiveThousand,
    Joined,
    SlowLoses,
    CancelKills,
    CancelPoisons,
    UnknownMethodTaken,
    UnknownServiceTaken,
    AnyContentType,
    TextTaken,
    BrokenTaken,
    ShortTaken,
    CompressedTaken,
    CodingTaken,
}

/// A running twin; dropped, it is gone.
pub struct Http2Twin {
    plain: SocketAddr,
    tls: SocketAddr,
    stopping: Arc<AtomicBool>,
}

impl Http2Twin {
    pub fn start(frames: Http2Cheat, answers: Cheat) -> Http2Twin {
        Http2Twin::spawn(frames, answers, None, None)
    }

    /// The edge of a stack.
    pub fn edge(services: Arc<Services>) -> Http2Twin {
        let honest = (Http2Cheat::Honest, Cheat::Honest);
        Http2Twin::spawn(honest.0, honest.1, None, Some(services))
    }

    /// One that serves gRPC.
    pub fn calls(frames: Http2Cheat, calls: GrpcCheat) -> Http2Twin {
        Http2Twin::spawn(frames, Cheat::Honest, Some(calls), None)
    }

    fn spawn(
        frames: Http2Cheat,
        answers: Cheat,
        calls: Option<GrpcCheat>,
        services: Option<Arc<Services>>,
    ) -> Http2Twin {
        let app = Arc::new(App::new(answers, data::data(), "/"));
        let stopping = Arc::new(AtomicBool::new(false));
        let listen = |tls: bool| {
            let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = any.local_addr().unwrap();
            let (app, stop) = (app.clone(), stopping.clone());
            let services = services.clone();
            let dead = Arc::new(AtomicBool::new(false));
            std::thread::spawn(move || {
                for stream in any.incoming().flatten() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let (app, dead) = (app.clone(), dead.clone());
                    let services = services.clone();
                    let h2: &[&[u8]] = match frames {
                        Http2Cheat::NoAlpn => &[],
                        _ => &[b"h2"],
                    };
                    let tls = tls.then(|| io::config(h2));
                    std::thread::spawn(move || {
                        let mut io = io::over(stream, tls);
                        let behind =
                            serve::Behind { app: &app, calls, services };
                        serve::serve(&mut *io, &behind, frames, &dead);
                    });
                }
            });
            address
        };
        Http2Twin { plain: listen(false), tls: listen(true), stopping }
    }
}

impl Http2Twin {
    /// Where it is, with its certificate.
    pub fn target(&self) -> Target {
        Target::default()
            .with(8080, self.plain)
            .with(8082, self.plain)
            .with(8443, self.tls)
            .with_certificate(io::certified().0.to_vec())
    }
}

impl Drop for Http2Twin {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        for address in [self.plain, self.tls] {
            // Wakes the accepting thread; an error says that it is gone.
            let _ = TcpStream::connect(address);
        }
    }
}
