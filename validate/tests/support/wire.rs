//! The twin's side of the wire: reads requests strictly, and wrongly in just
//! the way the cheat says.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;

use super::cheat::Cheat;

const HEAD_LIMIT: usize = 32 * 1024;
/// Bodies are counted in full, kept up to here.
const KEPT: usize = 64 * 1024;

/// Why there is no request.
pub enum Stop {
    /// The connection ended between requests.
    Gone,
    /// It ended within one, or was reset.
    Cut { reset: bool },
    /// The request is malformed.
    Bad,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    None,
    Length(u64),
    Chunked,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    pub old: bool,
    pub close: bool,
    pub accept: Option<String>,
    pub framing: Framing,
    pub long_header: bool,
    /// Whether a cheat answers it with 500.
    pub fails: bool,
    /// Whether it had both framings and the connection must end.
    pub doubtful: bool,
}

#[derive(Debug, Default)]
pub struct Body {
    pub count: u64,
    pub framed: u64,
    pub kept: Vec<u8>,
}

impl Request {
    /// A request that came over another transport than HTTP/1.1.
    #[allow(dead_code, reason = "until every transport has a twin")]
    pub fn new(method: &str, target: &str, accept: Option<&str>) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            old: false,
            close: false,
            accept: accept.map(Into::into),
            framing: Framing::None,
            long_header: false,
            fails: false,
            doubtful: false,
        }
    }
}

pub struct Reader<'a> {
    stream: &'a TcpStream,
    pub bytes: Vec<u8>,
    cheat: Cheat,
}

impl<'a> Reader<'a> {
    pub fn new(stream: &'a TcpStream, cheat: Cheat) -> Reader<'a> {
        Reader { stream, bytes: Vec::new(), cheat }
    }

    fn fill(&mut self) -> Result<(), Stop> {
        let old = self.bytes.len();
        self.bytes.resize(old + 64 * 1024, 0);
        loop {
            let found = self.stream.read(&mut self.bytes[old..]);
            match found {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                _ => {}
            }
            self.bytes.truncate(old + found.as_ref().map_or(0, |n| *n));
            return match found {
                Ok(0) if old == 0 => Err(Stop::Gone),
                Ok(0) => Err(Stop::Cut { reset: false }),
                Ok(_) => Ok(()),
                Err(_) => Err(Stop::Cut { reset: true }),
            };
        }
    }

    /// The next request, up to where its body begins.
    pub fn head(&mut self) -> Result<Request, Stop> {
        let mut reads = 0;
        let end = loop {
            if let Some(at) = find(&self.bytes, b"\r\n\r\n") {
                break at + 4;
            }
            if reads > 0 {
                let cut = self.bytes.ends_with(b"\r\n\r");
                match self.cheat {
                    Cheat::OneRead => return Err(Stop::Bad),
                    Cheat::BlankLineCut if cut => return Err(Stop::Bad),
                    _ => {}
                }
            }
            if self.bytes.len() > HEAD_LIMIT {
                return Err(Stop::Bad);
            }
            self.fill()?;
            reads += 1;
        };
        let head: Vec<u8> = self.bytes.drain(..end).collect();
        let text = String::from_utf8(head).map_err(|_| Stop::Bad)?;
        parse(&text, self.cheat).ok_or(Stop::Bad)
    }

    /// A line of a chunked body, without its end.
    fn line(&mut self, at_sum: bool) -> Result<String, Stop> {
        loop {
            if let Some(at) = find(&self.bytes, b"\r\n") {
                let line: Vec<u8> = self.bytes.drain(..at + 2).collect();
                let text = String::from_utf8_lossy(&line[..at]);
                return Ok(text.into_owned());
            }
            let within = !self.bytes.is_empty();
            if within && at_sum && self.cheat == Cheat::ChunkLineCut {
                return Err(Stop::Bad);
            }
            if self.bytes.len() > 4096 {
                return Err(Stop::Bad);
            }
            self.fill_body()?;
        }
    }

    /// Within a body the end of the connection is never harmless.
    fn fill_body(&mut self) -> Result<(), Stop> {
        self.fill().map_err(|stop| match stop {
            Stop::Gone => Stop::Cut { reset: false },
            other => other,
        })
    }

    fn take(&mut self, mut n: u64, body: &mut Body) -> Result<(), Stop> {
        while n > 0 {
            if self.bytes.is_empty() {
                self.fill_body()?;
            }
            let now = self.bytes.len().min(n as usize);
            let room = KEPT.saturating_sub(body.kept.len());
            body.kept.extend_from_slice(&self.bytes[..now.min(room)]);
            self.bytes.drain(..now);
            body.count += now as u64;
            n -= now as u64;
        }
        Ok(())
    }

    /// Reads the body of `request`; what came is in `body` even if it is cut.
    pub fn body(
        &mut self,
        request: &Request,
        body: &mut Body,
    ) -> Result<(), Stop> {
        match request.framing {
            Framing::None => Ok(()),
            Framing::Length(n) => {
                self.take(n, body)?;
                body.framed = body.count;
                Ok(())
            }
            Framing::Chunked => self.chunks(request, body),
        }
    }

    fn chunks(
        &mut self,
        request: &Request,
        body: &mut Body,
    ) -> Result<(), Stop> {
        let at_sum = request.path == "/baseline11";
        loop {
            let line = self.line(at_sum)?;
            body.framed += line.len() as u64 + 2;
            let (digits, extension) = match line.split_once(';') {
                Some((digits, _)) => (digits, true),
                None => (&line[..], false),
            };
            let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
            let upper = digits.bytes().any(|b| b.is_ascii_uppercase());
            let size = u64::from_str_radix(digits, 16).ok().filter(|_| hex);
            let Some(size) = size else {
                if self.cheat == Cheat::BadChunksTaken {
                    return Ok(());
                }
                return Err(Stop::Bad);
            };
            match self.cheat {
                Cheat::LowerHexOnly if upper => return Err(Stop::Bad),
                Cheat::NoExtensions if extension => return Err(Stop::Bad),
                _ => {}
            }
            if size == 0 {
                return self.trailers();
            }
            self.take(size, body)?;
            body.framed += size + 2;
            let end = self.line(false)?;
            if !end.is_empty() && self.cheat != Cheat::ChunkEndsTaken {
                return Err(Stop::Bad);
            }
        }
    }

    fn trailers(&mut self) -> Result<(), Stop> {
        for _ in 0..16 {
            if self.line(false)?.is_empty() {
                return Ok(());
            }
            if self.cheat == Cheat::NoTrailers {
                return Err(Stop::Bad);
            }
        }
        Err(Stop::Bad)
    }
}

fn parse(text: &str, cheat: Cheat) -> Option<Request> {
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let line = lines.next()?;
    let parts: Vec<&str> = line.split(' ').collect();
    let (method, target, version) = match parts[..] {
        [m, t, v @ ("HTTP/1.1" | "HTTP/1.0")] => (m, t, v),
        _ if cheat == Cheat::BadLinesTaken => ("GET", "/pipeline", "HTTP/1.1"),
        _ => return None,
    };
    let path = match target.strip_prefix("http://") {
        Some(_) if cheat == Cheat::NoAbsolute => return None,
        Some(_) if cheat == Cheat::NoAbsolutePost && method == "POST" => {
            return None;
        }
        Some(rest) => &rest[rest.find('/')?..],
        None => target,
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut r = Request {
        method: method.into(),
        path: path.into(),
        query: query.into(),
        old: version == "HTTP/1.0",
        close: version == "HTTP/1.0",
        accept: None,
        framing: Framing::None,
        long_header: text.len() > 8 * 1024,
        fails: false,
        doubtful: false,
    };
    let mut chunked = false;
    let mut length: Option<u64> = None;
    let mut last_is_length = false;
    let (mut hosts, mut fields) = (0, 0);
    if parts.len() != 3 {
        // Taken for a good one; nothing else of it can be read.
        return Some(r);
    }
    for line in lines {
        if line.starts_with(' ') && cheat == Cheat::FoldIs500 {
            r.fails = true;
            continue;
        }
        let (name, value) = line.split_once(':')?;
        fields += 1;
        let name = match cheat {
            Cheat::SpaceColonTaken => name.trim_end(),
            _ if name.ends_with(' ') => return None,
            _ => name,
        };
        let value = value.trim();
        let name = match cheat {
            Cheat::NamesByCase => name.to_string(),
            _ => canonical(name),
        };
        match &name[..] {
            "Content-Length" => {
                let digits = value.bytes().all(|b| b.is_ascii_digit());
                let wide: u128 = value.parse().ok().filter(|_| digits)?;
                let now = match u64::try_from(wide) {
                    Err(_) if cheat != Cheat::LengthWraps => return None,
                    _ => wide as u64,
                };
                let same = length.is_none_or(|before| before == now);
                if !same && cheat != Cheat::LastLength {
                    return None;
                }
                (length, last_is_length) = (Some(now), true);
            }
            "Transfer-Encoding" => {
                let known = match cheat {
                    Cheat::CodingBySubstring => {
                        value.to_ascii_lowercase().contains("chunked")
                    }
                    Cheat::CodingByPrefix => {
                        value.to_ascii_lowercase().starts_with("chunked")
                    }
                    _ => value.eq_ignore_ascii_case("chunked"),
                };
                if !known || cheat == Cheat::ChunkedExact && value != "chunked"
                {
                    return None;
                }
                (chunked, last_is_length) = (true, false);
            }
            "Connection" => r.close = value.eq_ignore_ascii_case("close"),
            "Host" => hosts += 1,
            "Expect" => r.fails |= cheat == Cheat::ExpectIs500,
            "Accept-Encoding" => r.accept = Some(value.into()),
            _ => {}
        }
    }
    let host = match cheat {
        Cheat::HostlessTaken | Cheat::NamesByCase => hosts < 2,
        Cheat::TwoHostsTaken => hosts > 0,
        _ => hosts == 1,
    };
    if !host && !r.old {
        return None;
    }
    r.fails |= fields > 40 && cheat == Cheat::ManyFields500;
    r.fails |= target.len() > 5000 && cheat == Cheat::LongLine500;
    r.framing = match (chunked, length) {
        (true, Some(n)) if cheat == Cheat::LengthOverChunked => {
            Framing::Length(n)
        }
        (true, Some(n))
            if cheat == Cheat::LastFramingCounts && last_is_length =>
        {
            Framing::Length(n)
        }
        (true, Some(_)) if cheat == Cheat::Unusual => {
            r.doubtful = true;
            Framing::Chunked
        }
        (true, Some(_)) => return None,
        (true, None) => Framing::Chunked,
        (false, Some(n)) => Framing::Length(n),
        (false, None) => Framing::None,
    };
    Some(r)
}

/// `content-LENGTH` as `Content-Length`.
fn canonical(name: &str) -> String {
    let mut up = true;
    let shape = |c: char| {
        let now =
            if up { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        up = c == '-';
        now
    };
    name.chars().map(shape).collect()
}

pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}
