//! A session without a socket, and the words of a server to it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use loadgen::books::Books;
use loadgen::desk::Desk;
use loadgen::plan::Plan;
use loadgen::session::{Http2, Over, Session};
use profiles::sample::Fault;

use crate::peer;

pub const MS: u64 = 1_000_000;
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
/// Flags.
pub const END: u8 = 1;
pub const ACK: u8 = 1;
pub const WHOLE: u8 = 4;
pub const PADDED: u8 = 8;
pub const WEIGHTED: u8 = 32;

/// A profile of one class on one connection.
pub fn profile(protocol: &str, in_flight: u32, class: &str) -> String {
    format!(
        "title = \"t\"\nsummary = \"s\"\nfamily = \"h2\"\nscored = true\n\
         leagues = [\"engine\"]\nmetric = \"answers\"\n\
         protocol = \"{protocol}\"\nport = 8082\nendpoints = [\"/\"]\n\
         [load]\nlevels = [1]\nin_flight = {in_flight}\nwindow = \"1s\"\n\
         share_total = 1\n[server]\ncpus = \"pool\"\nreference_cpus = \"0\"\n\
         [[class]]\nname = \"a\"\nshare = 1\n{class}\n"
    )
}

/// `GET /pipeline`, of which the right answer is `ok`.
pub fn plain(in_flight: u32) -> String {
    profile("http2-cleartext", in_flight, "ask = \"pipeline\"")
}

/// The same with a limit of requests per connection.
pub fn limited(in_flight: u32, requests: u32) -> String {
    let load = format!("[load]\nrequests_per_connection = {requests}");
    plain(in_flight).replace("[load]", &load)
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

pub fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in pairs {
        payload.extend_from_slice(&id.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame(SETTINGS, 0, 0, &payload)
}

pub fn number(kind: u8, stream: u32, n: u32) -> Vec<u8> {
    frame(kind, 0, stream, &n.to_be_bytes())
}

pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// A block of literal fields.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

pub fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, WHOLE | flags, stream, &block(fields))
}

pub const HEAD: [(&str, &str); 3] = [
    (":status", "200"),
    ("content-type", "text/plain"),
    ("content-length", "2"),
];

/// The right answer to `GET /pipeline`.
pub fn ok(stream: u32) -> Vec<u8> {
    let head = headers(stream, 0, &HEAD);
    [head, frame(DATA, END, stream, b"ok")].concat()
}

/// A frame the client sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn number(&self) -> u32 {
        u32::from_be_bytes(self.payload[..4].try_into().unwrap())
    }
}

pub fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut out = Vec::new();
    while let [a, b, c, kind, flags, d, e, f, g, ..] = *bytes {
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        out.push(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes([d, e, f, g]),
            payload: bytes[9..9 + len].to_vec(),
        });
        bytes = &bytes[9 + len..];
    }
    assert!(bytes.is_empty());
    out
}

/// One connection and its books.
pub struct Talk {
    pub desk: Desk,
    kit: <Http2 as Session>::Kit,
    pub session: Http2,
    pub now: u64,
}

/// A plan is dear and the same for many.
fn plan(definition: &str) -> Arc<Plan> {
    static PLANS: LazyLock<Mutex<HashMap<String, Arc<Plan>>>> =
        LazyLock::new(Mutex::default);
    let mut plans = PLANS.lock().unwrap();
    let plan = plans.entry(definition.into()).or_insert_with(|| {
        let spec = peer::spec(definition, "127.0.0.1:1".parse().unwrap(), 1);
        let (_data, input) = peer::on_disk(&spec);
        let json = std::fs::read_to_string(input).unwrap();
        Arc::new(Plan::new(&json).unwrap())
    });
    plan.clone()
}

impl Talk {
    /// Connected, the client's first words sent, nothing heard.
    pub fn connected(definition: &str) -> Talk {
        let plan = plan(definition);
        let mut desk = Desk::new(&plan, 0).unwrap();
        desk.books.open();
        let kit = Http2::kit(&plan).unwrap();
        let session = Http2::new(0);
        let mut talk = Talk { desk, kit, session, now: 1 };
        talk.open();
        talk
    }

    pub fn open(&mut self) {
        self.session.open(self.now, &mut self.desk, &mut self.kit).unwrap();
        let first = self.send();
        let rest = first.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let first = frames(rest.unwrap());
        assert_eq!((first[0].kind, first[0].flags), (SETTINGS, 0));
        assert!(!self.session.is_ready());
    }

    /// Ready, and as many requests sent as may be.
    pub fn new(definition: &str) -> Talk {
        Talk::with(definition, &[])
    }

    pub fn with(definition: &str, pairs: &[(u16, u32)]) -> Talk {
        let mut talk = Talk::connected(definition);
        assert_eq!(talk.hear(&settings(pairs)), None);
        assert!(talk.session.is_ready());
        let said = frames(&talk.send());
        assert_eq!((said[0].kind, said[0].flags), (SETTINGS, ACK));
        talk
    }

    /// Draws what may be drawn.
    pub fn fill(&mut self) {
        self.session.fill(self.now, &mut self.desk, &mut self.kit);
    }

    /// Hands everything that is queued to the kernel.
    pub fn send(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.session.out().is_empty() {
            let text = self.session.out().text().unwrap().to_vec();
            self.session.wrote(text.len(), self.now, &mut self.desk);
            all.extend(text);
        }
        all
    }

    /// Draws and sends; what the client said.
    pub fn ask(&mut self) -> Vec<Frame> {
        self.fill();
        frames(&self.send())
    }

    pub fn hear(&mut self, bytes: &[u8]) -> Option<Over> {
        let mut bytes = bytes.to_vec();
        let (desk, kit) = (&mut self.desk, &mut self.kit);
        self.session.received(&mut bytes, self.now, desk, kit)
    }

    /// The same in pieces.
    pub fn hear_by(&mut self, bytes: &[u8], step: usize) -> Option<Over> {
        bytes.chunks(step).find_map(|piece| self.hear(piece))
    }

    pub fn expire(&mut self) -> Option<Over> {
        let (desk, kit) = (&mut self.desk, &mut self.kit);
        self.session.expire(self.now, desk, kit)
    }

    pub fn closed(&mut self) -> Over {
        let (desk, kit) = (&mut self.desk, &mut self.kit);
        self.session.closed(self.now, desk, kit)
    }

    pub fn end(&mut self, over: Over) {
        self.session.end(over, self.now, &mut self.desk);
        assert!(self.session.is_idle());
    }

    pub fn fault(&self, fault: Fault) -> u64 {
        self.desk.books.faults.get(&fault).copied().unwrap_or(0)
    }

    /// The connection is stopped; the books, which close.
    #[track_caller]
    pub fn close(mut self) -> Books {
        self.end(Over::Stopped);
        self.desk.drop_returned(self.now);
        let books = self.desk.books;
        let wrong: u64 = books.wrong_by.values().sum();
        let faults: u64 = books.faults.values().sum();
        let ended = books.right
            + wrong
            + faults
            + books.timed_out
            + books.unanswered_age.count();
        assert_eq!(books.sent, ended, "{books:?}");
        books
    }
}
