//! A small WebSocket server that is right in everything but its cheat.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tungstenite::handshake::derive_accept_key;
use validate::Target;

/// The ways in which it can be wrong, or only unusual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WsCheat {
    /// None.
    Honest,
    /// Right in everything, and as unusual as the RFC allows: a hint
    /// before its 101, echoes in fragments, pings of its own, no code in its
    /// close.
    Unusual,
    /// Right in everything; ends the connection where it refuses.
    Curt,

    WrongAccept,
    ConstantAccept,
    NamesByCase,
    ConnectionExact,
    Extension,
    PlainTaken,
    KeylessTaken,
    OldVersionTaken,
    ConstantEcho,
    TextForBinary,
    Masked,
    Short16,
    No64,
    EmptyIgnored,
    Joined,
    Reversed,
    Twice,
    FirstOfReadOnly,
    FragmentsApart,
    FirstFragmentOnly,
    PingEndsFragments,
    NoPong,
    EmptyPong,
    PongKills,
    NoCloseFrame,
    NeverCloses,
    CodelessCloseKills,
    WholeReadsOnly,
    HeadAtOnce,
    UnmaskedTaken,
    ReservedTaken,
    OpcodeTaken,
    LongControlTaken,
    ContinuationTaken,
    OddCloseTaken,
    NotUtf8Taken,
    ResetPoisons,
    CutResetPoisons,
    HugeFrame,
    PingFlood,
    EndlessHead,
}

use WsCheat as C;

/// A running twin; dropped, it is gone.
pub struct WsTwin {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
}

impl WsTwin {
    pub fn start(cheat: C) -> WsTwin {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = stopping.clone();
        let dead = Arc::new(AtomicBool::new(false));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let dead = dead.clone();
                std::thread::spawn(move || {
                    if !dead.load(Ordering::SeqCst) {
                        let _ = stream.set_nodelay(true);
                        let inbox = Vec::new();
                        let open = None;
                        let mut conn = Conn { stream, cheat, inbox, open };
                        conn.serve(&dead);
                    }
                });
            }
        });
        WsTwin { address, stopping }
    }
}

impl WsTwin {
    /// Where it is.
    pub fn target(&self) -> Target {
        Target::local(self.address)
    }
}

impl Drop for WsTwin {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; an error says that it is gone.
        let _ = TcpStream::connect(self.address);
    }
}

struct Conn {
    stream: TcpStream,
    cheat: C,
    inbox: Vec<u8>,
    open: Option<(u8, Vec<u8>)>,
}

struct Frame {
    last: bool,
    opcode: u8,
    odd: bool,
    unmasked: bool,
    payload: Vec<u8>,
}

fn framed(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        n @ 0..126 => out.push(n as u8),
        n @ 126..65_536 => {
            out.push(126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
    out
}

impl Conn {
    fn fill(&mut self, dead: &AtomicBool) -> Option<()> {
        let mut piece = vec![0; 128 * 1024];
        match self.stream.read(&mut piece) {
            Ok(0) => None,
            Ok(n) => {
                self.inbox.extend_from_slice(&piece[..n]);
                Some(())
            }
            Err(_) => {
                let within = !self.inbox.is_empty();
                let poisons = match self.cheat {
                    C::ResetPoisons => true,
                    C::CutResetPoisons => within,
                    _ => false,
                };
                dead.fetch_or(poisons, Ordering::SeqCst);
                None
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).ok()
    }

    fn serve(&mut self, dead: &AtomicBool) -> Option<()> {
        self.greet(dead)?;
        loop {
            let mut batch: Vec<Vec<u8>> = Vec::new();
            let mut taken = 0;
            while let Some(frame) = self.parsed()? {
                taken += 1;
                if self.cheat == C::FirstOfReadOnly && taken > 1 {
                    continue;
                }
                match self.take(frame) {
                    Some(Some(echo)) => batch.push(echo),
                    Some(None) => {}
                    None => {
                        self.flush(batch)?;
                        self.finish();
                        return None;
                    }
                }
            }
            self.flush(batch)?;
            if self.cheat == C::WholeReadsOnly && !self.inbox.is_empty() {
                return None;
            }
            self.fill(dead)?;
        }
    }

    /// Ends the connection so that what was sent still arrives.
    fn finish(&mut self) {
        if self.cheat == C::NeverCloses {
            let mut rest = [0; 4096];
            while self.stream.read(&mut rest).is_ok_and(|n| n > 0) {}
        }
    }

    fn greet(&mut self, dead: &AtomicBool) -> Option<()> {
        let end = loop {
            let at = self.inbox.windows(4).position(|w| w == b"\r\n\r\n");
            if let Some(at) = at {
                break at + 4;
            }
            self.fill(dead)?;
        };
        let head: Vec<u8> = self.inbox.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let get = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                let same = match self.cheat {
                    C::NamesByCase => key == name,
                    _ => key.eq_ignore_ascii_case(name),
                };
                same.then(|| value.trim().to_string())
            })
        };
        let key = get("Sec-WebSocket-Key");
        let connection = get("Connection").unwrap_or_default();
        let upgrade = match self.cheat {
            C::ConnectionExact => connection == "Upgrade",
            _ => connection.to_lowercase().contains("upgrade"),
        };
        let version = get("Sec-WebSocket-Version").unwrap_or_default();
        let right = match self.cheat {
            C::PlainTaken => true,
            C::KeylessTaken => upgrade,
            C::OldVersionTaken => upgrade && key.is_some(),
            _ => upgrade && key.is_some() && version == "13",
        };
        if !right {
            if self.cheat != C::Curt {
                let no = "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n";
                self.send(no.as_bytes())?;
            }
            return None;
        }
        let accept = derive_accept_key(key.unwrap_or_default().as_bytes());
        let accept = match self.cheat {
            C::WrongAccept => "AAAAAAAAAAAAAAAAAAAAAAAAAAA=".into(),
            C::ConstantAccept => "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".into(),
            _ => accept,
        };
        let more = match self.cheat {
            C::Extension => "Sec-WebSocket-Extensions: permessage-deflate\r\n",
            _ => "",
        };
        let text = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n\
             Connection: keep-alive, Upgrade\r\n{more}\
             sec-websocket-accept: {accept}\r\n\r\n"
        );
        if self.cheat == C::EndlessHead {
            self.send(b"HTTP/1.1 101 X\r\nX: ")?;
            loop {
                self.send(&[b'x'; 64 * 1024])?;
            }
        }
        if self.cheat == C::Unusual {
            self.send(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n")?;
        }
        self.send(text.as_bytes())?;
        match self.cheat {
            C::HugeFrame => {
                self.send(&[0x82, 127, 0, 0, 0, 0, 0x40, 0, 0, 0])?;
                loop {
                    self.send(&[0; 64 * 1024])?;
                }
            }
            C::PingFlood => loop {
                self.send(&framed(0x89, b"flood").repeat(1000))?;
            },
            C::Unusual => self.send(&framed(0x89, b"hello")),
            _ => Some(()),
        }
    }

    /// The next frame; the outer `None` ends the connection.
    #[allow(clippy::option_option, reason = "two different endings")]
    fn parsed(&mut self) -> Option<Option<Frame>> {
        let [first, second, rest @ ..] = &self.inbox[..] else {
            return Some(None);
        };
        let (length, mut at) = match second & 0x7f {
            126 => match rest.first_chunk::<2>() {
                Some(two) => (usize::from(u16::from_be_bytes(*two)), 4),
                None => return Some(None),
            },
            127 => match rest.first_chunk::<8>() {
                Some(eight) => (u64::from_be_bytes(*eight) as usize, 10),
                None => return Some(None),
            },
            short => (usize::from(short), 2),
        };
        if self.cheat == C::HeadAtOnce && self.inbox.len() < at + 4 {
            return None;
        }
        if at == 10 && self.cheat == C::No64 {
            return None;
        }
        let unmasked = second & 0x80 == 0;
        let mut mask = [0; 4];
        if !unmasked {
            let Some(found) = self.inbox.get(at..at + 4) else {
                return Some(None);
            };
            mask.copy_from_slice(found);
            at += 4;
        }
        let Some(payload) = self.inbox.get(at..at + length) else {
            return Some(None);
        };
        let masks = mask.iter().cycle();
        let payload = payload.iter().zip(masks).map(|(b, m)| b ^ m).collect();
        let frame = Frame {
            last: first & 0x80 != 0,
            opcode: first & 0x0f,
            odd: first & 0x70 != 0,
            unmasked,
            payload,
        };
        self.inbox.drain(..at + length);
        Some(Some(frame))
    }

    /// Refuses: with a close frame, or without.
    #[allow(clippy::option_option, reason = "as in take")]
    fn refuse(&mut self, code: u16) -> Option<Option<Vec<u8>>> {
        if self.cheat != C::Curt {
            self.send(&framed(0x88, &code.to_be_bytes()))?;
        }
        None
    }

    /// Works off a frame: an echo, if one is due; the outer `None` ends the
    /// connection.
    #[allow(clippy::option_option, reason = "two different endings")]
    fn take(&mut self, frame: Frame) -> Option<Option<Vec<u8>>> {
        let Frame { last, mut opcode, odd, unmasked, payload } = frame;
        if unmasked && self.cheat != C::UnmaskedTaken
            || odd && self.cheat != C::ReservedTaken
        {
            return self.refuse(1002);
        }
        if matches!(opcode, 3..=7 | 11..) {
            if self.cheat != C::OpcodeTaken {
                return self.refuse(1002);
            }
            opcode = 1;
        }
        let bad = opcode >= 8 && (!last || payload.len() > 125);
        if bad && self.cheat != C::LongControlTaken {
            return self.refuse(1002);
        }
        match opcode {
            8 => {
                if self.cheat == C::CodelessCloseKills && payload.is_empty() {
                    return None;
                }
                let odd = payload.len() == 1 || payload == b"\x03\xed";
                if odd && self.cheat != C::OddCloseTaken {
                    return self.refuse(1002);
                }
                let code = match self.cheat {
                    C::Unusual => &[][..],
                    _ => &payload[..payload.len().min(2)],
                };
                if self.cheat != C::NoCloseFrame {
                    self.send(&framed(0x88, code))?;
                }
                return None;
            }
            9 => {
                let payload = match self.cheat {
                    C::EmptyPong => Vec::new(),
                    _ => payload,
                };
                if self.cheat == C::PingEndsFragments {
                    self.open = None;
                }
                if self.cheat != C::NoPong && !bad {
                    self.send(&framed(0x8a, &payload))?;
                }
                return Some(None);
            }
            10 => {
                return if self.cheat == C::PongKills {
                    None
                } else {
                    Some(None)
                };
            }
            _ => {}
        }
        let (opcode, whole) = match (opcode, self.open.take()) {
            (0, None) if self.cheat == C::ContinuationTaken => (1, payload),
            (0, None) => return self.refuse(1002),
            (0, Some((opcode, mut so_far))) => {
                if self.cheat != C::FirstFragmentOnly {
                    so_far.extend_from_slice(&payload);
                }
                (opcode, so_far)
            }
            (_, Some(_)) => return self.refuse(1002),
            (opcode, None) => (opcode, payload),
        };
        if !last && self.cheat != C::FragmentsApart {
            self.open = Some((opcode, whole));
            return Some(None);
        }
        if !last {
            self.open = Some((opcode, Vec::new()));
        }
        let utf8 = opcode != 1 || std::str::from_utf8(&whole).is_ok();
        if !utf8 && self.cheat != C::NotUtf8Taken {
            return self.refuse(1007);
        }
        Some(self.echo(opcode, &whole))
    }

    fn echo(&self, opcode: u8, whole: &[u8]) -> Option<Vec<u8>> {
        let opcode = match self.cheat {
            C::TextForBinary => 1,
            _ => opcode,
        };
        let first = 0x80 | opcode;
        match self.cheat {
            C::ConstantEcho => Some(framed(first, b"hello")),
            C::EmptyIgnored if whole.is_empty() => None,
            C::Short16 if whole.len() > 125 => {
                Some(framed(first, &whole[..125]))
            }
            C::Masked => {
                let mut out = framed(first, &[]);
                out[1] = 0x80 | (whole.len().min(125) as u8);
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&whole[..whole.len().min(125)]);
                Some(out)
            }
            C::Unusual => {
                let (a, b) = whole.split_at(whole.len() / 3);
                let pieces = [
                    framed(opcode, a),
                    framed(0x89, b""),
                    framed(0, b""),
                    framed(0x80, b),
                ];
                Some(pieces.concat())
            }
            _ => Some(framed(first, whole)),
        }
    }

    fn flush(&mut self, mut batch: Vec<Vec<u8>>) -> Option<()> {
        match self.cheat {
            C::Reversed => batch.reverse(),
            C::Twice if batch.len() > 8 => {
                let last = batch.last()?.clone();
                batch.push(last);
            }
            C::Joined if batch.len() > 1 => {
                // The payloads of short frames, in one frame.
                let all = batch.iter().flat_map(|f| f[2..].to_vec());
                batch = vec![framed(0x81, &all.collect::<Vec<u8>>())];
            }
            _ => {}
        }
        // One segment for all of them.
        self.send(&batch.concat())
    }
}
