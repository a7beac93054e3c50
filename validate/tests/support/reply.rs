//! The twin's answers as bytes.

use super::cheat::Cheat;
use super::wire::Request;

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Sent as it is, after a head without framing.
    pub raw: bool,
    /// Instead of the body's length.
    pub length: Option<usize>,
}

impl Reply {
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
        Reply {
            status,
            headers: vec![("Content-Type", kind.into())],
            body: body.into(),
            raw: false,
            length: None,
        }
    }

    pub fn text(body: impl Into<Vec<u8>>) -> Reply {
        Reply::new(200, "text/plain", body)
    }

    pub fn status(status: u16) -> Reply {
        Reply::new(status, "text/plain", "")
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    /// The bytes on the wire.
    pub fn bytes(&self, request: Option<&Request>, cheat: Cheat) -> Vec<u8> {
        let head = request.is_some_and(|r| r.method == "HEAD");
        let old = request.is_some_and(|r| r.old);
        let sum = request.is_some_and(|r| r.path == "/baseline11");
        let close = request.is_none_or(|r| r.close);
        let mut out = format!("HTTP/1.1 {} X\r\n", self.status);
        for (name, value) in &self.headers {
            let name = match cheat {
                Cheat::Unusual => name.to_ascii_lowercase(),
                _ => name.to_string(),
            };
            out += &format!("{name}: {value}\r\n");
        }
        if close && cheat != Cheat::NeverCloses {
            out += "Connection: close\r\n";
        }
        let length = self.length.unwrap_or(self.body.len());
        let length = format!("Content-Length: {length}\r\n");
        let chunked = "Transfer-Encoding: chunked\r\n";
        let in_chunks = match cheat {
            Cheat::Unusual => !old && !head,
            Cheat::Chunked10 => old,
            _ => false,
        };
        if self.raw {
        } else if in_chunks {
            out += chunked;
        } else {
            out += &length;
            match cheat {
                Cheat::LengthAndChunked if sum => out += chunked,
                Cheat::TwoLengths if sum => out += &length,
                _ => {}
            }
        }
        let mut out = (out + "\r\n").into_bytes();
        if head && cheat != Cheat::HeadWithBody {
            return out;
        }
        if !in_chunks {
            out.extend_from_slice(&self.body);
            return out;
        }
        for chunk in self.body.chunks(1000) {
            out.extend(format!("{:X};x=1\r\n", chunk.len()).into_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\nX-Trailer: 1\r\n\r\n");
        out
    }
}
