//! One connection, frame by frame.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loona_hpack::{Decoder, Encoder};

use super::super::app::App;
use super::super::io::Io;
use super::super::stack::Services;
use super::answer::{
    Answer, DATA, END_HEADERS, END_STREAM, HEADERS, PADDED, Stream, answer,
    frame, well_formed,
};
use super::{GrpcCheat, Http2Cheat as Cheat};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const PROTOCOL_ERROR: u32 = 1;
const REFUSED: u32 = 7;

/// Where answers come from.
pub struct Behind<'a> {
    pub app: &'a App,
    pub calls: Option<GrpcCheat>,
    pub services: Option<Arc<Services>>,
}

struct Conn<'a> {
    io: &'a mut dyn Io,
    behind: &'a Behind<'a>,
    calls: Option<GrpcCheat>,
    cheat: Cheat,
    inbox: Vec<u8>,
    decoder: Decoder<'static>,
    encoder: Encoder<'static>,
    streams: BTreeMap<u32, Stream>,
    window: i64,
    initial: i64,
    continued: Option<(u32, u8)>,
    over: bool,
}

pub fn serve(
    io: &mut dyn Io,
    behind: &Behind<'_>,
    cheat: Cheat,
    dead: &AtomicBool,
) {
    if dead.load(Ordering::SeqCst) {
        return;
    }
    let mut conn = Conn {
        io,
        behind,
        calls: behind.calls,
        cheat,
        inbox: Vec::new(),
        decoder: Decoder::new(),
        encoder: Encoder::new(),
        streams: BTreeMap::new(),
        window: 65_535,
        initial: 65_535,
        continued: None,
        over: false,
    };
    if conn.greet().is_some() {
        while !conn.over && conn.step(dead).is_some() {}
    }
}

impl Conn<'_> {
    fn fill(&mut self) -> Option<()> {
        let mut piece = [0; 32 * 1024];
        let n = self.io.read(&mut piece).ok().filter(|n| *n > 0)?;
        self.inbox.extend_from_slice(&piece[..n]);
        Some(())
    }

    fn send(&mut self, bytes: &[u8]) -> Option<()> {
        self.io.write_all(bytes).and_then(|()| self.io.flush()).ok()
    }

    fn greet(&mut self) -> Option<()> {
        while self.inbox.len() < PREFACE.len() {
            self.fill()?;
            let so_far = self.inbox.len().min(PREFACE.len());
            if self.inbox[..so_far] != PREFACE[..so_far] {
                if self.cheat == Cheat::SpeaksHttp1 {
                    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    self.send(ok.as_bytes())?;
                }
                return None;
            }
            if self.cheat == Cheat::WholeGreetingOnly && so_far < PREFACE.len()
            {
                return None;
            }
        }
        self.inbox.drain(..PREFACE.len());
        match self.cheat {
            Cheat::NoSettingsFirst => {
                self.send(&frame(6, 0, 0, &[0; 8]))?;
            }
            Cheat::SettingsFlood => loop {
                self.send(&frame(4, 0, 0, &[]).repeat(500))?;
            },
            Cheat::HugeFrame => {
                let mut huge = vec![0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1];
                huge.resize(1 << 20, 0);
                self.send(&frame(4, 0, 0, &[]))?;
                loop {
                    self.send(&huge)?;
                }
            }
            _ => {}
        }
        let mut settings = Vec::new();
        if self.cheat == Cheat::Unusual {
            // MAX_CONCURRENT_STREAMS, then one that nobody knows.
            settings.extend_from_slice(&[0, 3, 0, 0, 0, 200]);
            settings.extend_from_slice(&[0x55, 0x55, 0, 0, 0, 1]);
        }
        self.send(&frame(4, 0, 0, &settings))
    }

    /// Reads and works off one frame, then sends what may be sent.
    fn step(&mut self, dead: &AtomicBool) -> Option<()> {
        let (head, payload) = loop {
            if let Some(found) = self.parsed() {
                break found;
            }
            let partial = !self.inbox.is_empty();
            if partial && self.cheat == Cheat::WholeReadsOnly {
                return None;
            }
            self.fill()?;
        };
        let [.., kind, flags, a, b, c, d] = head;
        let id = u32::from_be_bytes([a, b, c, d]);
        match kind {
            0 => self.data(id, flags, &payload)?,
            1 => self.headers(id, flags, &payload)?,
            9 => self.continuation(id, flags, &payload)?,
            3 => {
                self.streams.remove(&id);
                match self.cheat {
                    _ if self.calls == Some(GrpcCheat::CancelPoisons) => {
                        dead.store(true, Ordering::SeqCst);
                    }
                    _ if self.calls == Some(GrpcCheat::CancelKills) => {
                        dead.store(true, Ordering::SeqCst);
                        return None;
                    }
                    Cheat::DiesOnReset => return None,
                    Cheat::LeavesForGood => {
                        dead.store(true, Ordering::SeqCst);
                    }
                    _ => {}
                }
            }
            4 if flags & 1 == 0 => self.settings(&payload)?,
            6 if flags & 1 == 0 => match self.cheat {
                Cheat::NoPong => {}
                Cheat::PongOtherwise => self.send(&frame(6, 1, 0, &[0; 8]))?,
                _ => self.send(&frame(6, 1, 0, &payload))?,
            },
            8 => {
                let more = u32::from_be_bytes(payload[..4].try_into().ok()?);
                match self.streams.get_mut(&id) {
                    _ if id == 0 => self.window += i64::from(more),
                    Some(stream) => stream.window += i64::from(more),
                    None => {}
                }
            }
            2 | 4..=7 => {}
            _ if self.cheat == Cheat::UnknownFrameKills => {
                self.leave()?;
            }
            _ => {}
        }
        self.flush()
    }

    fn parsed(&mut self) -> Option<([u8; 9], Vec<u8>)> {
        let head: [u8; 9] = self.inbox.get(..9)?.try_into().ok()?;
        let length =
            u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let payload = self.inbox.get(9..9 + length)?.to_vec();
        self.inbox.drain(..9 + length);
        Some((head, payload))
    }

    fn leave(&mut self) -> Option<()> {
        let mut payload = vec![0, 0, 0, 0];
        payload.extend_from_slice(&PROTOCOL_ERROR.to_be_bytes());
        self.over = true;
        self.send(&frame(7, 0, 0, &payload))
    }

    fn settings(&mut self, payload: &[u8]) -> Option<()> {
        for pair in payload.chunks_exact(6) {
            let id = u16::from_be_bytes([pair[0], pair[1]]);
            let value = u32::from_be_bytes(pair[2..6].try_into().ok()?);
            match id {
                1 if self.cheat != Cheat::IgnoresTableSize => {
                    self.encoder.set_max_table_size(value as usize);
                }
                4 => {
                    let change = i64::from(value) - self.initial;
                    self.initial = i64::from(value);
                    for stream in self.streams.values_mut() {
                        stream.window += change;
                    }
                }
                1..=6 => {}
                _ if self.cheat == Cheat::UnknownSettingKills => {
                    return self.leave();
                }
                _ => {}
            }
        }
        if self.cheat == Cheat::NeverAcknowledges {
            return Some(());
        }
        self.send(&frame(4, 1, 0, &[]))
    }

    fn content<'p>(&self, flags: u8, payload: &'p [u8]) -> Option<&'p [u8]> {
        let mut content = payload;
        if flags & PADDED != 0 {
            let (pad, rest) = content.split_first()?;
            content = match self.cheat {
                Cheat::PaddingIsBody => rest,
                _ => &rest[..rest.len().checked_sub(usize::from(*pad))?],
            };
        }
        Some(content)
    }

    fn headers(&mut self, id: u32, flags: u8, payload: &[u8]) -> Option<()> {
        let mut content = self.content(flags, payload)?;
        if flags & 32 != 0 && self.cheat != Cheat::PriorityIsBody {
            content = content.get(5..)?;
        }
        let window = self.initial;
        let block = content.to_vec();
        let stream = Stream { block, window, ..Stream::default() };
        self.streams.insert(id, stream);
        if flags & END_HEADERS != 0 {
            return self.decoded(id, flags);
        }
        if self.cheat == Cheat::NoContinuation {
            return self.leave();
        }
        self.continued = Some((id, flags));
        Some(())
    }

    fn continuation(
        &mut self,
        id: u32,
        flags: u8,
        payload: &[u8],
    ) -> Option<()> {
        let (open, first) = self.continued?;
        let stream = self.streams.get_mut(&id).filter(|_| open == id)?;
        stream.block.extend_from_slice(payload);
        if flags & END_HEADERS == 0 {
            if self.cheat == Cheat::FirstContinuationOnly {
                return self.leave();
            }
            return Some(());
        }
        self.continued = None;
        self.decoded(id, first)
    }

    fn decoded(&mut self, id: u32, flags: u8) -> Option<()> {
        if self.cheat == Cheat::ForgetsTable {
            self.decoder = Decoder::new();
        }
        let stream = self.streams.get_mut(&id)?;
        let Ok(fields) = self.decoder.decode(&stream.block) else {
            return self.leave();
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        stream.fields =
            fields.iter().map(|(n, v)| (text(n), text(v))).collect();
        if flags & END_STREAM != 0 { self.ended(id) } else { Some(()) }
    }

    fn data(&mut self, id: u32, flags: u8, payload: &[u8]) -> Option<()> {
        let content = self.content(flags, payload)?.to_vec();
        let Some(stream) = self.streams.get_mut(&id) else { return Some(()) };
        if stream.body.is_empty() {
            stream.first = content.len();
        }
        stream.body.extend_from_slice(&content);
        if flags & END_STREAM != 0 { self.ended(id) } else { Some(()) }
    }

    fn ended(&mut self, id: u32) -> Option<()> {
        let stream = self.streams.get_mut(&id)?;
        stream.ended = true;
        if well_formed(stream, self.cheat) {
            return Some(());
        }
        self.streams.remove(&id);
        if self.cheat == Cheat::Curt {
            return self.leave();
        }
        self.send(&frame(3, 0, id, &PROTOCOL_ERROR.to_be_bytes()))
    }

    /// Begins answers that are due, and sends what the windows allow.
    fn flush(&mut self) -> Option<()> {
        let mut due: Vec<u32> = self
            .streams
            .iter()
            .filter(|(_, s)| s.ended && !s.answered)
            .map(|(id, _)| *id)
            .collect();
        // More requests may be in the buffer: they are seen together.
        let together =
            matches!(self.cheat, Cheat::MixesStreams | Cheat::OneStreamAtATime);
        if !self.inbox.is_empty() && together {
            return Some(());
        }
        if self.cheat == Cheat::OneStreamAtATime && due.len() > 1 {
            for id in due.split_off(1) {
                self.streams.remove(&id);
                let code = (REFUSED + 4).to_be_bytes();
                self.send(&frame(3, 0, id, &code))?;
            }
        }
        let mut answers: Vec<(u32, Answer)> = due
            .iter()
            .map(|id| {
                (*id, {
                    let stream = &self.streams[id];
                    answer(stream, self.behind, self.cheat)
                })
            })
            .collect();
        if self.cheat == Cheat::MixesStreams {
            for pair in answers.chunks_exact_mut(2) {
                let (a, b) = pair.split_at_mut(1);
                std::mem::swap(&mut a[0].1, &mut b[0].1);
            }
        }
        for (id, answer) in answers {
            self.begin(id, answer)?;
        }
        let ids: Vec<u32> = self.streams.keys().copied().collect();
        for id in ids {
            self.go_on(id)?;
        }
        Some(())
    }

    fn begin(&mut self, id: u32, answer: Answer) -> Option<()> {
        let fields = &answer.fields;
        let all = fields.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes()));
        let block = self.encoder.encode(all);
        let whole = answer.body.is_empty() && answer.trailers.is_empty();
        let end = if whole { END_STREAM } else { 0 };
        match self.cheat {
            Cheat::Unusual => {
                let early =
                    self.encoder.encode([(&b":status"[..], &b"103"[..])]);
                // The early one was encoded last, so it is sent last: a block
                // of the same table would be wrong otherwise.
                let _ = early;
                let half = block.len() / 2;
                let mut first = vec![3];
                first.extend_from_slice(&block[..half]);
                first.extend_from_slice(&[0; 3]);
                let flags = PADDED | end;
                self.send(&frame(HEADERS, flags, id, &first))?;
                self.send(&frame(9, END_HEADERS, id, &block[half..]))?;
                self.send(&frame(0x77, 0, 0, b"unknown"))?;
                self.send(&frame(6, 0, 0, b"12345678"))?;
            }
            Cheat::EndlessHead => {
                self.send(&frame(HEADERS, end, id, &block))?;
                loop {
                    let more = frame(9, 0, id, &[0, 1, b'a', 1, b'b']);
                    self.send(&more.repeat(1000))?;
                }
            }
            _ => {
                let flags = END_HEADERS | end;
                self.send(&frame(HEADERS, flags, id, &block))?;
            }
        }
        if self.cheat == Cheat::EndlessBody {
            loop {
                self.window += 16_384;
                self.send(&frame(DATA, 0, id, &[0; 16_384]))?;
            }
        }
        if end != 0 {
            self.streams.remove(&id);
            return Some(());
        }
        let stream = self.streams.get_mut(&id)?;
        (stream.answered, stream.pending) = (true, answer.body);
        stream.trailers = answer.trailers;
        if stream.pending.is_empty() {
            return self.trailers(id);
        }
        Some(())
    }

    fn trailers(&mut self, id: u32) -> Option<()> {
        let trailers = self.streams.remove(&id)?.trailers;
        let all = trailers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes()));
        let block = self.encoder.encode(all);
        self.send(&frame(HEADERS, END_HEADERS | END_STREAM, id, &block))
    }

    fn go_on(&mut self, id: u32) -> Option<()> {
        loop {
            let stream = self.streams.get_mut(&id)?;
            if stream.pending.is_empty() {
                return Some(());
            }
            let of_stream = match self.cheat {
                Cheat::IgnoresStreamWindow => i64::MAX,
                _ => stream.window,
            };
            let of_all = match self.cheat {
                Cheat::IgnoresConnectionWindow => i64::MAX,
                _ => self.window,
            };
            let room = of_stream.min(of_all).clamp(0, 16_000) as usize;
            let n = room.min(stream.pending.len());
            if n == 0 {
                let slow = self.calls == Some(GrpcCheat::SlowLoses);
                let stops = match self.cheat {
                    _ if slow => stream.begun,
                    Cheat::StopsAtWindow => true,
                    Cheat::StopsAfterPart => stream.begun,
                    _ => false,
                };
                if stops {
                    stream.pending.clear();
                    if !stream.trailers.is_empty() {
                        return self.trailers(id);
                    }
                }
                return Some(());
            }
            stream.begun = true;
            stream.window -= n as i64;
            self.window -= n as i64;
            let piece: Vec<u8> = stream.pending.drain(..n).collect();
            let done = stream.pending.is_empty();
            if done && !stream.trailers.is_empty() {
                self.send(&frame(DATA, 0, id, &piece))?;
                return self.trailers(id);
            }
            let flags = if done { END_STREAM } else { 0 };
            if done {
                self.streams.remove(&id);
            }
            self.send(&frame(DATA, flags, id, &piece))?;
            if done {
                if self.cheat == Cheat::DataAfterEnd {
                    self.send(&frame(DATA, END_STREAM, id, b"more"))?;
                }
                return Some(());
            }
        }
    }
}
