//! One connection that HTTP/2 is spoken on.

mod heard;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use loona_hpack::Decoder;

use super::fields;
use super::frame::{Frame, LARGEST, flag, kind, setting};
use super::stream::Half;
use crate::http::{Ending, Fault, Request, Response};
use crate::link::Exchange;
use crate::stream::{Heard, Stream};
use crate::tape::{Said, Track};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What every connection and stream begins with.
const FIRST_WINDOW: i64 = 65_535;
/// A header block in its frames is never longer.
const BLOCK_LIMIT: usize = 64 * 1024;
/// Frames in a row that bring no answer further.
const IDLE_FRAMES: u32 = 4000;
const READ_BYTES: usize = 64 * 1024;

/// How the judge's side behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// SETTINGS_INITIAL_WINDOW_SIZE: what each stream may send at once.
    pub(crate) window: u32,
    /// What the connection may send at once, beyond the first 65,535.
    pub(crate) more: u32,
    /// SETTINGS_HEADER_TABLE_SIZE, if one is sent.
    pub(crate) table: Option<u32>,
    /// Whether used windows are filled up again by themselves.
    pub(crate) credits: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        // As the load has them: nothing waits for a window there.
        let (window, more) = (16 << 20, (1 << 30) - FIRST_WINDOW as u32);
        Settings { window, more, table: None, credits: true }
    }
}

/// What the server has said of itself.
#[derive(Clone, Copy, Debug)]
struct Peer {
    window: i64,
    frame: usize,
    /// Streams that it takes at once.
    streams: usize,
}

/// A connection to the entry.
pub(crate) struct Conn {
    stream: Stream,
    track: Track,
    scheme: &'static str,
    ours: Settings,
    peer: Peer,
    inbox: Vec<u8>,
    decoder: Decoder<'static>,
    streams: BTreeMap<u32, Half>,
    /// Streams that we reset ourselves: something may still come on them.
    cancelled: Vec<u32>,
    next: u32,
    inflow: i64,
    outflow: i64,
    /// The stream whose block goes on in CONTINUATION, and the block so far.
    open_block: Option<(u32, bool, Vec<u8>)>,
    greeted: bool,
    /// Our SETTINGS were acknowledged.
    pub(crate) acknowledged: bool,
    /// The last PING that was answered.
    pub(crate) pong: Option<[u8; 8]>,
    goaway: Option<(u32, u32)>,
    ending: Option<Ending>,
    idle: u32,
    /// The connection is broken for good.
    broken: Option<String>,
}

impl Conn {
    /// Connects, over TLS with ALPN `h2` or in cleartext with prior knowledge,
    /// and greets as the load does.
    pub(crate) fn open(
        address: SocketAddr,
        tls: bool,
        track: Track,
        by: Instant,
    ) -> Result<Conn, Fault> {
        Conn::with(address, tls, track, Settings::default(), by)
    }

    /// The same with settings of one's own.
    pub(crate) fn with(
        address: SocketAddr,
        tls: bool,
        track: Track,
        ours: Settings,
        by: Instant,
    ) -> Result<Conn, Fault> {
        let mut conn = Conn::connect(address, tls, track, ours, by)?;
        conn.greet(by);
        Ok(conn)
    }

    /// Connects and says nothing: the greeting, with no settings, is left to
    /// the caller.
    pub(crate) fn silent(
        address: SocketAddr,
        tls: bool,
        track: Track,
        by: Instant,
    ) -> Result<Conn, Fault> {
        let first = FIRST_WINDOW as u32;
        let ours = Settings { window: first, more: 0, ..Settings::default() };
        Conn::connect(address, tls, track, ours, by)
    }

    fn connect(
        address: SocketAddr,
        tls: bool,
        track: Track,
        ours: Settings,
        by: Instant,
    ) -> Result<Conn, Fault> {
        let alpn: &[&[u8]] = &[b"h2"];
        let stream = Stream::open(address, tls.then_some(alpn), by)?;
        if let Some(session) = stream.tls()
            && session.alpn_protocol() != Some(b"h2")
        {
            let why = "ALPN did not select h2".to_string();
            return Err(Fault::Handshake(why));
        }
        let mut conn = Conn {
            stream,
            track,
            scheme: if tls { "https" } else { "http" },
            ours,
            peer: Peer {
                window: FIRST_WINDOW,
                frame: LARGEST,
                streams: usize::MAX,
            },
            inbox: Vec::new(),
            decoder: Decoder::new(),
            streams: BTreeMap::new(),
            cancelled: Vec::new(),
            next: 1,
            inflow: FIRST_WINDOW + i64::from(ours.more),
            outflow: FIRST_WINDOW,
            open_block: None,
            greeted: false,
            acknowledged: false,
            pong: None,
            goaway: None,
            ending: None,
            idle: 0,
            broken: None,
        };
        let table = ours.table.unwrap_or(4096) as usize;
        conn.decoder.set_max_table_size(table);
        conn.decoder.set_max_allowed_table_size(table);
        Ok(conn)
    }

    fn greet(&mut self, by: Instant) {
        let mut all = vec![
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, self.ours.window),
            (setting::MAX_HEADER_LIST_SIZE, BLOCK_LIMIT as u32),
        ];
        if let Some(table) = self.ours.table {
            all.insert(0, (setting::HEADER_TABLE_SIZE, table));
        }
        let settings = Frame::settings(&all);
        let mut bytes = [PREFACE, &settings.bytes()].concat();
        self.track.bytes(Said::Judge, PREFACE);
        self.track.text(Said::Judge, &settings.told());
        if self.ours.more > 0 {
            let credit = Frame::credit(0, self.ours.more);
            self.track.text(Said::Judge, &credit.told());
            bytes.extend(credit.bytes());
        }
        self.stream.send(&bytes, by);
    }

    /// Sends frames, in one piece.
    pub(crate) fn send(&mut self, frames: &[Frame], by: Instant) {
        let mut bytes = Vec::new();
        for frame in frames {
            self.track.text(Said::Judge, &frame.told());
            bytes.extend(frame.bytes());
        }
        self.stream.send(&bytes, by);
    }

    /// Sends any bytes at all.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8], by: Instant) {
        self.track.bytes(Said::Judge, bytes);
        self.stream.send(bytes, by);
    }

    /// A number for a new stream, whose answer will be waited for.
    pub(crate) fn stream_for(&mut self, head_only: bool) -> u32 {
        let id = self.next;
        self.next += 2;
        let inflow = i64::from(self.ours.window);
        let half = Half::new(head_only, inflow, self.peer.window);
        self.streams.insert(id, half);
        id
    }

    /// The fields of a request, as they go over this connection.
    pub(crate) fn fields(&self, request: &Request) -> Vec<(String, String)> {
        fields::of(request, self.scheme)
    }

    /// Sends a request on a new stream; its body as far as the server's
    /// windows allow, waiting for more.
    pub(crate) fn start(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Result<u32, Fault> {
        let id = self.stream_for(request.head);
        let body = request.body().to_vec();
        let end = if body.is_empty() { flag::END_STREAM } else { 0 };
        let block = fields::block(&self.fields(request));
        let frames = blocks(id, end, &block, self.peer.frame);
        self.send(&frames, by);
        self.body(id, &body, by)?;
        Ok(id)
    }

    /// Sends the whole body of a stream and ends it.
    fn body(&mut self, id: u32, body: &[u8], by: Instant) -> Result<(), Fault> {
        let mut rest = body;
        while !rest.is_empty() {
            let Some(half) = self.streams.get_mut(&id) else { break };
            // What has been answered in full needs no more.
            if half.is_over() {
                break;
            }
            let room = half.outflow.min(self.outflow).max(0) as usize;
            let now = rest.len().min(room).min(self.peer.frame);
            if now == 0 {
                self.pump(by)?;
                continue;
            }
            half.outflow -= now as i64;
            self.outflow -= now as i64;
            let (piece, after) = rest.split_at(now);
            rest = after;
            let end = if rest.is_empty() { flag::END_STREAM } else { 0 };
            self.send(&[Frame::new(kind::DATA, end, id, piece)], by);
        }
        Ok(())
    }

    /// Waits for the whole answer on a stream.
    pub(crate) fn receive(
        &mut self,
        id: u32,
        by: Instant,
    ) -> Result<Response, Fault> {
        while self.streams.get(&id).is_some_and(|half| !half.is_over()) {
            if let Err(fault) = self.pump(by) {
                // What the stream itself was told is said first.
                if self.streams.get(&id).is_none_or(|h| !h.is_over()) {
                    return Err(fault);
                }
            }
        }
        match self.streams.remove(&id) {
            Some(half) => half.take(),
            None => Err(Fault::Late { got: 0 }),
        }
    }

    /// Waits for the server's SETTINGS; how many streams it takes at once.
    pub(crate) fn streams(&mut self, by: Instant) -> Result<usize, Fault> {
        while !self.greeted {
            self.pump(by)?;
        }
        Ok(self.peer.streams)
    }

    /// What is left of the connection's window for the server.
    pub(crate) fn left(&self) -> i64 {
        self.inflow
    }

    /// Whether a stream's answer is complete, or was cut short.
    pub(crate) fn is_over(&self, id: u32) -> bool {
        self.streams.get(&id).is_none_or(Half::is_over)
    }

    /// Body bytes that have come on a stream.
    pub(crate) fn got(&self, id: u32) -> usize {
        self.streams.get(&id).map_or(0, Half::got)
    }

    /// Whether the head of a stream's answer has come.
    pub(crate) fn has_begun(&self, id: u32) -> bool {
        self.streams.get(&id).is_some_and(Half::has_begun)
    }

    /// Resets a stream; what still comes on it is ignored.
    pub(crate) fn cancel(&mut self, id: u32, code: u32, by: Instant) {
        self.streams.remove(&id);
        self.cancelled.push(id);
        let code = code.to_be_bytes();
        self.send(&[Frame::new(kind::RST_STREAM, 0, id, code)], by);
    }

    /// Gives the server more of both windows.
    pub(crate) fn credit(&mut self, id: u32, bytes: u32, by: Instant) {
        let stream = Frame::credit(id, bytes);
        let whole = Frame::credit(0, bytes);
        if let Some(half) = self.streams.get_mut(&id) {
            half.inflow += i64::from(bytes);
        }
        self.inflow += i64::from(bytes);
        self.send(&[whole, stream], by);
    }

    /// Reads and works off one frame.
    ///
    /// # Errors
    ///
    /// If none came in time, the connection ended, or the frame breaks a
    /// rule: then nothing on this connection can be believed any more.
    pub(crate) fn pump(&mut self, by: Instant) -> Result<(), Fault> {
        if let Some(why) = &self.broken {
            return Err(Fault::Broken(why.clone()));
        }
        let frame = self.read(by)?;
        self.track.text(Said::Entry, &frame.told());
        self.idle += 1;
        let done = self.take(frame, by).and_then(|()| {
            let flood = format!("{IDLE_FRAMES} frames and no answer in them");
            if self.idle > IDLE_FRAMES { Err(flood) } else { Ok(()) }
        });
        done.map_err(|why| {
            self.broken = Some(why.clone());
            Fault::Broken(why)
        })
    }

    fn read(&mut self, by: Instant) -> Result<Frame, Fault> {
        loop {
            let http1 = b"HTTP/1.";
            if !self.greeted && self.inbox.starts_with(http1) {
                let why = "HTTP/1.1 in answer to HTTP/2's preface".to_string();
                return Err(Fault::Broken(why));
            }
            match Frame::parse(&self.inbox) {
                Ok(Some((frame, used))) => {
                    self.inbox.drain(..used);
                    return Ok(frame);
                }
                Ok(None) => {}
                Err(why) => return Err(Fault::Broken(why)),
            }
            let got = self.inbox.len();
            if let Some(how) = self.ending {
                return Err(match self.goaway {
                    Some((_, code)) => Fault::Goaway(code.into()),
                    None => Fault::Ended { how, got },
                });
            }
            self.inbox.resize(got + READ_BYTES, 0);
            let heard = self.stream.read(&mut self.inbox[got..], by);
            let n = if let Heard::Bytes(n) = heard { n } else { 0 };
            self.inbox.truncate(got + n);
            match heard {
                Heard::Bytes(_) => {}
                Heard::Over(how) => {
                    let event = format!("the connection {how} by the entry");
                    self.track.text(Said::Event, &event);
                    self.ending = Some(how);
                }
                Heard::Nothing => return Err(Fault::Late { got }),
            }
        }
    }
}

/// A header block in frames of at most `most` bytes.
pub(crate) fn blocks(
    id: u32,
    flags: u8,
    block: &[u8],
    most: usize,
) -> Vec<Frame> {
    let pieces: Vec<&[u8]> = block.chunks(most.max(1)).collect();
    let mut frames = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let last = i + 1 == pieces.len();
        let end = if last { flag::END_HEADERS } else { 0 };
        frames.push(match i {
            0 => Frame::new(kind::HEADERS, flags | end, id, *piece),
            _ => Frame::new(kind::CONTINUATION, end, id, *piece),
        });
    }
    frames
}

impl Exchange for Conn {
    fn exchange(
        &mut self,
        request: &Request,
        by: Instant,
    ) -> Result<Response, Fault> {
        let id = self.start(request, by)?;
        self.receive(id, by)
    }

    fn surplus(&mut self, until: Instant) -> Option<String> {
        loop {
            match self.pump(until) {
                Ok(()) => {}
                Err(Fault::Broken(why)) => return Some(why),
                Err(_) => return None,
            }
        }
    }
}
