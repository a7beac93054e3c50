//! What the twin answers: everything the contract asks, and the cheats that
//! lie in the answers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cheat::Cheat;
use super::data::{Data, brotli, gzip};
use super::reply::Reply;
use super::wire::{Body, Framing, Request};

/// The server's state over all connections.
pub struct App {
    pub cheat: Cheat,
    pub data: &'static Data,
    /// Where the paths begin that it serves.
    serves: &'static str,
    /// A reset or an abort was seen by a server that does not bear it.
    pub wounded: AtomicBool,
    once: AtomicBool,
    cache: Mutex<HashMap<String, i64>>,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub struct Local {
    pub served: u32,
    gzipped: bool,
}

impl App {
    /// Serves the paths that begin with `serves`.
    pub fn new(cheat: Cheat, data: &'static Data, serves: &'static str) -> App {
        App {
            cheat,
            data,
            serves,
            wounded: AtomicBool::new(false),
            once: AtomicBool::new(false),
            cache: Mutex::default(),
        }
    }

    pub fn answer(&self, r: &Request, b: &Body, local: &mut Local) -> Reply {
        if !r.path.starts_with(self.serves) {
            return Reply::status(404);
        }
        if r.fails {
            return Reply::status(500);
        }
        if r.long_header && self.cheat == Cheat::LongHeader500 {
            return Reply::status(500);
        }
        if r.long_header && self.cheat == Cheat::Unusual {
            return Reply::status(431);
        }
        if r.old && self.cheat == Cheat::Unusual {
            return Reply::status(505);
        }
        let path = r.path.strip_prefix("/public").unwrap_or(&r.path);
        if let Some(count) = path.strip_prefix("/json/") {
            return self.method(r, &["GET"], || self.json(count, r, local));
        }
        if let Some(name) = r.path.strip_prefix("/static/") {
            return self.method(r, &["GET"], || self.file(name, r));
        }
        match &r.path[..] {
            "/baseline11" => {
                self.method(r, &["GET", "POST"], || self.sum(r, b))
            }
            "/baseline2" | "/public/baseline" => {
                self.method(r, &["GET"], || self.sum(r, b))
            }
            "/pipeline" => self.method(r, &["GET"], || {
                Reply::text(match self.cheat {
                    Cheat::PipelineNewline => "ok\n",
                    _ => "ok",
                })
            }),
            "/upload" => self.method(r, &["POST"], || self.upload(r, b)),
            path if path.starts_with("/baseline11")
                && self.cheat == Cheat::PrefixRoutes =>
            {
                self.sum(r, b)
            }
            _ => Reply::status(404),
        }
    }

    fn method(
        &self,
        r: &Request,
        allowed: &[&str],
        answer: impl FnOnce() -> Reply,
    ) -> Reply {
        let m = &r.method[..];
        let head = m == "HEAD"
            && allowed.contains(&"GET")
            && self.cheat != Cheat::Unusual;
        let delete = m == "DELETE" && self.cheat == Cheat::DeleteTaken;
        let any = self.cheat == Cheat::AnyMethod || delete;
        if allowed.contains(&m) || head || any {
            answer()
        } else {
            Reply::status(405)
        }
    }

    /// A query value, decoded; `None` when it is missing.
    fn value(&self, r: &Request, name: &str) -> Option<String> {
        let mut pairs = r.query.split('&').filter_map(|p| p.split_once('='));
        let (_, value) = match (self.cheat, name) {
            (Cheat::ByPosition, "a") => pairs.next()?,
            (Cheat::ByPosition, "b") => pairs.nth(1)?,
            _ => pairs.find(|(n, _)| *n == name)?,
        };
        if self.cheat == Cheat::NoPercent {
            return Some(value.into());
        }
        let mut out = Vec::new();
        let mut bytes = value.bytes();
        while let Some(b) = bytes.next() {
            out.push(match b {
                b'%' => {
                    let hex = [bytes.next()?, bytes.next()?];
                    let hex = std::str::from_utf8(&hex).ok()?;
                    u8::from_str_radix(hex, 16).ok()?
                }
                b => b,
            });
        }
        String::from_utf8(out).ok()
    }

    fn operand(&self, r: &Request, name: &str) -> Option<i64> {
        let text = self.value(r, name);
        let value = text.as_deref().and_then(|t| t.parse::<i64>().ok());
        match self.cheat {
            Cheat::Unusual => value.or(Some(0)),
            Cheat::MixedMissing if text.is_some() => value.or(Some(0)),
            Cheat::NegativesRefused => value.filter(|v| *v >= 0),
            _ => value,
        }
    }

    fn sum(&self, r: &Request, b: &Body) -> Reply {
        if self.wounded.load(Ordering::SeqCst) {
            return Reply::status(500);
        }
        let (Some(x), Some(y)) = (self.operand(r, "a"), self.operand(r, "b"))
        else {
            return Reply::status(400);
        };
        let text = String::from_utf8_lossy(&b.kept);
        let text = match self.cheat {
            Cheat::NoTrim => &text,
            Cheat::TrimsEndOnly => text.trim_end(),
            _ => text.trim(),
        };
        let ignored = match r.framing {
            Framing::None => true,
            Framing::Length(_) => self.cheat == Cheat::LengthBodyIgnored,
            Framing::Chunked => self.cheat == Cheat::ChunkedBodyIgnored,
        };
        let third = match text.parse::<i64>() {
            _ if ignored => 0,
            Ok(v) => v,
            Err(_) if self.cheat == Cheat::BadChunksTaken => 0,
            Err(_) => return Reply::status(400),
        };
        let mut total = x.wrapping_add(y).wrapping_add(third);
        match self.cheat {
            Cheat::SixteenBit => total = i64::from(total as i16),
            Cheat::ThirtyTwoBit => total = i64::from(total as i32),
            Cheat::Constant if r.query != "a=13&b=42" => total = 55,
            Cheat::CacheByUrl if r.method == "POST" => {
                let mut cache = self.cache.lock().unwrap();
                total = *cache.entry(r.query.clone()).or_insert(total);
            }
            _ => {}
        }
        let reply = Reply::text(total.to_string());
        match self.cheat {
            Cheat::Status500 => Reply { status: 500, ..reply },
            Cheat::JunkBefore => Reply::text(format!("junk\n{total}")),
            Cheat::HtmlType => Reply::new(200, "text/html", total.to_string()),
            Cheat::Unusual => {
                Reply::new(200, "Text/Plain; charset=utf-8", total.to_string())
            }
            Cheat::WrongOnce if !self.once.swap(true, Ordering::SeqCst) => {
                Reply::text("0")
            }
            _ => reply,
        }
    }

    fn json(&self, count: &str, r: &Request, local: &mut Local) -> Reply {
        let m = match self.value(r, "m").map(|m| m.parse::<i64>()) {
            Some(Ok(m)) => m,
            Some(Err(_)) => return Reply::status(400),
            None if self.cheat == Cheat::DefaultIsZero => 0,
            None => 1,
        };
        let count = match count.parse::<i64>() {
            Ok(n) => n,
            Err(_) if self.cheat == Cheat::NoNumberIsOne => 1,
            Err(_)
                if self.cheat == Cheat::DigitsWithin
                    && count.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                1
            }
            Err(_) => return Reply::status(404),
        };
        match self.cheat {
            Cheat::OverRange500 if count > 50 => return Reply::status(500),
            Cheat::Negative500 if count < 0 => return Reply::status(500),
            Cheat::Unusual if !(1..=50).contains(&count) => {
                return Reply::status(400);
            }
            _ => {}
        }
        let count = count.clamp(0, 50) as usize;
        let body = match self.cheat {
            Cheat::DefaultDocument => self.data.document(50, 50, |v| v),
            Cheat::OneItem => {
                self.data.document(count.min(1), count, |v| v.wrapping_mul(m))
            }
            Cheat::TotalNotMultiplied => {
                self.data.document(count, count, |v| v)
            }
            Cheat::Total32Bit => self.data.document(count, count, |v| {
                i64::from(v.wrapping_mul(m) as i32)
            }),
            _ => self.data.document(count, count, |v| v.wrapping_mul(m)),
        };
        let kind = match self.cheat {
            Cheat::JsonAsText => "text/plain",
            _ => "application/json",
        };
        let coding = self.json_coding(r.accept.as_deref(), local);
        let reply = match coding {
            Some("br") => Reply::new(200, kind, brotli(&body)),
            Some(_) if self.cheat == Cheat::GzipTwice => {
                Reply::new(200, kind, gzip(&gzip(&body)))
            }
            Some(_) => Reply::new(200, kind, gzip(&body)),
            None => return Reply::new(200, kind, body),
        };
        self.coded(reply, coding)
    }

    fn json_coding(
        &self,
        accept: Option<&str>,
        local: &mut Local,
    ) -> Option<&'static str> {
        let asked = accept.unwrap_or("");
        let first = match self.cheat {
            Cheat::Unusual => ["br", "gzip"],
            _ => ["gzip", "br"],
        };
        let usual = accept.and_then(|a| pick(a, first));
        match self.cheat {
            Cheat::NeverCompressed => None,
            Cheat::GzipUnasked => Some("gzip"),
            Cheat::GzipAfterGzip => {
                local.gzipped |= usual == Some("gzip");
                if local.gzipped { Some("gzip") } else { usual }
            }
            Cheat::GzipForBr if asked == "br" => Some("gzip"),
            Cheat::GzipForQ0 if asked.contains("gzip;q=0") => Some("gzip"),
            Cheat::BrForQ0 if asked.contains("br;q=0,") => Some("br"),
            Cheat::EverySecondPlain if usual.is_some() => {
                local.gzipped = !local.gzipped;
                usual.filter(|_| local.gzipped)
            }
            Cheat::GzipBySubstring
                if asked.contains("gzip") && !asked.contains("q=") =>
            {
                Some("gzip")
            }
            _ => usual,
        }
    }

    fn coded(&self, reply: Reply, coding: Option<&str>) -> Reply {
        let reply = match coding {
            Some(coding) => reply.with("Content-Encoding", coding),
            None => reply,
        };
        match self.cheat {
            Cheat::NoVary => reply,
            _ => reply.with("Vary", "Origin, Accept-Encoding"),
        }
    }

    fn upload(&self, r: &Request, b: &Body) -> Reply {
        let small = self.cheat == Cheat::SmallLimit && b.count > 2 << 20;
        if small || self.wounded.load(Ordering::SeqCst) {
            return Reply::status(413);
        }
        let count = match (self.cheat, r.framing) {
            (Cheat::EmptyRefused, Framing::Length(0)) => {
                return Reply::status(411);
            }
            (Cheat::EchoWhenRead | Cheat::EchoAtOnce, Framing::Length(n)) => n,
            (Cheat::FramingCounted, _) => b.framed,
            (Cheat::ChunkedCapped, Framing::Chunked) => b.count.min(65_536),
            (Cheat::ChunkedEchoAtOnce, Framing::Chunked) => 0,
            _ => b.count,
        };
        Reply::text(count.to_string())
    }

    fn file(&self, name: &str, r: &Request) -> Reply {
        let encoded =
            self.cheat == Cheat::LeakEncoded && name.contains("%2e%2e");
        if encoded || self.cheat == Cheat::Leak && name.contains("..") {
            return Reply::new(200, "application/json", "[]");
        }
        let Some(file) = self.data.files.iter().find(|f| f.name == name) else {
            return match self.cheat {
                Cheat::EmptyForMissingCss
                    if name.ends_with(".css") && !name.contains('/') =>
                {
                    Reply::status(200)
                }
                Cheat::EmptyForMissing if !name.contains(['/', '%', '\\']) => {
                    Reply::status(200)
                }
                _ => Reply::status(404),
            };
        };
        let kind = match self.cheat {
            Cheat::FileAsText => "text/plain",
            Cheat::Unusual => file.kinds[file.kinds.len() - 1],
            _ => file.kinds[0],
        };
        let asked = r.accept.as_deref().unwrap_or("");
        let coding = match self.cheat {
            Cheat::FileGzipUnasked => Some("gzip"),
            Cheat::FileGzipForQ0 if asked.contains("gzip;q=0") => Some("gzip"),
            // Not compressing is never wrong.
            Cheat::Unusual => None,
            _ => r.accept.as_deref().and_then(|a| pick(a, ["br", "gzip"])),
        };
        let coding = coding.filter(|_| file.compressed);
        let raw = &file.raw;
        let body = match (self.cheat, coding) {
            (Cheat::OneFileWrong, None) | (Cheat::OneCodedWrong, Some(_))
                if file.name == "router.js" =>
            {
                return Reply::new(200, kind, "x");
            }
            (Cheat::OneByte, _) => {
                return Reply::new(200, kind, "x");
            }
            (Cheat::ZerosInBrotli, Some("br")) => brotli(&vec![0; raw.len()]),
            (Cheat::FileGzipTwice, Some("gzip")) => gzip(&file.gzip),
            (_, Some("br")) => file.brotli.clone(),
            (_, Some(_)) => file.gzip.clone(),
            (_, None) => raw.clone(),
        };
        let mut reply = self.coded(Reply::new(200, kind, body), coding);
        if r.method == "HEAD" && self.cheat == Cheat::FileHeadEmpty {
            reply.length = Some(0);
        }
        reply
    }
}

/// The first of `codings` that `accept` allows.
fn pick(accept: &str, codings: [&'static str; 2]) -> Option<&'static str> {
    let allows = |coding: &str| {
        let mut star = false;
        for part in accept.split(',') {
            let mut fields = part.split(';').map(str::trim);
            let name = fields.next().unwrap_or("").to_ascii_lowercase();
            let zero = fields
                .filter_map(|f| f.strip_prefix("q="))
                .any(|q| q.parse() == Ok(0.0_f32));
            match &name[..] {
                "*" => star = !zero,
                n if n == coding => return !zero,
                _ => {}
            }
        }
        star
    };
    codings.into_iter().find(|c| allows(c))
}
