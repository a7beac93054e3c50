//! What a probe works with: where the entry is, what is right, chance from
//! the seed, time limits, and the usual ways to ask and to judge.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use profiles::ask::{Ask, Body, Drawer};
use profiles::data::UploadBlock;
use profiles::entry::Type;
use profiles::oracle::{Oracle, Reply, clip};
use profiles::profile::{Framing, Lane, Profile, Protocol};
use profiles::rng::Rng;
use profiles::verdict::Verdict;
use rustls::ClientConfig;

use crate::http::{Conn, Fault, Request, Response};
use crate::link::{Exchange, Link};
use crate::probe::{Miss, Outcome};
use crate::stream::Stream;
use crate::tape::Tape;
use crate::target::Target;
use crate::{grpc, http2, http3};

/// Where a wait can only show that a server does nothing, it is not longer.
const SHORT: Duration = Duration::from_secs(2);
/// Tokens are good for so long; no validation takes it.
const TOKEN_SECONDS: u64 = 3600;
/// Bodies may take a second for so many bytes beyond the usual limit.
const BYTES_PER_SECOND: u64 = 4 << 20;

/// One probe's run against one entry.
pub(crate) struct Session<'a> {
    /// The profile it is asked for.
    pub(crate) profile: &'a Profile,
    /// Every profile that is judged.
    pub(crate) selected: &'a [&'a Profile],
    /// Where that profile's port is.
    pub(crate) address: SocketAddr,
    pub(crate) target: &'a Target,
    /// What the entry claims to be.
    pub(crate) kind: Type,
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
    pub(crate) tape: Tape,
    /// Questions so far, and the most there may be: past it the probe ends
    /// as passed. Only tests of the probes set a limit.
    pub(crate) questions: Questions,
}

/// Counts what a probe asks: a connection, with the first request on it, and
/// each further request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Questions {
    asked: Cell<usize>,
    /// A connection was opened and nothing asked on it yet.
    fresh: Cell<bool>,
    limit: Option<usize>,
}

impl Questions {
    pub(crate) fn up_to(limit: Option<usize>) -> Questions {
        Questions { limit, ..Questions::default() }
    }

    /// How many were asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.get()
    }

    fn connection(&self) -> Result<(), Box<Miss>> {
        self.fresh.set(true);
        self.one()
    }

    fn request(&self) -> Result<(), Box<Miss>> {
        if self.fresh.take() { Ok(()) } else { self.one() }
    }

    fn one(&self) -> Result<(), Box<Miss>> {
        let asked = self.asked.get() + 1;
        self.asked.set(asked);
        match self.limit {
            Some(limit) if asked > limit => {
                Err(Miss::skip("not asked", "").as_verdict(Verdict::Pass))
            }
            _ => Ok(()),
        }
    }
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

    /// A sum with operands from `low..=high`, at the profile's own path.
    pub(crate) fn sum(
        &mut self,
        low: i64,
        high: i64,
        body: Option<Framing>,
    ) -> Ask {
        Ask::Sum {
            path: self.sum_path().into(),
            a: self.rng.between(low, high),
            b: self.rng.between(low, high),
            body: body.map(|f| (self.rng.between(low, high), f)),
        }
    }

    /// The path of sums.
    pub(crate) fn sum_path(&self) -> &'static str {
        match self.profile.protocol {
            _ if self.is_production() => "/public/baseline",
            Protocol::Http1 | Protocol::Http1Tls => "/baseline11",
            _ => "/baseline2",
        }
    }

    /// The path of documents, before the count.
    pub(crate) fn json_path(&self) -> &'static str {
        if self.is_production() { "/public/json/" } else { "/json/" }
    }

    /// A multiplier for documents, where the profile has one.
    pub(crate) fn multiplier(&mut self, low: i64, high: i64) -> Option<i64> {
        let m = self.rng.between(low, high);
        self.profile.server.services.is_empty().then_some(m)
    }

    fn is_production(&self) -> bool {
        self.profile.name.as_str() == "production-stack"
    }

    /// Draws the profile's own requests, as the load does.
    pub(crate) fn drawer(&self) -> Result<Drawer, Box<Miss>> {
        Drawer::new(self.profile, Lane::Main).map_err(|class| {
            let why = format!("requests of class {class} cannot be judged");
            Miss::skip(&why, "judge it with a version that knows this class")
        })
    }

    /// The request of a question, as the load sends it: with a token where
    /// the profile's requests bear one.
    pub(crate) fn request(&self, ask: &Ask) -> Request {
        self.request_of(None, ask)
    }

    /// The request of a question that was drawn for a class of the profile.
    pub(crate) fn request_of(
        &self,
        class: Option<usize>,
        ask: &Ask,
    ) -> Request {
        let class = class.and_then(|c| self.profile.classes.get(c));
        let bears = class.map_or_else(
            || self.profile.classes.iter().any(|c| c.bearer),
            |class| class.bearer,
        );
        let token = bears.then(|| self.token(ask)).flatten();
        let accept = class
            .and_then(|class| class.accept_encoding.as_deref())
            .or(ask.accept_encoding());
        let host = &self.host;
        let of = |body: &[u8]| {
            Request::bearing(ask, host, token.as_deref(), accept, body)
        };
        let mut body = Vec::new();
        match ask.body() {
            Body::None => {}
            Body::Message => ask.write_message(&mut body),
            Body::Json => ask.write_json(&mut body),
            Body::Integer(value, _) => body = value.to_string().into_bytes(),
            Body::Slice { offset, len, .. } => {
                let body = self.block().body(offset as usize, len as usize);
                return of(body.unwrap_or_default());
            }
        }
        of(&body)
    }

    /// A token that a question is asked with: its user's own, or one of those
    /// that the load has.
    pub(crate) fn token(&self, ask: &Ask) -> Option<String> {
        let user = match ask {
            Ask::Me { id, .. } => *id,
            _ => 42 + (self.seed % 4) as i64,
        };
        self.token_of(user)
    }

    /// A good token of `user`, if the secret is known.
    pub(crate) fn token_of(&self, user: i64) -> Option<String> {
        let secret = self.target.secret.as_deref()?;
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        Some(profiles::token::mint(secret, user, now + TOKEN_SECONDS))
    }

    /// A request without body to `target`.
    pub(crate) fn get(&self, target: &str) -> Request {
        Request::new("GET", target, &self.host, "")
    }

    /// A connection to the entry that HTTP/1.1 is spoken on, over TLS where
    /// the profile says so.
    pub(crate) fn open(&self) -> Result<Conn, Box<Miss>> {
        self.questions.connection()?;
        let tls = self.profile.protocol == Protocol::Http1Tls;
        let (track, by) = (self.tape.track(), self.deadline());
        Conn::open(self.address, tls, track, by)
            .map_err(|fault| self.unconnected(&fault))
    }

    /// A stream to the entry, over TLS if there is a configuration for it.
    /// That the server refuses the handshake is an answer as well.
    pub(crate) fn stream(
        &self,
        config: Option<Arc<ClientConfig>>,
    ) -> Result<Result<Stream, String>, Box<Miss>> {
        self.questions.connection()?;
        match Stream::with(self.address, config, self.deadline()) {
            Ok(stream) => Ok(Ok(stream)),
            Err(Fault::Handshake(why)) => Ok(Err(why)),
            Err(fault) => Err(self.unconnected(&fault)),
        }
    }

    /// Counts a connection that is made otherwise.
    pub(crate) fn question(&self) -> Outcome {
        self.questions.connection()
    }

    /// A connection of the profile's own protocol.
    pub(crate) fn link(&self) -> Result<Link, Box<Miss>> {
        match self.profile.protocol {
            Protocol::Http1 | Protocol::Http1Tls | Protocol::Websocket => {
                Ok(Link::Http1(Box::new(self.open()?)))
            }
            Protocol::Http3 => Ok(Link::Http3(Box::new(self.open3()?))),
            _ => Ok(Link::Http2(Box::new(self.open2()?))),
        }
    }

    /// A connection that HTTP/2 is spoken on.
    pub(crate) fn open2(&self) -> Result<http2::Conn, Box<Miss>> {
        self.open2_with(http2::Settings::default())
    }

    /// The same with settings of one's own.
    pub(crate) fn open2_with(
        &self,
        settings: http2::Settings,
    ) -> Result<http2::Conn, Box<Miss>> {
        self.questions.connection()?;
        let tls = matches!(
            self.profile.protocol,
            Protocol::Http2Tls | Protocol::GrpcTls
        );
        let (track, by) = (self.tape.track(), self.deadline());
        http2::Conn::with(self.address, tls, track, settings, by)
            .map_err(|fault| self.unconnected(&fault))
    }

    /// A connection for HTTP/2 on which nothing has been said yet, for
    /// whoever says the greeting otherwise.
    pub(crate) fn silent2(&self) -> Result<http2::Conn, Box<Miss>> {
        self.questions.connection()?;
        let tls = matches!(
            self.profile.protocol,
            Protocol::Http2Tls | Protocol::GrpcTls
        );
        let (track, by) = (self.tape.track(), self.deadline());
        http2::Conn::silent(self.address, tls, track, by)
            .map_err(|fault| self.unconnected(&fault))
    }

    /// A connection that HTTP/3 is spoken on.
    pub(crate) fn open3(&self) -> Result<http3::Conn, Box<Miss>> {
        self.questions.connection()?;
        let (track, by) = (self.tape.track(), self.deadline());
        http3::Conn::open(self.address, track, by)
            .map_err(|fault| self.unconnected(&fault))
    }

    /// The finding of a connection that was not made.
    pub(crate) fn unconnected(&self, fault: &Fault) -> Box<Miss> {
        Box::new(Miss {
            verdict: unanswered(fault),
            asked: format!("a connection to {}", self.address),
            expected: "a connection".into(),
            got: fault.to_string(),
            hint: Some("is the server still running? look at its log"),
        })
    }

    /// Sends a request on `conn` and reads its answer.
    pub(crate) fn exchange_on(
        &mut self,
        conn: &mut impl Exchange,
        request: &Request,
    ) -> Result<Response, Box<Miss>> {
        self.questions.request()?;
        self.asked.get_or_insert_with(|| request.shown());
        let extra = request.bytes.len() as u64 * 1000 / BYTES_PER_SECOND;
        let by = self.deadline() + Duration::from_millis(extra);
        let by = by.min(self.end);
        conn.exchange(request, by).map_err(|fault| self.faulty(request, &fault))
    }

    /// Sends a request on a connection of its own and reads its answer. No
    /// byte may follow it.
    pub(crate) fn exchange(
        &mut self,
        request: &Request,
    ) -> Result<Response, Box<Miss>> {
        let mut link = self.link()?;
        let response = self.exchange_on(&mut link, request)?;
        self.nothing_more(&mut link, request, Instant::now())?;
        Ok(response)
    }

    /// Asks on a connection of its own and judges the whole answer.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Outcome {
        let request = self.request(ask);
        let response = self.exchange(&request)?;
        self.judge(ask, &request, &response)
    }

    /// Asks on `conn` and judges the whole answer.
    pub(crate) fn ask_on(
        &mut self,
        conn: &mut impl Exchange,
        ask: &Ask,
    ) -> Outcome {
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
        let found = match ask {
            Ask::GrpcSum { .. } | Ask::GrpcStream { .. } => {
                grpc::judge(ask, response)
            }
            _ => self
                .oracle
                .judge(ask, &reply(response))
                .map_err(|wrong| wrong.to_string()),
        };
        found.map_err(|wrong| {
            let got = format!("{wrong}; {}", summary(response));
            self.miss(request, self.expectation(ask), got)
        })
    }

    /// Bytes that nobody asked for are an answer too many.
    pub(crate) fn nothing_more(
        &self,
        conn: &mut impl Exchange,
        request: &Request,
        until: Instant,
    ) -> Outcome {
        let Some(got) = conn.surplus(until) else { return Ok(()) };
        let miss = self.miss(request, "one answer and no byte more", got);
        Err(miss.hint("send one answer a request, exactly as long as it says"))
    }

    /// Whether who answers is an edge: a proxy or static server as it comes,
    /// which is not the entry's own work.
    pub(crate) fn is_edge(&self) -> bool {
        self.kind == Type::Infrastructure
            || !self.profile.server.services.is_empty()
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
        miss.as_verdict(unanswered(fault))
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
            (None, Ask::Static { .. }) => {
                "200, the content type of the table, and the file's bytes"
                    .into()
            }
            (None, Ask::GrpcSum { a, b }) => format!(
                "200, application/grpc, one message with result {}, and \
                 grpc-status 0 in the trailers",
                a.wrapping_add(*b)
            ),
            (None, Ask::GrpcStream { a, b, count }) => format!(
                "200, application/grpc, {count} messages with results from \
                 {} up, and grpc-status 0 in the trailers",
                a.wrapping_add(*b)
            ),
            _ => format!(
                "{}, application/json, and the document as the database \
                 has it",
                Oracle::status(ask)
            ),
        }
    }
}

/// The verdict on a fault: what kind of nothing it was.
fn unanswered(fault: &Fault) -> Verdict {
    match fault {
        Fault::Broken(_) | Fault::Handshake(_) => Verdict::Fail,
        Fault::Refused(_) => Verdict::Refused,
        _ => Verdict::NoAnswer,
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
