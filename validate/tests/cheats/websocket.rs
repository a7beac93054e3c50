//! Cheats over WebSocket.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use profiles::verdict::Verdict;
use validate::Target;

use crate::gallery::options;
use crate::row::{Row, Running, judged};
use crate::support::data;
use crate::support::websocket::{WsCheat as W, WsTwin};

impl Running for WsTwin {
    fn target(&self) -> Target {
        WsTwin::target(self)
    }
}

const BOTH: [&str; 2] = ["echo-ws", "echo-ws-pipeline"];

/// Probes that see whatever is wrong with every handshake or echo.
const ALL: &[&str] = &[
    "ws.handshake",
    "ws.echo",
    "ws.order",
    "ws.alive",
    "ws.fragments",
    "ws.ping",
    "ws.close",
    "ws.cut",
    "ws.invalid",
    "ws.reset",
];
const NONE: &[&str] = &[];

type Line = (W, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const GALLERY: &[Line] = &[
    (W::WrongAccept, "ws.handshake", ALL),
    (W::ConstantAccept, "ws.handshake", ALL),
    (W::NamesByCase, "ws.handshake", NONE),
    (W::ConnectionExact, "ws.handshake", NONE),
    (W::Extension, "ws.handshake", ALL),
    (W::PlainTaken, "ws.refused", NONE),
    (W::KeylessTaken, "ws.refused", NONE),
    (W::OldVersionTaken, "ws.refused", NONE),
    (W::ConstantEcho, "ws.echo", ALL),
    (W::TextForBinary, "ws.echo", ALL),
    (W::Masked, "ws.echo", ALL),
    (W::Short16, "ws.echo", &["ws.cut"]),
    (W::No64, "ws.echo", NONE),
    (W::EmptyIgnored, "ws.echo", NONE),
    (W::Joined, "ws.order", &["ws.cut", "ws.fragments"]),
    (W::Reversed, "ws.order", &["ws.cut"]),
    (W::Twice, "ws.order", NONE),
    (W::FirstOfReadOnly, "ws.order", ALL),
    (W::FragmentsApart, "ws.fragments", &["ws.invalid"]),
    (W::FirstFragmentOnly, "ws.fragments", NONE),
    (W::PingEndsFragments, "ws.fragments", NONE),
    (W::NoPong, "ws.ping", &["ws.fragments"]),
    (W::EmptyPong, "ws.ping", &["ws.fragments"]),
    (W::PongKills, "ws.ping", NONE),
    (W::NoCloseFrame, "ws.close", NONE),
    (W::NeverCloses, "ws.close", NONE),
    (W::CodelessCloseKills, "ws.close", NONE),
    (W::WholeReadsOnly, "ws.cut", ALL),
    (W::HeadAtOnce, "ws.cut", ALL),
    (W::UnmaskedTaken, "ws.invalid", NONE),
    (W::ReservedTaken, "ws.invalid", NONE),
    (W::OpcodeTaken, "ws.invalid", NONE),
    (W::LongControlTaken, "ws.invalid", NONE),
    (W::ContinuationTaken, "ws.invalid", NONE),
    (W::OddCloseTaken, "ws.invalid", NONE),
    (W::NotUtf8Taken, "ws.invalid", NONE),
    (W::ResetPoisons, "ws.reset", ALL),
    (W::CutResetPoisons, "ws.reset", ALL),
];

fn start(cheat: W) -> Box<dyn Running> {
    Box::new(WsTwin::start(cheat))
}

pub fn rows() -> Vec<Row> {
    let row = |&(cheat, named, others): &Line| Row {
        name: format!("Ws{cheat:?}"),
        profiles: &BOTH,
        start: Box::new(move || start(cheat)),
        honest: || start(W::Honest),
        named: vec![named],
        others: others.to_vec(),
    };
    let mut rows: Vec<Row> = GALLERY.iter().map(row).collect();
    // It dies only after the others have asked.
    if let Some(row) = rows.iter_mut().find(|r| r.name == "WsResetPoisons") {
        row.named.push("ws.alive");
    }
    rows
}

/// A server on the library that most of them use.
struct Library(SocketAddr);

impl Library {
    fn start() -> Library {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let Ok(mut socket) = tungstenite::accept(stream) else {
                        return;
                    };
                    while let Ok(message) = socket.read() {
                        let data = message.is_text() || message.is_binary();
                        if data && socket.send(message).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Library(address)
    }
}

impl Running for Library {
    fn target(&self) -> Target {
        Target::local(self.0)
    }
}

#[test]
fn honest_servers_of_different_habits_pass_under_fifty_seeds() {
    let twins = [
        start(W::Honest),
        start(W::Unusual),
        start(W::Curt),
        Box::new(Library::start()),
    ];
    crate::gallery::seeds(52, |seed| {
        let twin = &twins[seed as usize % twins.len()];
        let verdicts = judged(&**twin, &BOTH, &options(seed));
        let odd = verdicts.probes.iter().find(|p| p.verdict != Verdict::Pass);
        odd.map(|p| format!("seed {seed}: {p:#?}"))
    });
}

#[test]
fn what_never_ends_is_cut_off_and_wrong() {
    for cheat in [W::HugeFrame, W::PingFlood, W::EndlessHead] {
        let verdicts = judged(&*start(cheat), &["echo-ws"], &options(3));
        let found = verdicts.probes.iter().find(|p| p.id == "ws.echo").unwrap();
        assert_eq!(found.verdict, Verdict::Fail, "{cheat:?}: {}", found.got);
    }
}

/// What the judge sees beside a shot, in three questions or so.
fn witnessed(cheat: W) -> profiles::record::Testimony {
    let twin = WsTwin::start(cheat);
    let over = AtomicBool::new(false);
    let echo = crate::support::profiles(&["echo-ws"]);
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            let (target, oracle) = (WsTwin::target(&twin), data::oracle());
            validate::witness(&target, &echo[0], oracle, 7, &over)
        });
        std::thread::sleep(Duration::from_millis(700));
        over.store(true, Ordering::Relaxed);
        asks.join().unwrap()
    })
}

#[test]
fn the_witness_speaks_websocket_and_believes_only_right_echoes() {
    for honest in [W::Honest, W::Unusual] {
        let seen = witnessed(honest);
        assert_eq!((seen.right, seen.wrong), (seen.asked, None));
        assert!(seen.asked > 0);
    }
    let seen = witnessed(W::ConstantEcho);
    assert_eq!(seen.right, 0);
    assert!(seen.wrong.is_some());
}
