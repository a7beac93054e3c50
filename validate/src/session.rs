//! What a probe works with: where the entry is, what is right, chance from
//! the seed, time limits, and the usual ways to ask and to judge.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use profiles::ask::{Ask, Body, Drawer};
use profiles::data::UploadBlock;
use profiles::oracle::{Oracle, Reply, clip};
use profiles::profile::{Framing, Lane, Profile};
use profiles::rng::Rng;
use profiles::verdict::Verdict;

use crate::http::{Conn, Fault, Request, Response};
use crate::probe::{Miss, Outcome};

/// Where a wait can only show that a server does nothing, it is not longer.
const SHORT: Duration = Duration::from_secs(2);
/// Bodies may take a second for so many bytes beyond the usual limit.
const BYTES_PER_SECOND: u64 = 4 << 20;

/// One probe's run against one entry.
pub(crate) struct Session<'a> {
    /// The profile it is asked for.
    pub(crate) profile: &'a Profile,
    /// Every profile that is judged.
    pub(crate) selected: &'a [&'a Profile],
    pub(crate) address: SocketAddr,
    pub(crate) host: String,
    pub(crate) oracle: &'a Oracle,
    pub(crate) rng: Rng,
    pub(crate) seed: u64,
    pub(crate) block: &'a OnceLock<UploadBlock>,
    pub(crate) timeout: Duration,
    /// The probe as a whole ends by then.
    pub(crate) end: Instant,
    /// The first request, for the report.
    pub(crate) asked: Option<String>,
}

impl Session<'_> {
    /// By when an answer to what is sent now must be complete.
    pub(crate) fn deadline(&self) -> Instant {
        self.end.min(Instant::now() + self.timeout)
    }

    /// By when an answer must have come that need not come at all.
    pub(crate) fn short(&self) -> Instant {
        self.end.min(Instant::now() + self.timeout.min(SHORT))
    }

    /// A moment from now, within the probe's time.
    pub(crate) fn within(&self, wait: Duration) -> Instant {
        self.end.min(Instant::now() + wait)
    }

    /// Whether the entry is judged for one of these profiles.
    pub(crate) fn judged_for(&self, names: &[&str]) -> bool {
        self.selected.iter().any(|p| names.contains(&p.name.as_str()))
    }

    /// The bytes upload bodies are cut from.
    pub(crate) fn block(&self) -> &UploadBlock {
        self.block.get_or_init(|| UploadBlock::new(self.seed))
    }

    /// A sum with operands from `low..=high`.
    pub(crate) fn sum(
        &mut self,
        low: i64,
        high: i64,
        body: Option<Framing>,
    ) -> Ask {
        Ask::Sum {
            path: "/baseline11".into(),
            a: self.rng.between(low, high),
            b: self.rng.between(low, high),
            body: body.map(|f| (self.rng.between(low, high), f)),
        }
    }

    /// Draws the profile's own requests, as the load does, if the answers to
    /// all of them can be judged here.
    pub(crate) fn drawer(&self) -> Result<Drawer, Box<Miss>> {
        let classes = &self.profile.classes;
        let foreign = classes.iter().find(|c| !c.kind.is_plain());
        match foreign.map(|class| class.name.clone()) {
            None => Drawer::new(self.profile, Lane::Main),
            Some(class) => Err(class),
        }
        .map_err(|class| {
            let why = format!("requests of class {class} cannot be judged");
            Miss::skip(&why, "judge it with a version that knows this class")
        })
    }

    /// The request of a question, as the load sends it.
    pub(crate) fn request(&self, ask: &Ask) -> Request {
        match ask.body() {
            Body::None | Body::Message => Request::of(ask, &self.host, b""),
            Body::Json => {
                let mut body = Vec::new();
                ask.write_json(&mut body);
                Request::of(ask, &self.host, &body)
            }
            Body::Integer(value, _) => {
                Request::of(ask, &self.host, value.to_string().as_bytes())
            }
            Body::Slice { offset, len, .. } => {
                let body = self.block().body(offset as usize, len as usize);
                Request::of(ask, &self.host, body.unwrap_or_default())
            }
        }
    }

    /// A request without body to `target`.
    pub(crate) fn get(&self, target: &str) -> Request {
        Request::new("GET", target, &self.host, "")
    }

    /// A connection to the entry.
    pub(crate) fn open(&self) -> Result<Conn, Box<Miss>> {
        Conn::open(self.address, self.deadline()).map_err(|fault| {
            Box::new(Miss {
                verdict: Verdict::NoAnswer,
                asked: format!("a connection to {}", self.address),
                expected: "a connection".into(),
                got: fault.to_string(),
                hint: Some("is the server still running? look at its log"),
            })
        })
    }

    /// Sends a request on `conn` and reads its answer.
    pub(crate) fn exchange_on(
        &mut self,
        conn: &mut Conn,
        request: &Request,
    ) -> Result<Response, Box<Miss>> {
        self.asked.get_or_insert_with(|| request.shown());
        let extra = request.bytes.len() as u64 * 1000 / BYTES_PER_SECOND;
        let by = self.deadline() + Duration::from_millis(extra);
        let by = by.min(self.end);
        conn.send(&request.bytes, by);
        conn.receive(request.head, by)
            .map_err(|fault| self.faulty(request, &fault))
    }

    /// Sends a request on a connection of its own and reads its answer. No
    /// byte may follow it.
    pub(crate) fn exchange(
        &mut self,
        request: &Request,
    ) -> Result<Response, Box<Miss>> {
        let mut conn = self.open()?;
        let response = self.exchange_on(&mut conn, request)?;
        self.nothing_more(&mut conn, request, Instant::now())?;
        Ok(response)
    }

    /// Asks on a connection of its own and judges the whole answer.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Outcome {
        let request = self.request(ask);
        let response = self.exchange(&request)?;
        self.judge(ask, &request, &response)
    }

    /// Asks on `conn` and judges the whole answer.
    pub(crate) fn ask_on(&mut self, conn: &mut Conn, ask: &Ask) -> Outcome {
        let request = self.request(ask);
        let response = self.exchange_on(conn, &request)?;
        self.judge(ask, &request, &response)
    }

    /// Whether `response` is the right answer to `ask`, however it was sent.
    pub(crate) fn judge(
        &self,
        ask: &Ask,
        request: &Request,
        response: &Response,
    ) -> Outcome {
        self.oracle.judge(ask, &reply(response)).map_err(|wrong| {
            let got = format!("{wrong}; {}", summary(response));
            self.miss(request, self.expectation(ask), got)
        })
    }

    /// Bytes that nobody asked for are an answer too many.
    pub(crate) fn nothing_more(
        &self,
        conn: &mut Conn,
        request: &Request,
        until: Instant,
    ) -> Outcome {
        let more = conn.surplus(until);
        if more.is_empty() {
            return Ok(());
        }
        let got =
            format!("{} bytes after the answer: `{}`", more.len(), clip(more));
        let miss = self.miss(request, "one answer and no byte more", got);
        Err(miss.hint("send one answer a request, exactly as long as it says"))
    }

    /// A finding of a wrong answer.
    pub(crate) fn miss(
        &self,
        request: &Request,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Box<Miss> {
        Box::new(Miss {
            verdict: Verdict::Fail,
            asked: request.shown(),
            expected: expected.into(),
            got: got.into(),
            hint: None,
        })
    }

    /// The finding of an answer that did not come, or came broken.
    pub(crate) fn faulty(&self, request: &Request, fault: &Fault) -> Box<Miss> {
        let miss = self.miss(request, "a complete answer", fault.to_string());
        match fault {
            Fault::Broken(_) => miss,
            _ => miss.as_verdict(Verdict::NoAnswer),
        }
    }

    /// What the right answer to a question is, in words.
    pub(crate) fn expectation(&self, ask: &Ask) -> String {
        match (self.oracle.exact(ask), ask) {
            (Some(exact), _) => {
                format!("200, text/plain, and the body `{exact}`")
            }
            (None, Ask::Json { count, multiplier, .. }) => format!(
                "200, application/json, and the first {count} items with \
                 total = price × quantity × {}",
                multiplier.unwrap_or(1)
            ),
            _ => "200, the content type of the table, and the file's bytes"
                .into(),
        }
    }
}

/// A response as the oracle takes it.
pub(crate) fn reply(response: &Response) -> Reply<'_> {
    Reply {
        status: response.status,
        content_type: response.header("content-type"),
        content_encoding: response.header("content-encoding"),
        body: &response.body,
    }
}

/// A response in one line.
pub(crate) fn summary(response: &Response) -> String {
    let kind = response.header("content-type").unwrap_or("none");
    format!(
        "the answer was {} with content type {} and {} body bytes `{}`",
        response.status,
        clip(kind.as_bytes()),
        response.body.len(),
        clip(&response.body[..response.body.len().min(40)]),
    )
}
